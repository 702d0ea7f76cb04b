package component

import (
	"context"

	"k8s.io/component-base/cli"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// runKubelet is the agent of a real node.
func runKubelet() int { return cli.Run(kubelet.NewKubeletCommand(context.Background())) }

// Package component holds the programs of a Kubernetes cluster as functions of one
// binary, as hyperkube once did: they share nearly all of their code, so six of them
// cost one compile and one file.
//
// Each process is one component only. They share package state (feature gates, flag
// sets), so two of them must never run in one process.
package component

import (
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// Main runs a component as its own main function would, with os.Args, and returns the
// process's exit code.
type Main func() int

// Named returns the component of that name, nil if there is none.
func Named(name string) Main {
	switch name {
	case "etcd":
		return etcd
	case "kube-apiserver":
		return kubernetes(func() *cobra.Command { return apiserver.NewAPIServerCommand() })
	case "kube-controller-manager":
		return kubernetes(func() *cobra.Command { return controllermanager.NewControllerManagerCommand() })
	case "kube-scheduler":
		return kubernetes(func() *cobra.Command { return scheduler.NewSchedulerCommand() })
	case "kubectl":
		return runKubectl
	case "kwok":
		return kwok
	case "kubelet":
		return runKubelet
	}
	return nil
}

func kubernetes(command func() *cobra.Command) Main {
	return func() int { return cli.Run(command()) }
}

func etcd() int {
	etcdmain.Main(os.Args)
	return 0
}

// runKubectl keeps kubectl's own way of printing errors, which cli.Run alone would not.
func runKubectl() int {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
	return 0
}

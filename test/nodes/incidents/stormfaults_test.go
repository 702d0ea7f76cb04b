//go:build nodes

package incidents

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/gomega"
)

// stormFault happens while all jobs restart in place; it is mended when during returns.
type stormFault struct {
	// before is done before the restarts begin; nil for nothing.
	before func(ctx context.Context, node string)
	during func(ctx context.Context, s *storm, node string)
}

var stormFaults = map[string]stormFault{
	"the kubelet is killed": {during: func(ctx context.Context, _ *storm, node string) {
		lab(ctx, "node", "kill-kubelet", node)
	}},
	"the node is rebooted": {during: func(ctx context.Context, _ *storm, node string) {
		lab(ctx, "node", "reboot", node)
		waitForNode(ctx, node)
	}},
	"the API server is gone": {during: func(ctx context.Context, s *storm, _ string) {
		lab(ctx, "restart", "--component", "kube-apiserver", "--dead-for", fmt.Sprintf("%dms", 500+s.chance.IntN(5000)))
	}},
	"the image is removed": {
		before: func(ctx context.Context, node string) { lab(ctx, "image", "remove", trainerImage, node) },
		during: func(ctx context.Context, s *storm, _ string) {
			time.Sleep(time.Duration(s.chance.IntN(5000)) * time.Millisecond) // pods are Failed for it, or wait for it, when it comes back
			lab(ctx, "image", "import", given.File("images/trainer.tar"))
		},
	},
	"a second rank is killed": {during: func(ctx context.Context, s *storm, _ string) {
		s.together(func(j *stormJob) {
			rank := j.chance.IntN(stormRanks)
			Eventually(func() error { // its container may just be going, or its pod be made
				pod, err := j.tryPod(ctx, rank)
				if err == nil {
					_, err = given.Run(ctx, "pod", "kill", pod.Name, "-n", namespace)
				}
				return err
			}).Should(Succeed(), "rank %d of %s is killed", rank, j.name)
			j.killed++
		})
	}},
}

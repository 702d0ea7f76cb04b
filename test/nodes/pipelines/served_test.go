//go:build pipelines

package pipelines

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("A step that is a PyTorchJob", Label("served"), func() {
	It("succeeds with its job, through a restart", func(ctx SpecContext) {
		w := run(ctx, "train-served", map[string]string{"steps": "100", "command": "", "restart_policy": "OnFailure"})
		served := runningJob(ctx)
		_, err := given.Run(ctx, "pod", "kill", served.Name+"-master-0", "--namespace", namespace)
		Expect(err).NotTo(HaveOccurred())
		Expect(w.ends(ctx)).To(Equal("Succeeded"))
		Expect(w.node(ctx, "train").parameter("train-succeeded")).To(Equal("1"))
		Expect(jobs(ctx)).To(HaveLen(1))
		Expect(jobs(ctx)[0].Status.Restarts).To(BeNumerically("==", 1))
	})

	It("fails with its job", func(ctx SpecContext) {
		w := run(ctx, "train-served", map[string]string{"steps": "100", "command": "exit 3 no such file", "restart_policy": "Never"})
		Expect(w.ends(ctx)).To(Equal("Failed"))
		Expect(w.node(ctx, "train").Message).To(ContainSubstring("[Failed]"))
	})
})

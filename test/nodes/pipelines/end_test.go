//go:build pipelines

package pipelines

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

var _ = Describe("The end of a run", Label("end"), func() {
	shutdown := func(strategy string) func(SpecContext, *workflow) {
		return func(ctx SpecContext, w *workflow) {
			patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec": {"shutdown": "`+strategy+`"}}`))
			Expect(kube.Patch(ctx, w.object, patch)).To(Succeed())
			Expect(w.ends(ctx)).To(Equal("Failed"))
		}
	}
	deletion := func(ctx SpecContext, w *workflow) { Expect(kube.Delete(ctx, w.object)).To(Succeed()) }

	// endOf ends a run that trains, and waits until the pods of its job are gone.
	endOf := func(ctx SpecContext, onTermination string, end func(SpecContext, *workflow)) {
		GinkgoHelper()
		w := run(ctx, "train", map[string]string{"job": training("100000", "0.02"), "on_termination": onTermination, "rows": "100"})
		runningJob(ctx)
		Expect(replicas(ctx)).To(HaveLen(3))
		end(ctx, w)
		Eventually(func() map[string]string { return replicas(ctx) }).Should(BeEmpty())
	}

	DescribeTable("suspends the job", func(ctx SpecContext, end func(SpecContext, *workflow)) {
		endOf(ctx, "suspend", end)
		Expect(jobs(ctx)).To(HaveLen(1))
		Eventually(func() v1alpha1.Phase { return jobs(ctx)[0].Status.Phase }).Should(Equal(v1alpha1.PhaseSuspended))
	},
		Entry("if it is stopped", shutdown("Stop")),
		Entry("if it is terminated", shutdown("Terminate")),
		Entry("if its workflow is deleted", deletion),
	)

	DescribeTable("deletes the job that says so", func(ctx SpecContext, end func(SpecContext, *workflow)) {
		endOf(ctx, "delete", end)
		Eventually(func() []v1alpha1.TrainingJob { return jobs(ctx) }).Should(BeEmpty())
	},
		Entry("if it is terminated", shutdown("Terminate")),
		Entry("if its workflow is deleted", deletion),
	)
})

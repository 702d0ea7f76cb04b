//go:build pipelines

package pipelines

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// The recipe is manifests/integrations/argo-workflows. Only its image, its account and the program of the job are replaced.
var _ = Describe("The recipe for Argo Workflows", Label("recipe"), func() {
	recipe := func(ctx SpecContext, program string) *workflow {
		GinkgoHelper()
		manifest := text("manifests/integrations/argo-workflows/workflow.yaml")
		Expect(manifest).To(ContainSubstring("[python, train.py]"))
		return submit(ctx, strings.Replace(manifest, "[python, train.py]", `[python3, -c, "`+program+`"]`, 1), map[string]string{"image": image})
	}

	It("succeeds with its job", func(ctx SpecContext) {
		w := recipe(ctx, "print('trained')")
		Expect(w.ends(ctx)).To(Equal("Succeeded"))
		Expect(w.node(ctx, w.object.GetName()).parameter("restarts")).To(Equal("0"))
		Expect(jobs(ctx)).To(ConsistOf(HaveField("Status.Phase", v1alpha1.PhaseSucceeded)))
	})

	It("takes its job along when it is deleted", func(ctx SpecContext) {
		w := recipe(ctx, "import time; time.sleep(600)")
		runningJob(ctx)
		Expect(kube.Delete(ctx, w.object)).To(Succeed())
		Eventually(func() []v1alpha1.TrainingJob { return jobs(ctx) }).Should(BeEmpty())
		Eventually(func() map[string]string { return replicas(ctx) }).Should(BeEmpty())
	})
})

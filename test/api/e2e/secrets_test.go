//go:build e2e

package e2e

import (
	"encoding/json"
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// canary is what users should not write into a template, and do.
const canary = "hf_canary_5d0c2f"

// hiding writes the canary wherever a template takes one.
func hiding(r *v1alpha1.ReplicaSpec) {
	setting("HF_TOKEN", canary)(r)
	c := &r.Template.Spec.Containers[0]
	c.Command, c.Args = []string{"train", "--token=" + canary}, []string{canary}
	if r.Template.Annotations == nil {
		r.Template.Annotations = map[string]string{}
	}
	r.Template.Annotations["example.com/token"] = canary
}

// published returns, by where it is, everything that the operator writes for others to read about the jobs of this spec.
func published() map[string]string {
	GinkgoHelper()
	log, err := os.ReadFile(lab().File("operator.log"))
	Expect(err).NotTo(HaveOccurred())
	var all corev1.EventList
	Expect(kube.List(here.ctx, &all)).To(Succeed())
	events := ""
	for i := range all.Items {
		if e := &all.Items[i]; e.ReportingController == "trainingjob-operator" {
			events += e.Reason + " " + e.Action + " " + e.Message + "\n"
		}
	}
	var jobs v1alpha1.TrainingJobList
	Expect(kube.List(here.ctx, &jobs, client.InNamespace(here.namespace))).To(Succeed())
	status := ""
	for i := range jobs.Items {
		text, err := json.Marshal(jobs.Items[i].Status)
		Expect(err).NotTo(HaveOccurred())
		status += string(text)
	}
	return map[string]string{"log": string(log), "Events": events, "status": status, "metrics": metrics()}
}

var _ = Describe("What the operator writes", Label("lab"), func() {
	It("has no value of a template: variable, argument or annotation", func() {
		broken := submit(tensorflow("broken", chief(hiding), ps(1, hiding), workers(2, hiding)))
		broken.runs(0, 0)
		broken.exits(137, "worker-1")
		broken.runs(0, 1)
		broken.exits(1, "ps-0")
		broken.runs(1, 2)
		wrong := submit(pytorch("wrong", workers(1, hiding, func(r *v1alpha1.ReplicaSpec) {
			r.Template.Spec.Containers[0].Env[0].ValueFrom = &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}
		})))
		wrong.stalls(v1alpha1.ReasonInvalid, "valueFrom")
		enforce("restricted")
		refused := submit(pytorch("refused", workers(1, hiding)))
		refused.stalls(v1alpha1.ReasonForbidden, "violates PodSecurity")
		// What each of them surely says shows that it was read at all.
		says := map[string]string{"log": `"msg":"starting"`, "Events": "worker-1 on ", "status": `"cause":"`, "metrics": "trainingjob_restarts_total{"}
		for where, text := range published() {
			Expect(text).To(ContainSubstring(says[where]), where)
			Expect(text).NotTo(ContainSubstring(canary), "in %s", where)
		}
	})
})

//go:build e2e

package e2e

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// asksForRestart does what kubectl annotate --overwrite does.
func (j *submitted) asksForRestart(words string) {
	GinkgoHelper()
	j.change(func(job *v1alpha1.TrainingJob) {
		job.Annotations = map[string]string{v1alpha1.AnnotationRestart: words}
	})
}

var _ = Describe("A restart that is asked for", func() {
	It("keeps every pod of a job that restarts in place, and starts each container once", promise, func() {
		j := submit(pytorch("p", master(), workers(2), inPlace))
		before := j.runs(0, 0)
		for n := range int32(3) {
			j.asksForRestart([]string{"a", "b", "c"}[n])
			v := j.runs(n+1, n+1)
			v.is("the pods are the same, and nothing is charged", isSame(before.uids(), v) && v.job.Status.ChargedRestarts == 0)
			for i := range v.pods {
				Expect(v.pods[i].Status.ContainerStatuses[0].RestartCount).To(Equal(n+1), v.pods[i].Name)
				Expect(v.pods[i].Labels).To(HaveKeyWithValue(v1alpha1.LabelAttempt, []string{"1", "2", "3"}[n]))
			}
		}
		ports := func(pods []corev1.Pod) []string {
			var all []string
			for i := range pods {
				all = append(all, pods[i].Annotations[v1alpha1.AnnotationLeaderPort])
			}
			return all
		}
		Expect(ports(j.look().pods)).To(HaveEach("29503"), "each attempt meets at a port of its own")
	})

	It("moves the port of a leader on the network of its node, and keeps the leader of another job off that node meanwhile", func() {
		onHost := func(r *v1alpha1.ReplicaSpec) { r.Template.Spec.HostNetwork = true }
		node := fakeNodes(1)[0]
		first := submit(pytorch("first", master(onHost, only(node)), workers(2, onHost), inPlace))
		before := first.runs(0, 0)
		Expect(before.pod("master-0").Spec.DNSPolicy).To(Equal(corev1.DNSClusterFirstWithHostNet))
		second := submit(pytorch("second", master(onHost, only(node)), workers(1, onHost)))
		second.becomes("its leader waits for the port", func(v *view) bool { return strings.Contains(v.job.Status.Message, "free ports") })
		first.asksForRestart("again")
		v := first.runs(1, 1)
		v.is("the pods are the same", isSame(before.uids(), v))
		Expect(v.pod("master-0").Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationLeaderPort, "29501"))
		second.stays("the leader waits", func(v *view) bool { return v.pod("master-0").Spec.NodeName == "" })
	})
})

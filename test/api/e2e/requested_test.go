//go:build e2e

package e2e

import (
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
	It("begins the whole job anew, is told and not charged, and is answered once", promise, func() {
		j := submit(pytorch("p", master(), workers(2)))
		before := j.runs(0, 0)
		j.asksForRestart("its loader hangs")
		v := j.runs(1, 1)
		allReplaced(before, v)
		v.is("no restart is charged", v.job.Status.ChargedRestarts == 0)
		i := incident(v, v1alpha1.CauseRequested, v1alpha1.ReasonRestartRequested)
		v.is("it says why", i.Message == "its loader hangs" && i.Pod == "")
		j.tells(v1alpha1.EventRestarting, "A user requested a restart (its loader hangs)")
		j.suspend()
		j.resume()
		j.runs(1, 1)
		j.asksForRestart("once more")
		j.runs(2, 2)
	})

	It("gives the named replica a new pod, alone if the others go on without it, and is no failure", promise, func() {
		j := submit(tensorflow("t", chief(), workers(2), ps(1)))
		before := j.runs(0, 0)
		j.asksForRestart("worker-1: slow disk")
		v := j.runs(0, 1)
		onlyReplaced("worker-1", before, v)
		i := incident(v, v1alpha1.CauseRequested, v1alpha1.ReasonRestartRequested)
		v.is("it says which and why", i.Message == "slow disk" && i.Role == v1alpha1.Worker && i.Index == 1 && i.Node != "")
		v.is("nothing has failed, and nothing is charged", v.job.Status.LastFailure == nil && v.job.Status.ChargedRestarts == 0)
		j.tells(v1alpha1.EventReplicaRestarting, "A user requested a restart of worker-1 (slow disk): only this replica is replaced, not charged.")
	})

	It("keeps every pod of a job that restarts in place, and starts each container once", promise, func() {
		j := submit(pytorch("p", master(), workers(2), inPlace))
		before := j.runs(0, 0)
		for n := range int32(3) {
			j.asksForRestart([]string{"a", "b", "c"}[n])
			v := j.runs(n+1, n+1)
			v.is("the pods are the same", isSame(before.uids(), v))
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
})

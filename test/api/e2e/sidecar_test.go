//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// beside gives the role's pods a container of that name that does not train.
func beside(name string) replicaOption {
	return func(r *v1alpha1.ReplicaSpec) {
		r.Template.Spec.Containers = append(r.Template.Spec.Containers, corev1.Container{Name: name, Image: "example.test/beside:1"})
	}
}

// containerExits writes what a kubelet writes when one container of several ends: its pod runs on and is not ready.
func (j *submitted) containerExits(slot, container string, code int32) {
	GinkgoHelper()
	Eventually(func() error {
		pod := j.pod(slot)
		for i := range pod.Status.ContainerStatuses {
			if c := &pod.Status.ContainerStatuses[i]; c.Name == container {
				end := corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error", StartedAt: *pod.Status.StartTime, FinishedAt: metav1.Now()}
				c.Ready, c.Started, c.State = false, new(bool), corev1.ContainerState{Terminated: &end}
			}
		}
		for i := range pod.Status.Conditions {
			if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady || c.Type == corev1.ContainersReady {
				c.Status, c.Reason, c.LastTransitionTime = corev1.ConditionFalse, "ContainersNotReady", metav1.Now()
			}
		}
		return kube.Status().Update(here.ctx, pod)
	}).Should(Succeed())
}

var _ = Describe("A side-car that exits with 1", func() {
	It("restarts nobody, and the job succeeds although its pod counts as failed", promise, func() {
		j := submit(pytorch("p", master(beside("agent")), workers(1, beside("agent"))))
		before := j.runs(0, 0)
		j.containerExits("worker-0", "agent", 1)
		j.containerExits("master-0", "agent", 1)
		j.stays("it runs on", func(v *view) bool {
			return v.job.Status.Phase == v1alpha1.PhaseRunning && v.job.Status.Restarts == 0 && isSame(before.uids(), v)
		})
		j.exits(0, "worker-0")
		j.becomes("the worker has ended", func(v *view) bool { return v.slots(corev1.PodFailed) == "worker-0" })
		j.exits(0, "master-0") // which leads: what still ran then would be ended with it
		v := j.succeeds()
		v.is("nothing has failed", v.job.Status.Restarts == 0 && v.job.Status.LastFailure == nil)
		j.leaves("master-0 Failed", "worker-0 Failed")
	})

	It("restarts the job if a rule names its container, and the incident says which it was", func() {
		j := submit(pytorch("p", master(), workers(2, beside("fuse"), beside("agent")),
			rules(v1alpha1.RecoveryRule{Name: "mount", ContainerName: "fuse", Cause: v1alpha1.CauseRetryable})))
		before := j.runs(0, 0)
		j.containerExits("worker-0", "agent", 1)
		j.stays("the agent's exit restarts nobody", func(v *view) bool { return v.job.Status.Restarts == 0 })
		j.containerExits("worker-1", "fuse", 1)
		after := j.runs(1, 1)
		allReplaced(before, after)
		i := incident(after, v1alpha1.CauseRetryable, "Error")
		Expect(i).To(And(HaveField("Container", "fuse"), HaveField("Index", BeEquivalentTo(1)), HaveField("Charged", true)))
		j.tells(v1alpha1.EventRestarting, "worker-1")
	})
})

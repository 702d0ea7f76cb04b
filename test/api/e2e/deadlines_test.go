//go:build e2e

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// isGone waits until nothing is left of the job: no job, pod or Service.
func (j *submitted) isGone() {
	GinkgoHelper()
	var v *view
	var services corev1.ServiceList
	Eventually(func() bool {
		v = j.look()
		Expect(kube.List(here.ctx, &services, client.InNamespace(here.namespace))).To(Succeed())
		return v.job == nil && len(v.pods) == 0 && len(services.Items) == 0
	}).Should(BeTrue(), func() string { return "nothing is left of " + j.name + "\n" + v.String() })
}

var _ = Describe("Deadlines", func() {
	// #3358: the deadline never fired without another event.
	It("activeDeadlineSeconds fails the job with nothing else happening #3358", promise, func() {
		j := submit(pytorch("p", activeDeadline(8), workers(2)))
		j.becomes("it has run", func(v *view) bool { return v.job.Status.RunningTime != nil })
		v := j.fails(v1alpha1.ReasonDeadlineExceeded)
		took := v.job.Status.CompletionTime.Sub(v.job.Status.StartTime.Time)
		Expect(took).To(BeNumerically(">=", 8*time.Second))
		Expect(took).To(BeNumerically("<=", 16*time.Second))
		j.leaves()
	})

	It("activeDeadlineSeconds fires even while no pod can be scheduled", func() {
		j := submit(custom("c", activeDeadline(1), workers(1, limited("example.test/none", 1))))
		j.fails(v1alpha1.ReasonDeadlineExceeded)
	})

	It("activeDeadlineSeconds does not count the time that the job was suspended", func() {
		j := submit(pytorch("p", activeDeadline(10), workers(1)))
		started := j.runs(0, 0).job.Status.StartTime
		j.suspend()
		j.reaches(v1alpha1.PhaseSuspended)
		Eventually(func() time.Duration { return time.Since(started.Time) }).Should(BeNumerically(">", 11*time.Second))
		j.resume()
		v := j.runs(0, 0)
		Expect(v.job.Status.SuspendedSeconds).To(BeNumerically(">=", 2))
		v = j.fails(v1alpha1.ReasonDeadlineExceeded)
		Expect(v.job.Status.CompletionTime.Sub(started.Time)).To(BeNumerically(">=", 12*time.Second))
	})

	It("startupDeadlineSeconds restarts an attempt whose image cannot be pulled, says why, and fails after maxRestarts", promise, func() {
		j := submit(pytorch("p", startupDeadline(5), maxRestarts(1), master(),
			workers(2, doing("waiting", "ImagePullBackOff"), doing("waiting-message", "manifest for train:1 not found"))))
		v := j.becomes("it says what it waits for", func(v *view) bool {
			return v.job.Status.Phase == v1alpha1.PhasePending && v.job.Status.Reason == "ImagePullBackOff" &&
				containsAll(v.job.Status.Message, []string{"worker-0", "manifest for train:1 not found"})
		})
		v.is("Running is False for the same reason", v.condition(v1alpha1.ConditionRunning).Reason == "ImagePullBackOff")
		v = j.becomes("it was restarted", func(v *view) bool { return v.job.Status.Attempt == 1 })
		v.is("the restart is charged", v.job.Status.ChargedRestarts == 1)
		Expect(v.job.Status.LastFailure.Cause).To(Equal(v1alpha1.CauseStartup))
		Expect(v.job.Status.LastFailure.Message).To(ContainSubstring("manifest for train:1 not found"))
		j.tells(v1alpha1.EventRestarting, "worker-0", "manifest for train:1 not found")
		v = j.fails(v1alpha1.ReasonMaxRestartsExceeded)
		v.is("it ended in the second attempt", v.job.Status.Attempt == 1 && v.job.Status.Restarts == 1)
	})

	It("startupDeadlineSeconds is over once the job runs", func() {
		j := submit(custom("c", startupDeadline(10), workers(2)))
		started := j.runs(0, 0).job.Status.StartTime
		Eventually(func() time.Duration { return time.Since(started.Time) }).Should(BeNumerically(">", 11*time.Second))
		j.stays("it runs", func(v *view) bool { return v.job.Status.Restarts == 0 && v.job.Status.Phase == v1alpha1.PhaseRunning })
	})

	// #2981 #3779 #3737: the time to live deleted the child, and the parent ran the job again.
	It("ttlSecondsAfterFinished deletes a job that succeeded with all its children, and nothing runs again #2981 #3779 #3737", promise, func() {
		j := submit(pytorch("p", timeToLive(2), cleaning(v1alpha1.CleanNone), workers(2)))
		j.runs(0, 0)
		j.exits(0, "worker-0")
		j.succeeds()
		j.isGone()
		Consistently(func() []corev1.Pod { return j.look().pods }).Should(BeEmpty())
		here.created(2)
	})

	It("ttlSecondsAfterFinished deletes a job that failed for good: it has a completion time", func() {
		j := submit(pytorch("p", timeToLive(2), workers(2, restarting(v1alpha1.RestartExitCode))))
		j.runs(0, 0)
		j.exits(1, "worker-1")
		j.fails(v1alpha1.ReasonFatalExit)
		j.isGone()
	})
})

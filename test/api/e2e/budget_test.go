//go:build e2e

package e2e

import (
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

var _ = Describe("Budget", func() {
	// #2045 #2342 #1589: recreated pods reset the count, so the limit was never reached.
	It("fails the job at one failure more than maxRestarts, whatever became of the old pods #2045 #2342 #1589", promise, func() {
		j := submit(tensorflow("t", maxRestarts(2), chief(), ps(1), workers(2)))
		j.runs(0, 0)
		j.exits(1, "worker-0")
		j.runs(0, 1)
		Expect(kube.DeleteAllOf(here.ctx, &corev1.Pod{}, inPhase(corev1.PodFailed)...)).To(Succeed())
		j.becomes("the failed pod is gone", func(v *view) bool { return len(v.pods) == 4 })
		j.exits(1, "worker-1")
		j.runs(0, 2)
		j.exits(1, "worker-0")
		v := j.fails(v1alpha1.ReasonMaxRestartsExceeded)
		v.is("two restarts were charged", v.job.Status.Restarts == 2 && v.job.Status.ChargedRestarts == 2)
	})

	// #1749 #2220: nothing said which replica failed, where, with which exit code.
	It("says which replica failed, where and how #1749 #2220", promise, func() {
		j := submit(pytorch("p", maxOOMRestarts(0), master(), workers(2)))
		j.runs(0, 0)
		pod := j.pod("worker-1")
		j.does(map[string]any{"exit-code": "137", "exit-reason": "OOMKilled", "exit-message": "no memory for batch 7"}, "worker-1")
		f := j.fails(v1alpha1.ReasonMaxRestartsExceeded).job.Status.LastFailure
		f.Time.Time = time.Time{}
		Expect(f).To(Equal(&v1alpha1.Failure{
			Role: v1alpha1.Worker, Index: 1, Cause: v1alpha1.CauseOOM, Pod: pod.Name, Node: pod.Spec.NodeName,
			ExitCode: ptr.To[int32](137), Reason: "OOMKilled", Message: "no memory for batch 7",
		}))
		j.tells(v1alpha1.ConditionFailed, "worker-1", pod.Spec.NodeName, "137", "no memory for batch 7")
		j.leaves("worker-1 Failed")
	})

	It("counts a whole-job restart once, however many ranks went down with the first", promise, func() {
		j := submit(pytorch("p", maxRestarts(1), workers(4)))
		j.runs(0, 0)
		j.exits(1, "worker-0", "worker-1", "worker-2", "worker-3")
		v := j.runs(1, 1)
		v.is("one restart was charged", v.job.Status.ChargedRestarts == 1 && restartsOf(&v.job.Status) == 1)
	})

	It("creates no pod of the next life before nextStartTime", func() {
		j := submit(pytorch("p", backOff(6), workers(2)))
		j.runs(0, 0)
		j.exits(1, "worker-1")
		j.runs(1, 1) // the first in a row begins at once
		j.exits(1, "worker-1")
		v := j.becomes("it waits", func(v *view) bool {
			return v.job.Status.Phase == v1alpha1.PhaseRestarting && v.condition(v1alpha1.ConditionRunning).Reason == v1alpha1.ReasonBackOff
		})
		next := v.job.Status.NextStartTime
		Expect(next.Sub(v.job.Status.LastFailure.Time.Time)).To(waitOf(6 * time.Second))
		v = j.runs(2, 2)
		for _, slot := range []string{"worker-0", "worker-1"} {
			v.is(slot+" was not created before nextStartTime", !v.pod(slot).CreationTimestamp.Before(next))
		}
	})

	It("of time is shown: how much of it the job trained, and how much restarts cost", func() {
		j := submit(pytorch("p", backOff(3), workers(1)))
		j.runs(0, 0)
		j.exits(1, "worker-0")
		j.runs(1, 1)
		j.exits(1, "worker-0")
		v := j.becomes("it runs again", func(v *view) bool { return v.job.Status.Restarts == 2 && v.job.Status.Ready == "1/1" && v.allRun() })
		ratio, ok := state.RunningTimeRatio(&v.job.Status, time.Now())
		Expect(ok).To(BeTrue(), "%s", v)
		Expect(ratio).To(And(BeNumerically(">=", 0), BeNumerically("<", 1)), "%s", v)
	})

	It("begins the first restart at once and waits twice as long before each further one in a row", func() {
		j := submit(custom("c", backOff(1), func(j *v1alpha1.TrainingJob) { j.Spec.Recovery.MaxBackoffSeconds = ptr.To[int32](2) }, workers(1)))
		j.runs(0, 0)
		for restarts := range int32(3) {
			j.exits(1, "worker-0")
			v := j.becomes("it is restarted", func(v *view) bool { return v.job.Status.Restarts == restarts+1 })
			v.is("the whole job waits for nothing", v.job.Status.NextStartTime == nil)
			Expect(nextStartOf0(v).Sub(v.job.Status.LastFailure.Time.Time)).To(waitOf(time.Duration(restarts) * time.Second))
			j.runs(0, restarts+1)
		}
	})
})

// waitOf matches the time from a failure to the next start that a back-off makes: the operator notices within a second or so, and
// statuses have whole seconds.
func waitOf(wait time.Duration) types.GomegaMatcher {
	return And(BeNumerically(">=", wait), BeNumerically("<=", wait+8*time.Second))
}

// nextStartOf0 returns before which time worker 0 may not begin.
func nextStartOf0(v *view) time.Time {
	text := v.job.Status.Memory.Roles[v1alpha1.Worker].NextStarts
	seconds, err := strconv.ParseInt(strings.TrimPrefix(text, "0:"), 10, 64)
	Expect(err).NotTo(HaveOccurred(), "nextStarts %q: %s", text, v)
	return time.Unix(seconds, 0)
}

// restartsOf returns the sum of what the roles' statuses count.
func restartsOf(status *v1alpha1.TrainingJobStatus) int32 {
	var sum int32
	for _, role := range status.ReplicaStatuses {
		sum += role.Restarts
	}
	return sum
}

package sim_test

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
)

// What several scenarios have in common.

var errPolicy = errors.New("violates PodSecurity \"restricted:latest\"")

// longWords is as long as a kubelet lets a termination message be.
var longWords = strings.Repeat("ä", 2048)

// exceptionInOneRank has all ranks end with code 1 in one second. Only the words of the last that is heard do not speak of a lost connection.
func (r *run) exceptionInOneRank() {
	r.running()
	r.Exit(r.pod("worker-0"), 1, "Connection closed by peer [10.0.0.3]:2993")
	r.Exit(r.pod("worker-1"), 1, "Broken pipe")
	r.Exit(r.pod("worker-2"), 1, "ValueError: batch 17 is empty")
	r.restarted(1)
	r.until("the guilty rank is named", func() bool { return r.Job().Status.LastFailure.Index == 2 })
	r.succeed("worker-0")
}

// isCounted asks whether the status counts so many restarts now.
func (r *run) isCounted(n int32) {
	if got := r.Job().Status.Restarts; got != n {
		r.check.Violate("8 exactly once: %d restarts are counted, not %d", got, n)
	}
}

// workers returns the names of the slots of workers from the first to before the last.
func workers(first, last int) []string {
	var slots []string
	for i := first; i < last; i++ {
		slots = append(slots, fmt.Sprintf("worker-%d", i))
	}
	return slots
}

// restarted waits until so many restarts are counted.
func (r *run) restarted(n int32) {
	r.until("a restart is counted", func() bool { return r.Job().Status.Restarts >= n })
}

// hung says which replica the latest incident names for a hang, and how its message ends.
func (r *run) hung(replica, end string) {
	incident := r.Job().Status.Incidents[len(r.Job().Status.Incidents)-1]
	if failure.SlotOf(&incident.Failure).String() != replica || incident.Cause != v1alpha1.CauseHang || !strings.HasSuffix(incident.Message, end) {
		r.check.Violate("the incident is %+v, want the hang of %s: %s", incident, replica, end)
	}
}

// isAnswered reports whether the last request for a restart counts as done.
func (r *run) isAnswered() bool {
	return r.Job().Status.Memory.RestartRequest == r.Job().Annotations[v1alpha1.AnnotationRestart]
}

// suspended waits until the job is suspended and says that no pod is active.
func (r *run) suspended() {
	r.until("suspended", func() bool {
		job := r.Job()
		var active int32
		for _, status := range job.Status.ReplicaStatuses {
			active += status.Active
		}
		return job.Status.Phase == v1alpha1.PhaseSuspended && active == 0 && len(r.Pods()) == 0
	})
}

// deleted lets the user delete a job that runs.
func deleted(propagation metav1.DeletionPropagation) func(*run) {
	return func(r *run) {
		r.running()
		r.DeleteJob(propagation)
		r.until("gone", func() bool { return r.Job() == nil })
	}
}

// holdsQuota is a job that a queue has admitted.
func holdsQuota(job *v1alpha1.TrainingJob) { job.Finalizers = []string{v1alpha1.FinalizerQuota} }

// deletedWithQuota deletes a job in the background that holds quota: it goes when its last pod has ended.
func deletedWithQuota(before func(*run)) func(*run) {
	return func(r *run) {
		r.running()
		before(r)
		r.DeleteJob(metav1.DeletePropagationBackground)
		r.until("its quota is free", r.ReleaseQuota)
		for _, pod := range r.Pods() {
			if pod.Status.Phase == corev1.PodRunning {
				r.check.Violate("the quota is free, and %s runs", pod.Name)
			}
		}
		r.until("gone", func() bool { return r.Job() == nil })
	}
}

// lost takes worker 1 away from a job that runs.
func lost(takeAway func(*run, *corev1.Pod)) func(*run) {
	return func(r *run) {
		r.running()
		takeAway(r, r.pod("worker-1"))
		r.restarted(1)
		r.succeed("worker-0")
	}
}

// triesAtMost is how often an operator may try again in ten minutes what was refused for good. One that starts anew does not know
// of the former tries.
const triesAtMost = 15

// refused lets the API server refuse the job's pods for ten minutes.
func refused(err error, reason string) func(*run) {
	return func(r *run) {
		tries := r.refuse(err)
		r.stalled(reason)
		clear(tries)
		r.wait(10 * time.Minute)
		operators := len(r.operators) + r.starts
		for pod, n := range tries {
			if n > triesAtMost*operators {
				r.check.Violate("19 frugal: the refused %s was tried %d times in ten minutes, at most %d are fine", pod, n, triesAtMost*operators)
			}
		}
		r.Server.Admit = nil
		r.succeed("worker-0")
	}
}

// promptly holds against the clock how long it takes until the wait is over, if nothing goes wrong with the operators.
func (r *run) promptly(most time.Duration, what string, wait func()) {
	begin := r.Clock.Now()
	wait()
	if _, undisturbed := r.faults.(nothing); undisturbed && r.Clock.Since(begin) > most {
		r.check.Violate("liveness: until %s it took %v, more than %v", what, r.Clock.Since(begin), most)
	}
}

// resumedWhilePodsEnd suspends the job and resumes it while worker 1 has not ended yet.
func (r *run) resumedWhilePodsEnd() {
	r.running()
	r.Suspend(true)
	r.phase(v1alpha1.PhaseSuspended)
	r.Suspend(false)
	r.wait(10 * time.Second)
	r.Deaf["j-worker-1"] = false
	r.succeed("worker-0")
}

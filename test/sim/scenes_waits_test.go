package sim_test

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/operator"
	"github.com/trainingjob/operator/test/sim/world"
)

// What a job waits for, and what ends the wait.

// stuckAfter is how long after its grace period a deleted pod counts as stuck (docs/troubleshooting.md, PodNotEnding).
const stuckAfter = 30 * time.Second

// neverEnds has a pod ignore the request to end, at a restart or at a suspension. Once it is stuck, the condition Stalled names it.
func (d *drill) neverEnds(r *run) {
	uid := d.anyPod(r, isNeeded).UID
	host, what := podOf(r, uid).Spec.Hostname, "restart"
	r.Deaf[host] = true
	if d.rng.IntN(2) == 0 {
		what = "suspension"
		r.Suspend(true)
	} else {
		r.AskForRestart()
	}
	isDeleted := func(*v1alpha1.TrainingJobStatus) bool {
		return podOf(r, uid) == nil || podOf(r, uid).DeletionTimestamp != nil
	}
	if !d.until(r, 3*time.Minute, isDeleted) {
		d.fail(r, "liveness: %s: the pod of %s is not deleted for a %s: %s", d.kind, host, what, r.Job().Status.Message)
	}
	if pod := podOf(r, uid); pod != nil {
		due := pod.DeletionTimestamp.Add(stuckAfter + calmSlack).Sub(r.Clock.Now())
		isNamed := func(s *v1alpha1.TrainingJobStatus) bool { return stalledFor(s, v1alpha1.ReasonPodNotEnding, pod.Name) }
		if !d.until(r, due, isNamed) {
			d.fail(r, "24 what waits says for what: %s: a %s waits for %s, which does not end, and the status does not name it: %s", d.kind, what, pod.Name, r.Job().Status.Message)
		}
	}
	clear(r.Deaf)
	r.Suspend(false)
	d.trains(r)
}

// podOf returns the pod of that UID; nil if it is gone.
func podOf(r *run, uid types.UID) *corev1.Pod {
	for _, pod := range r.Pods() {
		if pod.UID == uid {
			return pod
		}
	}
	return nil
}

// stalledFor reports whether the job is stalled for the reason, and the message has the word.
func stalledFor(s *v1alpha1.TrainingJobStatus, reason, word string) bool {
	return slices.ContainsFunc(s.Conditions, func(c metav1.Condition) bool {
		return c.Type == v1alpha1.ConditionStalled && c.Status == metav1.ConditionTrue && c.Reason == reason && strings.Contains(c.Message, word)
	})
}

// hasApart reports whether the job has replicas that it gives up.
func hasApart(job *v1alpha1.TrainingJob) bool {
	return job.Spec.Replicas(v1alpha1.Evaluator)+job.Spec.Replicas(board) > 0
}

// askForGivenUp asks for a restart of a replica that was given up. It runs again.
func (d *drill) askForGivenUp(r *run) {
	pod := d.anyPod(r, isUnneeded)
	if pod == nil {
		return
	}
	slot := slotOf(pod)
	r.Exit(pod, 127, "board: not found")
	r.wait(promptly)
	r.AskForRestartOf(slot)
	runsAgain := func(*v1alpha1.TrainingJobStatus) bool {
		next := r.pod(slot)
		return next != nil && next.UID != pod.UID && next.Status.Phase == corev1.PodRunning
	}
	if !d.until(r, promptly, runsAgain) {
		d.fail(r, "29 requests: %s: %s was given up, a user requests its restart, and it does not run again: %s", d.kind, slot, r.Job().Status.Message)
	}
	d.trains(r)
}

// meetsAlone reports whether ranks restart as one, and wait for one that still starts.
func meetsAlone(job *v1alpha1.TrainingJob) bool { return isCollective(job) && !backsOff(job) }

// askWhileHeld has a rank fail while another one still pulls its image. The restart waits for that one, or until a user requests it.
func (d *drill) askWhileHeld(r *run) {
	slow := d.anyPod(r, isNeeded)
	other := slotOf(d.anyPod(r, func(_ *v1alpha1.TrainingJob, pod *corev1.Pod) bool {
		return isNeeded(nil, pod) && pod.Spec.Hostname != slow.Spec.Hostname
	}))
	r.NoImage[slow.Spec.Hostname] = true
	attempt := r.Job().Status.Attempt
	r.Exit(slow, 137, "")
	isReady := d.until(r, restartsWithin, func(s *v1alpha1.TrainingJobStatus) bool {
		next := r.pod(other)
		return s.Attempt > attempt && next != nil && next.Status.Phase == corev1.PodRunning && next.DeletionTimestamp == nil
	})
	if isReady {
		attempt = r.Job().Status.Attempt
		r.Exit(r.pod(other), 137, "")
		r.wait(10 * time.Second)
		r.AskForRestart()
		if !d.until(r, promptly, func(s *v1alpha1.TrainingJobStatus) bool { return s.Attempt > attempt }) {
			d.fail(r, "29 requests: %s: %s has failed while %s still starts, and a requested restart waits for it: %s", d.kind, other, slotOf(slow), r.Job().Status.Message)
		}
	}
	clear(r.NoImage)
	d.trains(r)
}

// fillQuota has a quota on count/pods allow as many pods as the job has replicas, and ends one. No pod that has ended holds its successor's place.
func (d *drill) fillQuota(r *run) {
	total := 0
	for role := range r.Job().Spec.ReplicaSpecs {
		total += int(r.Job().Spec.Replicas(role))
	}
	r.Crowded = r.Clock.Now().Add(20 * time.Minute)
	r.Server.Admit = func(q *server.Request) error {
		if q.User != operator.User || q.Verb != server.Create || q.Kind != server.Pods || len(r.Pods()) < total {
			return nil
		}
		return apierrors.NewForbidden(server.Pods.Resource(), q.Key.Name, errCountQuota)
	}
	r.Exit(d.anyPod(r, restarts(137)), 137, "")
	r.wait(promptly)
	d.trains(r)
	r.Server.Admit = nil
}

// serves reports whether the pod serves the others, and does not end by itself.
func serves(job *v1alpha1.TrainingJob, pod *corev1.Pod) bool {
	return roleOf(pod) == "ps" || job.Spec.Framework == v1alpha1.MPI && roleOf(pod) == "worker"
}

// endsWithJob asks that, once the job has succeeded, no pod outlasts the time to finish, nor one that serves the others the last of them.
func (d *drill) endsWithJob(r *run) {
	grace := time.Duration(*r.Job().Spec.RunPolicy.FinishGraceSeconds) * time.Second
	runsOn := func(ofThose bool) func(*corev1.Pod) bool {
		return func(pod *corev1.Pod) bool {
			return serves(r.Job(), pod) == ofThose && pod.DeletionTimestamp == nil && !world.HasEnded(pod) && !world.IsOver(pod)
		}
	}
	if !d.until(r, grace+calmSlack, func(*v1alpha1.TrainingJobStatus) bool { return !slices.ContainsFunc(r.Pods(), runsOn(false)) }) {
		d.fail(r, "13 success is not lost: %s: a pod runs on %v after the job has succeeded", d.kind, grace)
	}
	if r.wait(calmSlack); slices.ContainsFunc(r.Pods(), runsOn(true)) {
		d.fail(r, "13 success is not lost: %s: the job has succeeded, and a pod that served the others is not deleted after the last of them", d.kind)
	}
}

package invariant

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/ledger"
	"github.com/trainingjob/operator/test/sim/world"
)

// begins are when what a deadline counts from began, by the world's time.
type begins struct {
	// job is the first start, suspended the time since in which the job was suspended, and rests since when it is; zero if it is not.
	job       time.Time
	suspended time.Duration
	rests     time.Time
	// edited is when a user last changed the job.
	edited time.Time
	// attempts are the first pods of attempts, created or restarted in place.
	attempts map[int]time.Time
	// ran are the attempts that have run.
	ran map[int]bool
}

// note writes down what a status begins.
func (b *begins) note(before, after *v1alpha1.TrainingJob, now time.Time) {
	attempt := int(after.Status.Attempt)
	if b.job.IsZero() && after.Status.StartTime != nil {
		b.job = now
	}
	b.ran[attempt] = b.ran[attempt] || is(after, v1alpha1.ConditionRunning)
	switch was, rests := is(before, v1alpha1.ConditionSuspended), is(after, v1alpha1.ConditionSuspended); {
	case !was && rests:
		b.rests = now
	case was && !rests:
		delete(b.attempts, attempt)
		delete(b.ran, attempt)
		if b.suspended += now.Sub(b.rests); b.rests.IsZero() || b.job.Equal(now) {
			b.suspended = 0
		}
		b.rests = time.Time{}
	}
}

// notePod writes down the first pod of an attempt.
func (b *begins) notePod(attempt int, now time.Time) {
	if _, known := b.attempts[attempt]; !known {
		b.attempts[attempt] = now
	}
}

// Due checks invariant 27: deadlines come. What is over for that long has taken effect.
func (c *Checker) Due(slack time.Duration) {
	job := c.world.Job()
	if job == nil || job.DeletionTimestamp != nil || is(job, v1alpha1.ConditionFinished) || is(job, v1alpha1.ConditionSuspended) || job.Spec.IsSuspended() {
		return
	}
	b, now := &c.of(job.UID).begins, c.world.Clock.Now()
	if now.Sub(b.edited) <= slack {
		return
	}
	c.checkBudgets(c.of(job.UID), job, slack)
	limit := job.Spec.RunPolicy.ActiveDeadlineSeconds
	if since := now.Sub(b.job) - b.suspended; !b.job.IsZero() && hasPassed(since-slack, limit) {
		c.violate("27 deadlines come: the job is %s %v after its start, and activeDeadlineSeconds is %d", job.Status.Phase, since, *limit)
	}
	attempt := int(job.Status.Attempt)
	if began, isBegun := b.attempts[attempt]; isBegun && !b.ran[attempt] {
		c.checkAttemptDue(job, now.Sub(began), slack)
	}
}

// hasPassed reports whether the time is longer than the limit, if there is one.
func hasPassed(since time.Duration, limit *int32) bool {
	return limit != nil && since > time.Duration(*limit)*time.Second
}

// checkAttemptDue checks the deadlines of an attempt that has not run in full that long after its first pod.
func (c *Checker) checkAttemptDue(job *v1alpha1.TrainingJob, since, slack time.Duration) {
	if limit := job.Spec.RunPolicy.StartupDeadlineSeconds; hasPassed(since-slack, limit) && !hasChecks(&job.Spec) {
		c.violate("27 deadlines come: attempt %d is %s %v after its first pod, and startupDeadlineSeconds is %d", job.Status.Attempt, job.Status.Phase, since, *limit)
	}
	if s := job.Spec.Scheduling; s != nil && hasPassed(since-slack, s.TimeoutSeconds) && job.Spec.Elastic == nil && c.lacksNode(job, slack) {
		c.violate("27 deadlines come: a pod of attempt %d has no node %v after the first one came, and scheduling.timeoutSeconds is %d", job.Status.Attempt, since, *s.TimeoutSeconds)
	}
}

// hasChecks reports whether the job has preflight checks, whose time no deadline counts.
func hasChecks(spec *v1alpha1.TrainingJobSpec) bool {
	for _, replicas := range spec.ReplicaSpecs {
		if slices.ContainsFunc(replicas.Template.Spec.InitContainers, func(c corev1.Container) bool { return strings.HasPrefix(c.Name, "preflight-") }) {
			return true
		}
	}
	return false
}

// lacksNode reports whether a pod of a present life that the job needs has no node, and has had time to get one: it may be a new one.
func (c *Checker) lacksNode(job *v1alpha1.TrainingJob, slack time.Duration) bool {
	memory := memoryOf(job)
	return slices.ContainsFunc(c.world.Pods(), func(pod *corev1.Pod) bool {
		slot, life, _, named := livesIn(job.Name, pod)
		ref := ledger.OwnerOf(pod)
		isPresent := named && ref != nil && ref.UID == job.UID && life == lifeIn(job, memory, slot) && inRange(job, slot) && !isApart(&job.Spec, slot.Role)
		return isPresent && c.world.Clock.Since(pod.CreationTimestamp.Time) > slack && pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && !world.IsOver(pod)
	})
}

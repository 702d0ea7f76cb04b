package cluster

import (
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/pkg/state"
)

// A refused request is tried again after 1 s, doubling to this: replicas 15 times in the first 10 minutes.
const (
	retryAtMost      = 75 * time.Second
	retrySpareAtMost = 10 * time.Minute
)

// refusedPods are the pods of one reconcile that the API server refuses for good, or whose names are not free yet.
type refusedPods struct {
	mu sync.Mutex
	// first is the first refusal, preferably one that a person can fix.
	first error
	names map[string]bool
	// ofRole counts them by role.
	ofRole map[v1alpha1.Role]int
}

func (e *refusedPods) Error() string { return e.first.Error() }
func (e *refusedPods) Unwrap() error { return e.first }

// refusalsOfRole is after how many refusals of a role's pods in one reconcile its other pods count as refused too. They are
// alike, and a large job would cost a request for each.
const refusalsOfRole = 8

// add records that the pod of the step was refused.
func (e *refusedPods) add(step plan.CreatePod, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.first == nil || refusalReason(e.first) == "" && refusalReason(err) != "" {
		e.first = err
	}
	if e.names == nil {
		e.names, e.ofRole = map[string]bool{}, map[v1alpha1.Role]int{}
	}
	e.names[step.Name] = true
	e.ofRole[step.Slot.Role]++
}

// covers reports whether so many pods of the role were refused that this one counts as refused too. It then records the pod.
func (e *refusedPods) covers(step plan.CreatePod) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ofRole[step.Slot.Role] < refusalsOfRole {
		return false
	}
	e.names[step.Name] = true
	return true
}

// refused is the latest refusal and how many there were in a row.
type refused struct {
	refusal *state.Refusal
	times   int
}

// retryName is how long a job waits for a held name. It reports nothing, because garbage is collected within seconds.
const retryName = time.Second

// handleRefusal remembers a refusal of replicas, or forgets it, and returns every other error.
func (c *Cluster) handleRefusal(job *v1alpha1.TrainingJob, err error) error {
	return c.updateRefusal(job, err, retryAtMost, func(m *jobMemo) *refused { return &m.replicas })
}

// handleSpareRefusal does for spares what handleRefusal does for replicas.
func (c *Cluster) handleSpareRefusal(job *v1alpha1.TrainingJob, err error) error {
	return c.updateRefusal(job, err, retrySpareAtMost, func(m *jobMemo) *refused { return &m.spares })
}

// updateRefusal changes the refusal that pick returns. The wait before the next try doubles up to atMost.
func (c *Cluster) updateRefusal(job *v1alpha1.TrainingJob, err error, atMost time.Duration, pick func(*jobMemo) *refused) error {
	reason := refusalReason(err)
	now := c.clock.Now()
	var names map[string]bool
	if pods := (*refusedPods)(nil); errors.As(err, &pods) {
		names = pods.names
	}
	if names != nil && c.joins(job, names, pick) {
		return nil
	}
	if held := (*nameHeld)(nil); errors.As(err, &held) {
		c.memo(job, func(m *jobMemo) {
			pick(m).refusal = &state.Refusal{Message: held.Error(), Pods: names, Retry: now.Add(retryName)}
		})
		return nil
	}
	if err != nil && reason == "" {
		return err
	}
	c.memo(job, func(m *jobMemo) {
		r := pick(m)
		switch {
		case reason == "" && r.refusal.Pends(now): // the refused pods were not tried again
		case reason == "":
			*r = refused{}
		default:
			reported := r.refusal != nil && r.refusal.Told && r.refusal.Reason == reason
			since := now
			if r.times > 0 && r.refusal != nil && !r.refusal.Since.IsZero() {
				since = r.refusal.Since
			}
			wait := min(time.Second<<min(r.times, 10), atMost)
			*r = refused{times: r.times + 1, refusal: &state.Refusal{Reason: reason, Message: refusalMessage(err), Pods: names, Since: since, Retry: now.Add(wait), Told: reported}}
		}
	})
	return nil
}

// joins reports whether other pods of the job already wait for a next try, and adds these pods to them. It emits no new Event.
func (c *Cluster) joins(job *v1alpha1.TrainingJob, names map[string]bool, pick func(*jobMemo) *refused) (joined bool) {
	now := c.clock.Now()
	c.memo(job, func(m *jobMemo) {
		r := pick(m)
		if joined = r.refusal.Pends(now) && r.refusal.Pods != nil; joined {
			more := *r.refusal // a snapshot may hold the present one
			more.Pods = maps.Clone(more.Pods)
			maps.Copy(more.Pods, names)
			r.refusal = &more
		}
	})
	return joined
}

// markReported remembers that an Event was written about the refusal that pick returns.
func (c *Cluster) markReported(job *v1alpha1.TrainingJob, pick func(*jobMemo) *refused) {
	c.memo(job, func(m *jobMemo) {
		if r := pick(m); r.refusal != nil {
			reported := *r.refusal // a snapshot may hold the present one
			reported.Told = true
			r.refusal = &reported
		}
	})
}

// Retry returns when the job's refused requests are tried again; zero if none was refused. A refusal causes no watch event, so
// nothing else would wake the job.
func (c *Cluster) Retry(job *v1alpha1.TrainingJob) time.Time {
	known, now := c.memo(job, nil), c.clock.Now()
	var retry time.Time
	for _, refusal := range []*state.Refusal{known.replicas.refusal, known.spares.refusal} {
		if refusal.Pends(now) && (retry.IsZero() || refusal.Retry.Before(retry)) {
			retry = refusal.Retry
		}
	}
	return retry
}

package cluster

import (
	"errors"
	"maps"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
)

// retryAtMost is the longest wait before a refused request is tried again. The first wait is 1 s, and the next ones double: 15 tries in the
// first 10 minutes.
const retryAtMost = 75 * time.Second

// refusedPods are the pods of one reconcile that the API server refuses for good, or whose names are not free yet.
type refusedPods struct {
	mu sync.Mutex
	// first is the first refusal, preferably one that a person can fix, and best of all an invalid pod.
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
	if e.first == nil || refusalReason(e.first) == "" && refusalReason(err) != "" || refusalReason(err) == v1alpha1.ReasonInvalid {
		e.first = err
	}
	if e.names == nil {
		e.names, e.ofRole = map[string]bool{}, map[v1alpha1.Role]int{}
	}
	e.names[step.Name] = true
	e.ofRole[step.Slot.Role]++
}

// covers reports whether so many pods of the role were refused that this one counts as refused too, or one of any role was invalid: such a job
// cannot run before a person changes it. It then records the pod.
func (e *refusedPods) covers(step plan.CreatePod) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ofRole[step.Slot.Role] < refusalsOfRole && refusalReason(e.first) != v1alpha1.ReasonInvalid {
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

// lastsAfter is after how many refusals in a row an error that may pass counts as one that a person must fix, if the words are the same.
const lastsAfter = 3

// isRefusal reports whether the job waits before it tries again.
func isRefusal(err error) bool {
	var held *nameHeld
	return refusalReason(err) != "" || isNotCreated(err) || errors.As(err, &held)
}

// retryName is how long a job waits for a held name. It reports nothing, because garbage is collected within seconds.
const retryName = time.Second

// handleRefusal remembers a refusal, or forgets the last one, and returns every other error. If other pods already wait for their next try,
// these pods join them without a new Event.
func (c *Cluster) handleRefusal(job *v1alpha1.TrainingJob, err error) error {
	reason, now := refusalReason(err), c.clock.Now()
	held, pods := (*nameHeld)(nil), &refusedPods{}
	isHeld := errors.As(err, &held)
	if err != nil && !isRefusal(err) {
		return err
	}
	errors.As(err, &pods)
	c.noteCrowd(job, err)
	c.memo(job, func(m *jobMemo) {
		r := &m.refused
		was := ptr.Deref(r.refusal, state.Refusal{}) // a copy: a snapshot may hold the present one
		switch {
		case pods.names != nil && was.Pends(now) && was.Pods != nil:
			was.Pods = maps.Clone(was.Pods)
			maps.Copy(was.Pods, pods.names)
			r.refusal = &was
		case isHeld:
			r.refusal = &state.Refusal{Message: held.Error(), Pods: pods.names, Retry: now.Add(retryName)}
		case err == nil && was.Pends(now): // the refused pods were not tried again
		case err == nil:
			*r = refused{}
		default:
			message := refusalMessage(err)
			if reason == "" && r.times >= lastsAfter-1 && message == was.Message {
				reason = v1alpha1.ReasonAdmissionUnavailable
			}
			is := state.Refusal{Reason: reason, Message: message, Pods: pods.names, Since: was.Since, Reported: was.Reported && was.Reason == reason}
			if is.Since.IsZero() {
				is.Since = now
			}
			is.Retry = now.Add(min(time.Second<<min(r.times, 10), retryAtMost))
			*r = refused{times: r.times + 1, refusal: &is}
		}
	})
	return nil
}

// crowdedFor is how long a refusal by a quota of count/pods keeps the jobs of its namespace from keeping pods that have ended. A quota of pods counts
// only those that have not.
const crowdedFor = 10 * time.Minute

// noteCrowd notes that such a quota has refused a pod of the job. Pods that other jobs of the namespace keep for their logs may hold its place, and
// these jobs wake to let them go.
func (c *Cluster) noteCrowd(job *v1alpha1.TrainingJob, err error) {
	if refusalReason(err) != v1alpha1.ReasonQuotaExceeded || !strings.Contains(refusalMessage(err), "count/pods") {
		return
	}
	wasCrowded := c.isCrowded(job.Namespace)
	c.mu.Lock()
	c.crowded[job.Namespace] = c.clock.Now()
	var others []client.ObjectKey
	for key := range c.jobs {
		if key.Namespace == job.Namespace && key.Name != job.Name {
			others = append(others, key)
		}
	}
	c.mu.Unlock()
	for _, other := range others {
		if c.options.Wake != nil && !wasCrowded {
			c.options.Wake(other)
		}
	}
}

func (c *Cluster) isCrowded(namespace string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clock.Since(c.crowded[namespace]) <= crowdedFor
}

// markReported remembers that an Event was written about the refusal.
func (c *Cluster) markReported(job *v1alpha1.TrainingJob) {
	c.memo(job, func(m *jobMemo) {
		if r := m.refused.refusal; r != nil {
			reported := *r // a snapshot may hold the present one
			reported.Reported = true
			m.refused.refusal = &reported
		}
	})
}

// Retry returns when the job's refused requests are tried again; zero if none was refused. A refusal causes no watch event, so
// nothing else would wake the job.
func (c *Cluster) Retry(job *v1alpha1.TrainingJob) time.Time {
	if refusal := c.memo(job, nil).refused.refusal; refusal.Pends(c.clock.Now()) {
		return refusal.Retry
	}
	return time.Time{}
}

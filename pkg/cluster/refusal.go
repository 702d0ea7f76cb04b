package cluster

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/pkg/state"
)

// What was refused is tried again after 1 s, doubling to this: replicas 15 times in the first 10 minutes.
const (
	retryAtMost      = 75 * time.Second
	retrySpareAtMost = 10 * time.Minute
)

// refusedPods are the pods of one pass that the API server refuses for good, or whose names are not free yet.
type refusedPods struct {
	mu sync.Mutex
	// first is the first refusal, of a kind that a person can mend if there is one.
	first error
	names map[string]bool
	// ofRole counts them by role.
	ofRole map[v1alpha1.Role]int
}

func (e *refusedPods) Error() string { return e.first.Error() }
func (e *refusedPods) Unwrap() error { return e.first }

// refusalsOfRole is after how many refusals of a role's pods in one pass its other pods count as refused, too: they are alike, and a large job would
// ask for each.
const refusalsOfRole = 8

// isRefusal reports whether the error is an answer to one pod alone, so that others may be created all the same.
func isRefusal(err error) bool {
	var held *nameHeld
	return refusalReason(err) != "" || errors.As(err, &held)
}

// add takes note that the pod of the step was refused.
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

// covers reports whether so many pods of the role were refused that this one counts as refused, too, and takes note of it.
func (e *refusedPods) covers(step plan.CreatePod) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ofRole[step.Slot.Role] < refusalsOfRole {
		return false
	}
	e.names[step.Name] = true
	return true
}

// orNil returns the refusals as an error; nil if there are none.
func (e *refusedPods) orNil() error {
	if e.first == nil {
		return nil
	}
	return e
}

// refused is the latest refusal and how many there were in a row; nil for none.
type refused struct {
	refusal *state.Refusal
	times   int
}

// nameConflict is the error for a child whose name a foreign object has.
type nameConflict struct {
	kind   string
	object client.Object
	// former is the UID of an earlier job of the same name that left the object behind; empty if it is anything else.
	former string
}

func newNameConflict(child, existing client.Object, job *v1alpha1.TrainingJob) *nameConflict {
	kind := fmt.Sprintf("%T", child)
	e := &nameConflict{kind: kind[strings.LastIndex(kind, ".")+1:], object: existing}
	if labels := existing.GetLabels(); controllerOf(existing) == nil && labels[v1alpha1.LabelJobName] == job.Name && labels[v1alpha1.LabelJobUID] != string(job.UID) {
		e.former = labels[v1alpha1.LabelJobUID]
	}
	return e
}

func (e *nameConflict) Error() string {
	if e.former == "" {
		return fmt.Sprintf("%s %s exists and belongs to another owner: delete it, or give the job another name", e.kind, e.object.GetName())
	}
	kinds := "pods,services,leases"
	if own := strings.ToLower(e.kind) + "s"; !strings.Contains(kinds, own) {
		kinds += "," + own
	}
	return fmt.Sprintf("%s %s was left behind by an earlier job of this name, which was deleted without its children: delete all of them with kubectl delete %s --namespace %s --selector %s=%s",
		e.kind, e.object.GetName(), kinds, e.object.GetNamespace(), v1alpha1.LabelJobUID, e.former)
}

// missingRight has the advice for an administrator about a right that the operator lacks.
type missingRight struct {
	advice  string
	refusal error
}

// What jobs need that manifests/base does not grant.
const (
	adviceOnKeys = "the key of an MPI job is a Secret, which the operator may not create: apply manifests/components/mpi, or write " +
		"mpi.launchAgent: None if the images do without SSH"
	adviceOnTTL = "the operator may not delete the job when runPolicy.ttlSecondsAfterFinished has passed: apply manifests/components/ttl, or delete the job"
)

func (e *missingRight) Error() string {
	return e.advice + "; the API server's message: " + apiMessage(e.refusal)
}

func (e *missingRight) Unwrap() error { return e.refusal }

// orMissingRight returns the error with the advice if the API server refuses the request because of a missing right.
func orMissingRight(advice string, err error) error {
	if isDenied(err) {
		return &missingRight{advice, err}
	}
	return err
}

// nameHeld reports that the name of a child is not free yet: the object that has it is being deleted, or its owner is gone.
type nameHeld struct{ name string }

func (e *nameHeld) Error() string { return "waiting for the deletion of the old object " + e.name }

// retryName is how long a job waits for a name that is held. It waits in silence, as garbage is collected within seconds.
const retryName = time.Second

// handleRefusal remembers a refusal of replicas, or that there is none any more, and returns every other error.
func (c *Cluster) handleRefusal(job *v1alpha1.TrainingJob, err error) error {
	return c.updateRefusal(job, err, retryAtMost, func(m *jobMemo) *refused { return &m.replicas })
}

// handleSpareRefusal does for spares what handleRefusal does for replicas.
func (c *Cluster) handleSpareRefusal(job *v1alpha1.TrainingJob, err error) error {
	return c.updateRefusal(job, err, retrySpareAtMost, func(m *jobMemo) *refused { return &m.spares })
}

// updateRefusal changes the selected refusal; the wait before the next try doubles up to atMost.
func (c *Cluster) updateRefusal(job *v1alpha1.TrainingJob, err error, atMost time.Duration, of func(*jobMemo) *refused) error {
	reason := refusalReason(err)
	now := c.clock.Now()
	var names map[string]bool
	if pods := (*refusedPods)(nil); errors.As(err, &pods) {
		names = pods.names
	}
	if names != nil && c.joins(job, names, of) {
		return nil
	}
	if held := (*nameHeld)(nil); errors.As(err, &held) {
		c.memo(job, func(m *jobMemo) {
			of(m).refusal = &state.Refusal{Message: held.Error(), Pods: names, Retry: now.Add(retryName)}
		})
		return nil
	}
	if err != nil && reason == "" {
		return err
	}
	c.memo(job, func(m *jobMemo) {
		r := of(m)
		switch {
		case reason == "" && r.refusal.Pends(now): // what was refused was not tried again
		case reason == "":
			*r = refused{}
		default:
			told := r.refusal != nil && r.refusal.Told && r.refusal.Reason == reason
			since := now
			if r.times > 0 && r.refusal != nil && !r.refusal.Since.IsZero() {
				since = r.refusal.Since
			}
			wait := min(time.Second<<min(r.times, 10), atMost)
			*r = refused{times: r.times + 1, refusal: &state.Refusal{Reason: reason, Message: refusalMessage(err), Pods: names, Since: since, Retry: now.Add(wait), Told: told}}
		}
	})
	return nil
}

// joins reports whether other pods of the job wait for a next try, and adds these to them. Their refusal is not reported again.
func (c *Cluster) joins(job *v1alpha1.TrainingJob, names map[string]bool, of func(*jobMemo) *refused) (joined bool) {
	now := c.clock.Now()
	c.memo(job, func(m *jobMemo) {
		r := of(m)
		if joined = r.refusal.Pends(now) && r.refusal.Pods != nil; joined {
			more := *r.refusal // a snapshot may hold the present one
			more.Pods = maps.Clone(more.Pods)
			maps.Copy(more.Pods, names)
			r.refusal = &more
		}
	})
	return joined
}

// refusalTold remembers that an Event was written about the selected refusal.
func (c *Cluster) refusalTold(job *v1alpha1.TrainingJob, of func(*jobMemo) *refused) {
	c.memo(job, func(m *jobMemo) {
		if r := of(m); r.refusal != nil {
			told := *r.refusal // a snapshot may hold the present one
			told.Told = true
			r.refusal = &told
		}
	})
}

// Retry returns when what the API server refused of the job is to be tried again; zero if it refused nothing. A refusal
// makes no event, so nothing else would wake the job.
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

// refusalReason returns the reason of the condition Stalled for an error that only a person can correct; "" for any other.
func refusalReason(err error) string {
	var conflict *nameConflict
	switch {
	case err == nil:
		return ""
	case errors.As(err, &conflict):
		return v1alpha1.ReasonNameConflict
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"):
		return v1alpha1.ReasonQuotaExceeded
	case apierrors.IsForbidden(err):
		return v1alpha1.ReasonForbidden
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return v1alpha1.ReasonInvalid
	case apierrors.IsInternalError(err) && strings.Contains(err.Error(), "request is too large"): // etcd's own limit
		return v1alpha1.ReasonInvalid
	case apierrors.IsInternalError(err) && strings.Contains(err.Error(), "webhook"):
		return v1alpha1.ReasonAdmissionUnavailable
	default:
		return ""
	}
}

// refusalMessage describes the refusal, if possible in the sentence of the API server.
func refusalMessage(err error) string {
	var missing *missingRight
	if errors.As(err, &missing) {
		return state.Printable(missing.Error())
	}
	return state.Printable(apiMessage(err))
}

// apiMessage returns the API server's own sentence.
func apiMessage(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Message
	}
	return err.Error()
}

package cluster

import (
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// A refused job tries again after 1 s, doubling to retryAtMost: 15 times in the first 10 minutes.
const retryAtMost = 75 * time.Second

// nameConflict says that somebody else owns the name of a child.
type nameConflict struct{ kind, name string }

func (e *nameConflict) Error() string {
	return fmt.Sprintf("%s %s exists and belongs to somebody else: delete it, or give the job another name",
		e.kind[strings.LastIndex(e.kind, ".")+1:], e.name)
}

// settle notes a refusal, or that there is none any more, and returns every other error.
func (c *Cluster) settle(job *v1alpha1.TrainingJob, err error) error {
	reason := refusalReason(err)
	if err != nil && reason == "" {
		return err
	}
	c.note(job.UID, func(n *notes) {
		if reason == "" && n.refusal != nil && c.clock.Now().Before(n.refusal.Retry) {
			return // what was refused was not tried again
		}
		if reason == "" {
			n.refusal, n.refused = nil, 0
			return
		}
		wait := min(time.Second<<min(n.refused, 10), retryAtMost)
		n.refusal = &state.Refusal{Reason: reason, Message: refusalMessage(err), Retry: c.clock.Now().Add(wait)}
		n.refused++
	})
	return nil
}

// Retry returns when what the API server refused of the job is to be tried again; zero if it refused nothing. A refusal
// makes no event, so nothing else would wake the job.
func (c *Cluster) Retry(job *v1alpha1.TrainingJob) time.Time {
	refusal := c.note(job.UID, nil).refusal
	if refusal == nil || !c.clock.Now().Before(refusal.Retry) {
		return time.Time{}
	}
	return refusal.Retry
}

// refusalReason returns the reason of the condition Stalled for an error that only somebody else can mend; "" for any other.
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

// refusalMessage returns the API server's own sentence.
func refusalMessage(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Message
	}
	return err.Error()
}

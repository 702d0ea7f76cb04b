package cluster

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// nameConflict is the error for a child whose name is taken by an object of another owner.
type nameConflict struct {
	kind   string
	object client.Object
	// former is the UID of an earlier job of the same name that left the object behind; empty if there is none.
	former string
	// isHeld is whether another object controls it.
	isHeld bool
}

func newNameConflict(child, existing client.Object, job *v1alpha1.TrainingJob) *nameConflict {
	kind := fmt.Sprintf("%T", child)
	e := &nameConflict{kind: kind[strings.LastIndex(kind, ".")+1:], object: existing}
	holder, served := metav1.GetControllerOfNoCopy(existing), state.ServedJob(job)
	e.isHeld = holder != nil && (served == nil || holder.UID != served.UID)
	if labels := existing.GetLabels(); state.OwnerOf(existing) == nil && !e.isHeld && labels[v1alpha1.LabelJobName] == job.Name && labels[v1alpha1.LabelJobUID] != string(job.UID) {
		e.former = labels[v1alpha1.LabelJobUID]
	}
	return e
}

func (e *nameConflict) Error() string {
	if e.isHeld {
		return fmt.Sprintf("%s %s exists and belongs to %s: give the job another name", e.kind, e.object.GetName(), state.HolderOf(e.kind, e.object))
	}
	if e.former == "" {
		return fmt.Sprintf("%s %s exists and has another owner: delete it, or give the job another name", e.kind, e.object.GetName())
	}
	kinds := "pods,services,leases"
	if own := strings.ToLower(e.kind) + "s"; !strings.Contains(kinds, own) {
		kinds += "," + own
	}
	return fmt.Sprintf("%s %s was left behind by an earlier job of this name, which was deleted without its children: delete all of them with kubectl delete %s --namespace %s --selector %s=%s",
		e.kind, e.object.GetName(), kinds, e.object.GetNamespace(), v1alpha1.LabelJobUID, e.former)
}

// missingRight is the error for a right that the operator lacks, with advice for the administrator.
type missingRight struct {
	advice  string
	refusal error
}

// The advice for rights that manifests/base does not grant.
const (
	adviceOnKeys = "the key of an MPI job is a Secret, which the operator may not create: apply manifests/components/mpi, or write " +
		"mpi.launchAgent: None if the images need no SSH"
	adviceOnTTL = "the operator may not delete the job when runPolicy.ttlSecondsAfterFinished has passed: apply manifests/components/ttl, or delete the job"
)

func (e *missingRight) Error() string {
	return e.advice + "; the API server's answer: " + apiMessage(e.refusal)
}

func (e *missingRight) Unwrap() error { return e.refusal }

func orMissingRight(advice string, err error) error {
	if isDenied(err) {
		return &missingRight{advice, err}
	}
	return err
}

// nameHeld is the error for a name that is not free yet: its object is being deleted, or the object's owner is gone.
type nameHeld struct{ name string }

func (e *nameHeld) Error() string { return "waiting for the old " + e.name + " to be deleted" }

// notCreated is the API server's error on the creation of a child. A webhook may answer with any code.
type notCreated struct{ error }

func (e *notCreated) Unwrap() error { return e.error }

// isNotCreated reports whether the API server has answered that it does not create a child. A name that is taken is no such answer.
func isNotCreated(err error) bool {
	var create *notCreated
	return errors.As(err, &create) && codeOf(create) > 0
}

// codeOf returns the HTTP status of the API server's answer; 0 if it gave none.
func codeOf(err error) int32 {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return 0
	}
	return status.Status().Code
}

// mayPass reports whether the API server may accept the same request a moment later: it is overloaded, restarts, or renews its certificates.
func mayPass(code int32) bool {
	return code == http.StatusUnauthorized || code == http.StatusRequestTimeout || code == http.StatusTooManyRequests || code >= http.StatusInternalServerError
}

// refusalReason returns the reason of the condition Stalled for an error that only a person can fix; "" for any other.
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
	case isNotCreated(err) && !mayPass(codeOf(err)):
		return v1alpha1.ReasonForbidden
	default:
		return ""
	}
}

// Refusal returns the reason of the condition Stalled for an error that only a person can fix, and what it was about, with the API server's words. Both
// are empty for any other error.
func Refusal(err error) (reason, message string) {
	if reason = refusalReason(err); reason != "" {
		message = state.Printable(err.Error())
	}
	return reason, message
}

// refusalMessage describes the refusal, if possible with the API server's own message.
func refusalMessage(err error) string {
	var missing *missingRight
	if errors.As(err, &missing) {
		return state.Printable(missing.Error())
	}
	return state.Printable(apiMessage(err))
}

func apiMessage(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Message
	}
	return err.Error()
}

var deniedVerb = regexp.MustCompile(`cannot [a-z]+ resource`)

// isDenied reports whether the operator lacks the right. Such an error shows nothing about the object: an API server that has
// just started denies everything until it has read the roles.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go.
func isDenied(err error) bool {
	return apierrors.IsForbidden(err) && deniedVerb.MatchString(err.Error())
}

// isAnother reports whether the API server refused a patch because the object of that name has another UID. A UID never changes,
// so the error is Invalid and not Conflict.
func isAnother(err error) bool {
	cause, found := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid)
	return apierrors.IsInvalid(err) && found && cause.Field == "metadata.uid"
}

// staleCache returns the conflict error that requests another reconcile.
func staleCache(job *v1alpha1.TrainingJob, why string) error {
	return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("trainingjobs").GroupResource(), job.Name, errors.New("the cache is old: "+why))
}

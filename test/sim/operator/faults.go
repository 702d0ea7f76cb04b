package operator

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/server"
)

// Outcome is what becomes of a write.
type Outcome string

// The outcomes. Those that end a process, then the errors of the API server or of what lies before it.
const (
	Done        Outcome = ""
	CrashBefore Outcome = "crash before"
	CrashAfter  Outcome = "crash after"
	// CrashLate is a crash while the request is on its way: it arrives some time later.
	CrashLate Outcome = "crash, the request comes late"
	// Twice is a request that arrives now and once more some time later.
	Twice Outcome = "sent twice"
	// Freeze stops the process before the request and lets it go on later, when it leads no more.
	Freeze Outcome = "freeze"
	// Slow is a request that takes its time, as a webhook makes it, and is done all the same.
	Slow Outcome = "slow"

	Conflict          Outcome = "409 Conflict"
	NotFound          Outcome = "404 NotFound"
	AlreadyExists     Outcome = "409 AlreadyExists"
	Forbidden         Outcome = "403 Forbidden"
	Quota             Outcome = "403 exceeded quota"
	Invalid           Outcome = "422 Invalid"
	TooMany           Outcome = "429 TooManyRequests"
	Internal          Outcome = "500 InternalError"
	TooLarge          Outcome = "500 request is too large"
	TimeoutApplied    Outcome = "504, but applied"
	TimeoutNotApplied Outcome = "504, not applied"
)

// Errors lists the outcomes that are an error of the API server.
var Errors = []Outcome{Conflict, NotFound, AlreadyExists, Forbidden, Quota, Invalid, TooMany, Internal, TooLarge, TimeoutApplied, TimeoutNotApplied}

// Faults decides what goes wrong in a process.
type Faults interface {
	// Write returns what becomes of a request that is about to be sent.
	Write(p *Process, r *server.Request) Outcome
	// Read returns the error of a read, nil for none; live is whether it goes to the API server. It may hold a cache back.
	Read(p *Process, kind server.Kind, live bool) error
	// Seen returns what the process sees of its reads beside the caches, of what they show now and what it saw last.
	Seen(now, last state.Seen) state.Seen
	// Later is given a request that arrives some time later.
	Later(r *server.Request)
	// Frozen lets time pass, and another process lead, while the process is frozen.
	Frozen(p *Process)
	// Slow lets time pass while a request of the process is under way.
	Slow(p *Process)
}

// errCrashed is what a dead process hears, which nobody does.
var errCrashed = errors.New("the process has crashed")

// errorOf returns the API server's error of that outcome to the request.
func errorOf(o Outcome, r *server.Request) error {
	resource, name := r.Kind.Resource(), r.Key.Name
	switch o {
	case Conflict:
		return apierrors.NewConflict(resource, name, errors.New("injected"))
	case NotFound:
		return apierrors.NewNotFound(resource, name)
	case AlreadyExists:
		return apierrors.NewAlreadyExists(resource, name)
	case Forbidden:
		return apierrors.NewForbidden(resource, name, errors.New("injected"))
	case Quota:
		return apierrors.NewForbidden(resource, name, errors.New("exceeded quota: compute, requested: pods=1, used: pods=8, limited: pods=8"))
	case Invalid:
		return apierrors.NewInvalid(r.Kind.GroupKind(), name, field.ErrorList{field.Required(field.NewPath("spec"), "injected")})
	case TooMany:
		return apierrors.NewTooManyRequests("injected", 1)
	case Internal:
		return apierrors.NewInternalError(errors.New("injected"))
	case TooLarge:
		return apierrors.NewInternalError(errors.New("etcdserver: request is too large"))
	default:
		return apierrors.NewTimeoutError(fmt.Sprintf("injected: %s", o), 1)
	}
}

// Unavailable is the error of a read that failed.
var Unavailable error = &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure,
	Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable, Message: "injected"}}

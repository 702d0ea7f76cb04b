package serve

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/operator/cluster"
	"github.com/trainingjob/operator/pkg/operator/reconcile"
)

// Parent is an object that a TrainingJob of its name serves: a Kubeflow job, or a JobSet.
type Parent interface {
	metav1.Object
	// Source is the object, unchanged since it was read.
	Source() *unstructured.Unstructured
	IsFinished() bool
	IsSuspended() bool
}

// Engine reads the parents of one kind, makes and keeps their TrainingJobs, and writes their statuses and Events.
type Engine struct {
	Kind   Kind
	Client client.Client
	Live   client.Reader
	Events events.EventRecorder
	Clock  clock.PassiveClock
	// Waiting counts the parents that wait for a share of their namespace.
	Waiting *atomic.Int64
}

func keyOf(parent metav1.Object) client.ObjectKey {
	return client.ObjectKey{Namespace: parent.GetNamespace(), Name: parent.GetName()}
}

// Child returns the TrainingJob of that name; nil if there is none.
func (r *Engine) Child(ctx context.Context, key client.ObjectKey) (*v1alpha1.TrainingJob, error) {
	child := &v1alpha1.TrainingJob{}
	err := r.Client.Get(ctx, key, child)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the TrainingJob: %w", err)
	}
	return child, nil
}

// Holder returns what has the TrainingJob of the parent's name, and how long to wait; nothing if the parent has it. The parent takes over what an
// earlier one left.
func (r *Engine) Holder(ctx context.Context, parent Parent, child *v1alpha1.TrainingJob, served *Served) (holder string, wait time.Duration, err error) {
	switch {
	case metav1.IsControlledBy(child, parent):
		return "", 0, nil
	case served.wasLeft(child):
		return "", reconcile.RetryConflict, r.adopt(ctx, served, child)
	default:
		return state.HolderOf(v1alpha1.Kind, child), AskAgain, nil
	}
}

// RefuseChange leaves a parent as it runs and warns of a change that means nothing. One that Kueue or a user suspends does not run on.
func (r *Engine) RefuseChange(ctx context.Context, parent Parent, child *v1alpha1.TrainingJob, why error) error {
	r.Warn(parent, "ChangeRefused", why.Error())
	if child != nil && metav1.IsControlledBy(child, parent) && parent.IsSuspended() && !child.Spec.IsSuspended() {
		return r.patch(ctx, child, []byte(`{"spec":{"suspend":true}}`))
	}
	return nil
}

// WriteStatus writes the status of the parent; false if the parent was deleted meanwhile.
func (r *Engine) WriteStatus(ctx context.Context, parent Parent, status any) (bool, error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(status)
	if err != nil {
		return false, fmt.Errorf("writing the status as an object: %w", err)
	}
	updated := parent.Source().DeepCopy()
	updated.Object["status"] = object
	if err := r.Client.Status().Update(ctx, updated, FieldOwner); apierrors.IsNotFound(err) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("writing the status: %w", err)
	}
	return true, nil
}

// note emits one Event with what does not hold as it did under the other operator.
func (r *Engine) note(parent Parent, served *Served) {
	if changed := served.changes(); changed != "" {
		r.Emit(parent, corev1.EventTypeNormal, "Converted", "Converted", changed)
	}
}

// Warn emits a warning about the parent.
func (r *Engine) Warn(parent Parent, reason, message string) {
	r.Emit(parent, corev1.EventTypeWarning, reason, reason, message)
}

// WarnOfRefusal emits an Event if the API server has refused what the operator writes for the parent: its user sees no TrainingJob, or no Service.
func (r *Engine) WarnOfRefusal(parent Parent, err error) {
	if reason, message := cluster.Refusal(err); reason != "" {
		action, _, _ := strings.Cut(message, ":") // it distinguishes Events with one reason
		r.Emit(parent, corev1.EventTypeWarning, reason, action, message)
	}
}

// Emit emits an Event of at most as many bytes as the API server takes. The TrainJob that owns a parent gets it too: its user knows that one.
func (r *Engine) Emit(parent Parent, kind, reason, action, message string) {
	message = state.KeepBeginning(message)
	r.Events.Eventf(parent.Source(), nil, kind, reason, action, "%s", message)
	if owner := metav1.GetControllerOfNoCopy(parent); owner != nil && owner.Kind == v1alpha1.TrainJobKind {
		about := &corev1.ObjectReference{APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: parent.GetNamespace(), Name: owner.Name, UID: owner.UID}
		r.Events.Eventf(about, nil, kind, reason, action, "%s", message)
	}
}

// DeleteExpired deletes a parent that finished at end when its time to live is over. It returns how long that takes yet; 0 if the parent stays.
func (r *Engine) DeleteExpired(ctx context.Context, parent Parent, ttl *int32, end *metav1.Time) (time.Duration, error) {
	if ttl == nil || end == nil {
		return 0, nil
	}
	if left := end.Add(time.Duration(*ttl) * time.Second).Sub(r.Clock.Now()); left > 0 {
		return left, nil
	}
	uid := parent.GetUID()
	err := r.Client.Delete(ctx, parent.Source(), client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	return AskAgain, client.IgnoreNotFound(err)
}

// Retried returns the result of a reconcile; after a conflict one that requests another reconcile, without an error.
func Retried(result ctrl.Result, err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: reconcile.RetryConflict}, nil
	}
	return result, err
}

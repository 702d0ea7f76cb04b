package jobset

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/kubeflow/serve"
)

// reconciler serves JobSets.
type reconciler struct{ serve.Engine }

// Setup adds a controller of JobSets to the manager, as serve.Setup does for Kubeflow's kinds.
func Setup(mgr manager.Manager, source string, waiting *atomic.Int64, excluded ...string) error {
	r := &reconciler{serve.NewEngine(mgr, serve.JobSet, serve.NewReader(mgr), source, waiting)}
	return r.Control(mgr, "jobset", r, serve.OutsideOf(excluded, r.Events))
}

// Reconcile makes the TrainingJob of a JobSet, and mirrors its status.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return serve.Retried(r.reconcile(ctx, req))
}

func (r *reconciler) reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	source, err := r.Read(ctx, req.NamespacedName)
	if source == nil || err != nil {
		return ctrl.Result{}, err
	}
	set, err := Read(source)
	if err != nil {
		return ctrl.Result{}, err
	}
	if wait, err := r.DeleteExpired(ctx, set, set.Spec.TTLSecondsAfterFinished, set.Status.finishTime()); wait != 0 || err != nil {
		return ctrl.Result{RequeueAfter: wait}, err
	}
	result, err := r.serve(ctx, set)
	r.WarnOfRefusal(set, err)
	return result, err
}

// serve brings the children of the JobSet up to date, and then its status.
func (r *reconciler) serve(ctx context.Context, set *JobSet) (ctrl.Result, error) {
	parts, last := set.parts(), &part{}
	var refused error
	var begun *v1alpha1.TrainingJob
	for _, last = range parts {
		child, err := r.Child(ctx, client.ObjectKey{Namespace: set.Namespace, Name: last.childName()})
		if err != nil {
			return ctrl.Result{}, err
		}
		last.child, begun = child, cmp.Or(begun, child)
		if last.served, err = last.Serve(); err == nil && child == nil {
			err = last.served.Refused
		}
		refused = cmp.Or(refused, err)
	}
	if last.child == nil && set.IsFinished() { // its TrainingJob was deleted, or a step failed
		return ctrl.Result{}, nil
	}
	if refused = cmp.Or(set.unservable(), refused); refused != nil {
		return r.refuse(ctx, set, begun, refused)
	}
	if err := r.createClaims(ctx, last); err != nil {
		return ctrl.Result{}, err
	}
	for _, p := range parts {
		if !p.isDue(parts) {
			continue
		}
		if wait, err := r.converge(ctx, set, p); wait != 0 || err != nil {
			return ctrl.Result{RequeueAfter: wait}, err
		}
	}
	if err := r.record(ctx, set, set.Mirror(r.Clock.Now(), parts...)); err != nil || last.child == nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.createSubdomain(ctx, set, last.child)
}

// converge brings the TrainingJob of the part up to date. It returns how long to wait for the name of it, or after a refusal.
func (r *reconciler) converge(ctx context.Context, set *JobSet, p *part) (time.Duration, error) {
	if p.child != nil {
		holder, wait, err := r.Holder(ctx, set, p.child, p.served)
		if holder != "" {
			err = r.record(ctx, set, set.Stall("NameConflict", holder+" has this name: give one of them another name.", r.Clock.Now()))
		}
		if wait != 0 || err != nil {
			return wait, err
		}
	}
	next, err := r.Converge(ctx, set, p.child, p.served)
	if apierrors.IsInvalid(err) && p.child == nil {
		return serve.AskAgain, r.record(ctx, set, set.Refuse(err.Error(), r.Clock.Now()))
	}
	p.child = next
	return 0, err
}

// refuse fails a JobSet that means nothing for a TrainingJob, or leaves one that runs as it is.
func (r *reconciler) refuse(ctx context.Context, set *JobSet, child *v1alpha1.TrainingJob, why error) (ctrl.Result, error) {
	if child == nil {
		return ctrl.Result{}, r.record(ctx, set, set.Refuse(why.Error(), r.Clock.Now()))
	}
	return ctrl.Result{RequeueAfter: serve.AskAgain}, r.RefuseChange(ctx, set, child, why)
}

// record writes the status and emits an Event for each condition that is new or has changed.
func (r *reconciler) record(ctx context.Context, set *JobSet, next Status) error {
	if reflect.DeepEqual(set.Status, next) {
		return nil
	}
	if isWritten, err := r.WriteStatus(ctx, set, &next); err != nil || !isWritten {
		return err
	}
	for _, c := range next.Conditions {
		known := meta.FindStatusCondition(set.Status.Conditions, c.Type)
		if known != nil && known.Status == c.Status && known.Reason == c.Reason && known.Message == c.Message {
			continue
		}
		kind := corev1.EventTypeNormal
		if c.Status == metav1.ConditionTrue && (c.Type == failed || c.Type == restarting || c.Type == stalled) {
			kind = corev1.EventTypeWarning
		}
		r.Emit(set, kind, c.Reason, c.Type, c.Message)
	}
	return nil
}

// createSubdomain creates the Service under which the pods have names, if that is not the TrainingJob's own.
func (r *reconciler) createSubdomain(ctx context.Context, set *JobSet, child *v1alpha1.TrainingJob) error {
	name := set.subdomain()
	if name == set.Name || child.UID == "" || set.IsFinished() {
		return nil
	}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: set.Namespace, Name: name}, &corev1.Service{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	service := build.Service(child, build.DeclaredPorts(child))
	service.Name = name
	if err := r.Client.Create(ctx, service, serve.FieldOwner); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating Service %s: %w", name, err)
	}
	return nil
}

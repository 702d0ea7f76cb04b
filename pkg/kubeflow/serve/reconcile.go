package serve

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/operator/reconcile"
)

// ownManager begins the names of this operator in managed fields, and FieldOwner names this package there.
const (
	ownManager = "trainingjob-operator"
	FieldOwner = client.FieldOwner(ownManager + "-kubeflow")
)

// AskAgain is how long to wait for what makes no event: another object that holds a name, pods that no TrainingJob owns.
const AskAgain = 15 * time.Second

// reconciler serves the jobs of one kind.
type reconciler struct {
	Engine
	counts *counters
	// starting is shared by the kinds.
	starting *starting
}

// Reconcile makes the TrainingJob of a Kubeflow job, and mirrors its status.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return Retried(r.reconcile(ctx, req))
}

func (r *reconciler) reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	job, err := r.own(ctx, req)
	if job == nil || err != nil {
		return ctrl.Result{}, err
	}
	if job.Status.isFinished() {
		if wait, err := r.DeleteExpired(ctx, job, job.Spec.RunPolicy.TTLSecondsAfterFinished, job.Status.CompletionTime); wait != 0 || err != nil {
			return ctrl.Result{RequeueAfter: wait}, err
		}
	}
	result, err := r.serve(ctx, job)
	r.WarnOfRefusal(job, err)
	return result, err
}

// own returns the job; nil if it is gone or going, or if another controller runs it.
func (r *reconciler) own(ctx context.Context, req ctrl.Request) (*Job, error) {
	source, err := r.Read(ctx, req.NamespacedName)
	if source == nil || err != nil {
		return nil, err
	}
	return Read(r.Kind, source)
}

// serve brings the children of the job up to date, and then its status.
func (r *reconciler) serve(ctx context.Context, job *Job) (ctrl.Result, error) {
	child, err := r.Child(ctx, keyOf(job))
	if err != nil {
		return ctrl.Result{}, err
	}
	if other := job.rival(child); other != "" {
		return ctrl.Result{RequeueAfter: reconcile.RetryConflict}, r.stepBack(ctx, job, child, other)
	}
	served, err := job.Serve()
	if child == nil && job.Status.isFinished() { // it finished under Kubeflow's operator, or its TrainingJob was deleted
		return ctrl.Result{}, r.cleanUp(ctx, job, served)
	}
	if err == nil && child == nil {
		err = served.Refused
	}
	if err != nil {
		return r.refuseChange(ctx, job, child, err)
	}
	if wait, err := r.isBlocked(ctx, job, child, served); wait != 0 || err != nil {
		return ctrl.Result{RequeueAfter: wait}, err
	}
	if child, err = r.Converge(ctx, job, child, served); err != nil {
		if apierrors.IsInvalid(err) && child == nil {
			return ctrl.Result{}, r.refuse(ctx, job, err.Error())
		}
		return ctrl.Result{}, err
	}
	if err := r.record(ctx, job, job.Mirror(child, served.Roles, r.Clock.Now())); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.createLeaderService(ctx, job, child); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.convergeAutoscaler(ctx, job)
}

// refuseChange fails a job that means nothing, or leaves a job that runs as it is, also if Kubeflow's operator made its pods. A job that Kueue or a
// user suspends does not run on.
func (r *reconciler) refuseChange(ctx context.Context, job *Job, child *v1alpha1.TrainingJob, why error) (ctrl.Result, error) {
	if child == nil {
		pods, err := r.pods(ctx, job)
		if err != nil {
			return ctrl.Result{}, err
		}
		if len(pods) == 0 {
			return ctrl.Result{}, r.refuse(ctx, job, why.Error())
		}
	}
	return ctrl.Result{RequeueAfter: AskAgain}, r.RefuseChange(ctx, job, child, why)
}

// isBlocked returns how long the job waits for pods that no TrainingJob owns, or for a name that another TrainingJob holds; 0 if for neither.
func (r *reconciler) isBlocked(ctx context.Context, job *Job, child *v1alpha1.TrainingJob, served *Served) (time.Duration, error) {
	if child == nil {
		return r.inherit(ctx, job, served)
	}
	holder, wait, err := r.Holder(ctx, job, child, served)
	if holder != "" {
		err = r.record(ctx, job, job.Stall("NameConflict", holder+" has this name: give one of them another name.", r.Clock.Now()))
	}
	return wait, err
}

package kubeflow

import (
	"context"
	"fmt"
	"reflect"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
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
	"github.com/trainingjob/operator/pkg/state"
)

// fieldOwner names this package in the managed fields of the TrainingJobs that it makes.
const fieldOwner = client.FieldOwner("trainingjob-operator-kubeflow")

// askAgain is how long to wait for what makes no event: another object that holds a name, pods of Kubeflow's operator.
const askAgain = 15 * time.Second

// retryConflict is how long to wait for the cache when another client wrote the job first.
const retryConflict = 200 * time.Millisecond

// reconciler serves the jobs of one kind.
type reconciler struct {
	kind   Kind
	client client.Client
	live   client.Reader
	events events.EventRecorder
	clock  clock.PassiveClock
	counts *counters
}

// Reconcile makes the TrainingJob of a Kubeflow job, and mirrors its status. After a conflict it tries again without an error.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	result, err := r.reconcile(ctx, req)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: retryConflict}, nil
	}
	return result, err
}

func (r *reconciler) reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	source := &unstructured.Unstructured{}
	source.SetGroupVersionKind(r.kind.GroupVersionKind())
	if err := r.client.Get(ctx, req.NamespacedName, source); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	job, err := Read(r.kind, source)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !job.DeletionTimestamp.IsZero() || job.isManagedElsewhere() {
		return ctrl.Result{}, nil
	}
	if job.Status.isFinished() {
		if wait, err := r.deleteExpired(ctx, job); wait != 0 || err != nil {
			return ctrl.Result{RequeueAfter: wait}, err
		}
	}
	return r.serve(ctx, job)
}

// serve brings the children of the job up to date, and then its status.
func (r *reconciler) serve(ctx context.Context, job *Job) (ctrl.Result, error) {
	child, err := r.child(ctx, job)
	if err != nil {
		return ctrl.Result{}, err
	}
	if child == nil && job.Status.isFinished() { // it finished under Kubeflow's operator, or its TrainingJob was deleted
		return ctrl.Result{}, nil
	}
	served, err := job.Serve()
	if err != nil {
		return r.refuseChange(ctx, job, child, err)
	}
	if wait, err := r.isBlocked(ctx, job, child); wait || err != nil {
		return ctrl.Result{RequeueAfter: askAgain}, err
	}
	if child, err = r.converge(ctx, job, child, served); err != nil {
		if apierrors.IsInvalid(err) && child == nil {
			return ctrl.Result{}, r.refuse(ctx, job, err.Error())
		}
		return ctrl.Result{}, err
	}
	if err := r.convergeServices(ctx, job, child); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.convergeAutoscaler(ctx, job); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.record(ctx, job, job.Mirror(child, served.Roles, r.clock.Now()))
}

// refuseChange fails a job that means nothing, or leaves a job that runs as it is.
func (r *reconciler) refuseChange(ctx context.Context, job *Job, child *v1alpha1.TrainingJob, why error) (ctrl.Result, error) {
	if child == nil {
		return ctrl.Result{}, r.refuse(ctx, job, why.Error())
	}
	r.warn(job, "ChangeRefused", why.Error())
	return ctrl.Result{RequeueAfter: askAgain}, nil
}

// isBlocked reports whether the job waits for pods of Kubeflow's operator, or for a name that another TrainingJob holds.
func (r *reconciler) isBlocked(ctx context.Context, job *Job, child *v1alpha1.TrainingJob) (bool, error) {
	switch {
	case child == nil:
		return r.podsOfKubeflow(ctx, job)
	case !metav1.IsControlledBy(child, job):
		r.warn(job, "NameConflict", fmt.Sprintf("TrainingJob %s exists and does not belong to this %s: delete it, or give the job another name.", child.Name, r.kind.Name))
		return true, nil
	default:
		return false, nil
	}
}

// child returns the TrainingJob of the job's name; nil if there is none.
func (r *reconciler) child(ctx context.Context, job *Job) (*v1alpha1.TrainingJob, error) {
	child := &v1alpha1.TrainingJob{}
	err := r.client.Get(ctx, job.key(), child)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the TrainingJob: %w", err)
	}
	return child, nil
}

// converge creates the TrainingJob or applies what has changed in the job. A change that only a suspended TrainingJob may have waits for the
// suspension: suspend goes first.
func (r *reconciler) converge(ctx context.Context, job *Job, child *v1alpha1.TrainingJob, served *Served) (*v1alpha1.TrainingJob, error) {
	want := served.Child
	switch {
	case child == nil:
		if err := r.apply(ctx, want); err != nil {
			return nil, fmt.Errorf("creating the TrainingJob: %w", err)
		}
		r.note(job, served)
		return want, nil
	case job.Status.isFinished():
		return child, nil
	case want.Spec.IsSuspended() && !child.Spec.IsSuspended():
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"suspend":true}}`))
		if err := r.client.Patch(ctx, child.DeepCopy(), patch, fieldOwner); err != nil {
			return child, fmt.Errorf("suspending the TrainingJob: %w", err)
		}
		return child, nil
	case child.Annotations[annotationSource] == want.Annotations[annotationSource] && want.Spec.IsSuspended() == child.Spec.IsSuspended():
		return child, nil
	}
	err := r.apply(ctx, want)
	if apierrors.IsInvalid(err) { // the job runs on as it is
		r.warn(job, "ChangeRefused", err.Error())
		return child, nil
	}
	return child, err
}

// apply applies the TrainingJob.
func (r *reconciler) apply(ctx context.Context, child *v1alpha1.TrainingJob) error {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(child)
	if err != nil {
		return fmt.Errorf("writing the TrainingJob as an object: %w", err)
	}
	unstructured.RemoveNestedField(object, "status")
	unstructured.RemoveNestedField(object, "metadata", "creationTimestamp")
	applied := &unstructured.Unstructured{Object: object}
	if err := r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), fieldOwner, client.ForceOwnership, client.DisableReadYourWritesConsistency); err != nil {
		return err
	}
	child.UID = applied.GetUID()
	return nil
}

// podsOfKubeflow reports whether pods of the job exist that Kubeflow's operator made: the job ends as it began.
func (r *reconciler) podsOfKubeflow(ctx context.Context, job *Job) (bool, error) {
	var pods corev1.PodList
	err := r.live.List(ctx, &pods, client.InNamespace(job.Namespace), client.MatchingLabels{v1alpha1.KubeflowLabelJobName: job.Name}, client.Limit(500))
	if err != nil {
		return false, fmt.Errorf("looking for pods of Kubeflow's operator: %w", err)
	}
	for i := range pods.Items {
		if metav1.IsControlledBy(&pods.Items[i], job) && state.OwnerOf(&pods.Items[i]) == nil {
			return true, nil
		}
	}
	return false, nil
}

// convergeServices creates the Services of the replicas that are missing and deletes those that are not wanted.
func (r *reconciler) convergeServices(ctx context.Context, job *Job, child *v1alpha1.TrainingJob) error {
	if job.Status.isFinished() || child.UID == "" {
		return nil
	}
	var existing corev1.ServiceList
	if err := r.client.List(ctx, &existing, client.InNamespace(job.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing Services: %w", err)
	}
	unwanted := map[string]*corev1.Service{}
	for i := range existing.Items {
		own := &existing.Items[i]
		if ref := state.OwnerOf(own); ref != nil && ref.UID == child.UID && own.Name != child.Name && own.DeletionTimestamp.IsZero() {
			unwanted[own.Name] = own
		}
	}
	for _, service := range job.services(child) {
		if unwanted[service.Name] != nil {
			delete(unwanted, service.Name)
			continue
		}
		if err := r.client.Create(ctx, service, fieldOwner); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating Service %s: %w", service.Name, err)
		}
	}
	for name, own := range unwanted {
		if err := r.client.Delete(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: own.Namespace, Name: name}}, client.Preconditions{UID: &own.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting Service %s: %w", name, err)
		}
	}
	return nil
}

// convergeAutoscaler creates or deletes the job's autoscaler.
func (r *reconciler) convergeAutoscaler(ctx context.Context, job *Job) error {
	if !job.wantsAutoscaler() {
		return nil
	}
	want := job.autoscaler()
	is := &autoscalingv2.HorizontalPodAutoscaler{}
	err := r.live.Get(ctx, job.key(), is)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("reading the autoscaler: %w", err)
	case err != nil && want != nil:
		if err := r.client.Create(ctx, want, fieldOwner, client.DisableReadYourWritesConsistency); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating the autoscaler: %w", err)
		}
	case err == nil && want == nil && metav1.IsControlledBy(is, job):
		if err := r.client.Delete(ctx, is, client.DisableReadYourWritesConsistency); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting the autoscaler: %w", err)
		}
	}
	return nil
}

// deleteExpired deletes a finished job when its time to live is over. It returns how long that takes yet; 0 if the job stays.
func (r *reconciler) deleteExpired(ctx context.Context, job *Job) (time.Duration, error) {
	ttl, end := job.Spec.RunPolicy.TTLSecondsAfterFinished, job.Status.CompletionTime
	if ttl == nil || end == nil {
		return 0, nil
	}
	if left := end.Add(time.Duration(*ttl) * time.Second).Sub(r.clock.Now()); left > 0 {
		return left, nil
	}
	uid := job.UID
	err := r.client.Delete(ctx, job.source, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	return askAgain, client.IgnoreNotFound(err)
}

// refuse records that the job cannot be served.
func (r *reconciler) refuse(ctx context.Context, job *Job, why string) error {
	return r.record(ctx, job, job.Refuse(why, r.clock.Now()))
}

// record writes the status and emits an Event for each condition that is new.
func (r *reconciler) record(ctx context.Context, job *Job, next Status) error {
	if reflect.DeepEqual(job.Status, next) {
		return nil
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&next)
	if err != nil {
		return fmt.Errorf("writing the status as an object: %w", err)
	}
	updated := job.source.DeepCopy()
	updated.Object["status"] = object
	if err := r.client.Status().Update(ctx, updated); apierrors.IsNotFound(err) { // the job was deleted meanwhile
		return nil
	} else if err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	r.counts.record(job, &next)
	for _, c := range next.Conditions {
		if known := job.Status.condition(c.Type); known != nil && known.Status == c.Status && known.Reason == c.Reason {
			continue
		}
		kind := corev1.EventTypeNormal
		if c.Type == Failed || c.Type == Restarting {
			kind = corev1.EventTypeWarning
		}
		r.events.Eventf(job.source, nil, kind, c.Reason, c.Type, "%s", c.Message)
	}
	return nil
}

// note emits one Event with what does not hold as it did under Kubeflow's operator.
func (r *reconciler) note(job *Job, served *Served) {
	changed := served.changes()
	if changed == "" {
		return
	}
	r.events.Eventf(job.source, nil, corev1.EventTypeNormal, "Converted", "Converted", "%s", changed)
}

func (r *reconciler) warn(job *Job, reason, message string) {
	r.events.Eventf(job.source, nil, corev1.EventTypeWarning, reason, reason, "%s", state.Cut(message, state.MaxMessage))
}

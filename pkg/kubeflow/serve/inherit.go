package serve

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/operator/reconcile"
)

// whileGoing is how long to wait for pods that were deleted.
const whileGoing = 2 * time.Second

// inherit acts on the pods of a job that no TrainingJob owns. It returns how long to wait; 0 once none is left and a TrainingJob may begin.
func (r *reconciler) inherit(ctx context.Context, job *Job, served *Served) (time.Duration, error) {
	pods, err := r.pods(ctx, job)
	if err != nil {
		return 0, err
	}
	if isUnseen, err := r.isUnseen(ctx, job, pods); isUnseen || err != nil {
		return reconcile.RetryConflict, err
	}
	if len(pods) == 0 {
		return r.clearWay(ctx, job)
	}
	inherited := job.inherit(served, pods, r.Clock.Now())
	fate, why := inherited.fate()
	if err := r.record(ctx, job, inherited.status(fate, why)); err != nil {
		return 0, err
	}
	switch {
	case fate == replace:
		return whileGoing, r.deletePods(ctx, pods, v1alpha1.CleanAll)
	case slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return !pod.DeletionTimestamp.IsZero() }):
		return whileGoing, nil
	default:
		return AskAgain, nil
	}
}

// clearWay waits for a controller that wrote the status a moment ago, and then deletes the Services that the TrainingJob's would have to replace.
func (r *reconciler) clearWay(ctx context.Context, job *Job) (time.Duration, error) {
	if len(job.Status.Conditions) == 0 {
		return 0, nil
	}
	if _, last := job.otherWriter(); !job.IsSuspended() && r.Clock.Since(last) < quiet {
		return AskAgain, nil
	}
	return 0, r.deleteServices(ctx, job)
}

// cleanUp deletes what a job's cleanPodPolicy names after the job has finished without a TrainingJob.
func (r *reconciler) cleanUp(ctx context.Context, job *Job, served *Served) error {
	if served == nil || served.Child.Spec.RunPolicy.CleanPodPolicy == v1alpha1.CleanNone {
		return nil
	}
	pods, err := r.pods(ctx, job)
	if err != nil {
		return err
	}
	if err := r.deletePods(ctx, pods, served.Child.Spec.RunPolicy.CleanPodPolicy); err != nil {
		return err
	}
	return r.deleteServices(ctx, job)
}

// podsAtOnce is how many pods are read at once. Any user of the namespace may give large ones the label of the job.
const podsAtOnce = 100

// pods returns the pods that the job controls, without their specs.
func (r *reconciler) pods(ctx context.Context, job *Job) ([]corev1.Pod, error) {
	var own []corev1.Pod
	for next := ""; ; {
		var page corev1.PodList
		err := r.Live.List(ctx, &page, client.InNamespace(job.Namespace), client.MatchingLabels{v1alpha1.KubeflowLabelJobName: job.Name},
			client.Limit(podsAtOnce), client.Continue(next))
		if err != nil {
			return nil, fmt.Errorf("listing the pods of the job: %w", err)
		}
		for i := range page.Items {
			if pod := &page.Items[i]; metav1.IsControlledBy(pod, job) {
				pod.Spec, pod.Annotations, pod.ManagedFields = corev1.PodSpec{}, nil, nil
				own = append(own, *pod)
			}
		}
		if next = page.Continue; next == "" {
			return own, nil
		}
	}
}

// isUnseen reports whether the TrainingJob of the job exists and the cache does not have it yet.
func (r *reconciler) isUnseen(ctx context.Context, job *Job, pods []corev1.Pod) (bool, error) {
	if len(pods) == 0 && len(job.Status.Conditions) == 0 { // the job is new
		return false, nil
	}
	err := r.Live.Get(ctx, keyOf(job), &v1alpha1.TrainingJob{})
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading the TrainingJob: %w", err)
	}
	return err == nil, nil
}

func (r *reconciler) deletePods(ctx context.Context, pods []corev1.Pod, policy v1alpha1.CleanPodPolicy) error {
	for i := range pods {
		pod := &pods[i]
		hasEnded := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if !pod.DeletionTimestamp.IsZero() || hasEnded && policy == v1alpha1.CleanRunning {
			continue
		}
		if err := r.deleteUncached(ctx, pod); err != nil {
			return fmt.Errorf("deleting pod %s: %w", pod.Name, err)
		}
	}
	return nil
}

// deleteUncached deletes an object that Kubeflow's operator may have created. The cache does not hold it then, and later reads must not wait
// until the cache shows that it is gone.
func (r *reconciler) deleteUncached(ctx context.Context, o client.Object) error {
	uid := o.GetUID()
	return client.IgnoreNotFound(r.Client.Delete(ctx, o, client.Preconditions{UID: &uid}, client.DisableReadYourWritesConsistency))
}

// deleteServices deletes the Services that the job controls.
func (r *reconciler) deleteServices(ctx context.Context, job *Job) error {
	var services corev1.ServiceList
	if err := r.Live.List(ctx, &services, client.InNamespace(job.Namespace), client.MatchingLabels{v1alpha1.KubeflowLabelJobName: job.Name}); err != nil {
		return fmt.Errorf("listing the Services of the job: %w", err)
	}
	for i := range services.Items {
		own := &services.Items[i]
		if !metav1.IsControlledBy(own, job) {
			continue
		}
		if err := r.deleteUncached(ctx, own); err != nil {
			return fmt.Errorf("deleting Service %s: %w", own.Name, err)
		}
	}
	return nil
}

// rival returns the name of another client that has written the job's status since the TrainingJob began; empty for none. After the end of the
// TrainingJob a write does no harm.
func (j *Job) rival(child *v1alpha1.TrainingJob) string {
	if child == nil || !metav1.IsControlledBy(child, j) || meta.IsStatusConditionTrue(child.Status.Conditions, v1alpha1.ConditionFinished) {
		return ""
	}
	if manager, at := j.otherWriter(); at.After(child.CreationTimestamp.Time) {
		return manager
	}
	return ""
}

// stepBack leaves the job to another controller: it deletes the TrainingJob, and the pods stay, because the Kubeflow job controls them.
func (r *reconciler) stepBack(ctx context.Context, job *Job, child *v1alpha1.TrainingJob, other string) error {
	err := r.Client.Delete(ctx, child, client.Preconditions{UID: &child.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // by an earlier pass
		return nil
	}
	if err != nil {
		return fmt.Errorf("stepping back from the job: %w", err)
	}
	r.counts.steppedBack.WithLabelValues(job.Namespace, job.kind.label()).Inc()
	r.Warn(job, "SteppedBack", fmt.Sprintf("%s also writes the status of this job, so this operator leaves the job and its pods alone. "+
		"End one of the two operators. This one goes on when a pod of the job fails, or when the job is suspended.", other))
	return nil
}

package serve

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/operator/cluster"
)

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
	if err := r.client.Status().Update(ctx, updated, fieldOwner); apierrors.IsNotFound(err) { // the job was deleted meanwhile
		return nil
	} else if err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	r.counts.record(job, &next)
	for _, c := range next.Conditions {
		known := job.Status.condition(c.Type)
		if known != nil && known.Reason == c.Reason && (known.Status == c.Status || c.Status == corev1.ConditionFalse) { // the job runs no longer: its end is the news
			continue
		}
		kind := corev1.EventTypeNormal
		if c.Type == Failed || c.Type == Restarting || c.Type == Stalled {
			kind = corev1.EventTypeWarning
		}
		r.emit(job, kind, c.Reason, c.Type, c.Message)
	}
	return nil
}

// note emits one Event with what does not hold as it did under Kubeflow's operator.
func (r *reconciler) note(job *Job, served *Served) {
	if changed := served.changes(); changed != "" {
		r.emit(job, corev1.EventTypeNormal, "Converted", "Converted", changed)
	}
}

func (r *reconciler) warn(job *Job, reason, message string) {
	r.emit(job, corev1.EventTypeWarning, reason, reason, message)
}

// warnOfRefusal emits an Event if the API server has refused what the operator writes for the job: its user sees no TrainingJob, or no Service.
func (r *reconciler) warnOfRefusal(job *Job, err error) {
	if reason, message := cluster.Refusal(err); reason != "" {
		action, _, _ := strings.Cut(message, ":") // it distinguishes Events with one reason
		r.emit(job, corev1.EventTypeWarning, reason, action, message)
	}
}

// emit emits an Event of at most as many bytes as the API server takes.
func (r *reconciler) emit(job *Job, kind, reason, action, message string) {
	r.events.Eventf(job.source, nil, kind, reason, action, "%s", state.KeepBeginning(message))
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

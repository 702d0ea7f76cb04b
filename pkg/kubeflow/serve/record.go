package serve

import (
	"context"
	"reflect"

	corev1 "k8s.io/api/core/v1"
)

// refuse records that the job cannot be served.
func (r *reconciler) refuse(ctx context.Context, job *Job, why string) error {
	return r.record(ctx, job, job.Refuse(why, r.Clock.Now()))
}

// record writes the status and emits an Event for each condition that is new.
func (r *reconciler) record(ctx context.Context, job *Job, next Status) error {
	if reflect.DeepEqual(job.Status, next) {
		return nil
	}
	if isWritten, err := r.WriteStatus(ctx, job, &next); err != nil || !isWritten {
		return err
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
		r.Emit(job, kind, c.Reason, c.Type, c.Message)
	}
	return nil
}

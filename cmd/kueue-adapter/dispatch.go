package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/workload"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// MultiKueue runs a dispatched job in a worker cluster, by a copy without a status, and copies the status of that back. No operator looks at
// the job in this cluster, the manager. So while the job is in no worker cluster, the adapter does here what the operator would do: it
// shows that the job waits, and keeps what it has counted for the next worker cluster.

// dispatchedEndsWithin is how long after the eviction of a dispatched job its status in the worker cluster is believed, beyond the time that
// its pods have. A cluster that is lost reports no end of pods.
const dispatchedEndsWithin = time.Minute

// recheckDispatched is how often a dispatched job is looked at whose pods have not ended.
const recheckDispatched = 10 * time.Second

// lookDispatched handles one job that MultiKueue runs. The Workload of a paused job is deactivated at once, as nothing else ends its pods.
func (q *quotas) lookDispatched(ctx context.Context, j *trainingJob, all []kueue.Workload) (wrote bool, err error) {
	now := time.Now()
	isAway := j.IsSuspended() && !j.isFinished() && !isInCluster(all) && (!j.IsActive() || !now.Before(endsBy(j, all, now)))
	if isAway {
		if wrote, err := q.change(ctx, j, j.carry); wrote || err != nil { // it may have restarted since the write that suspended it
			return wrote, err
		}
	}
	if isAway && !j.isPaused() {
		if wrote, err := q.endFormer(ctx, j, all); wrote || err != nil {
			return wrote, err
		}
	}
	if err := q.activateAll(ctx, j, all); err != nil || !isAway {
		return false, err
	}
	return q.showWait(ctx, j, now)
}

// endFormer deletes the Workload of an earlier dispatch; Kueue's controller makes the next one. A worker cluster that was lost and returns has a
// copy of the Workload, admitted before any other. Of equal Workloads MultiKueue would choose that, and end the job where it runs.
func (q *quotas) endFormer(ctx context.Context, j *trainingJob, all []kueue.Workload) (wrote bool, err error) {
	for i := range all {
		w := &all[i]
		if w.Spec.PodSets[0].Template.Name == j.dispatchName() || !w.DeletionTimestamp.IsZero() {
			continue
		}
		if _, err := workload.Delete(ctx, q.client, w); client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("deleting Workload %s of an earlier dispatch: %w", w.Name, err)
		}
		wrote = true
	}
	return wrote, nil
}

// dispatchName returns the name of the templates in the job's Workload, which distinguishes its dispatches: the last attempt in another
// cluster. It is empty for a job that no cluster has run.
//
// A job that runs keeps its Workload as long as the name stays. So the name of an unreadable status, such as one that a former version wrote, is
// in its beginning.
func (j *trainingJob) dispatchName() string {
	text, attempt := j.Annotations[v1alpha1.AnnotationCarriedStatus], int32(0)
	if carried, err := state.ParseCarried(text, time.Now()); carried != nil {
		attempt = carried.Attempt
	} else if _, unknown := fmt.Sscanf(text, `{"replicas":0,"readyReplicas":0,"attempt":%d,`, &attempt); err == nil || unknown != nil {
		return ""
	}
	return fmt.Sprintf("after-attempt-%d", attempt)
}

// carry keeps in an annotation what a dispatched job has counted, for its next worker cluster. It is part of the write that suspends the job:
// from then on, MultiKueue may make a new copy of the job, and return the status of that copy.
func (j *trainingJob) carry() {
	former, err := state.ParseCarried(j.Annotations[v1alpha1.AnnotationCarriedStatus], time.Now())
	if !j.Spec.IsDispatched() || err == nil && former != nil && j.hasOnlyWaited() {
		return
	}
	switch carried, err := state.CarriedStatus((*v1alpha1.TrainingJob)(j), time.Now()); {
	case err != nil:
	case carried == "":
		delete(j.Annotations, v1alpha1.AnnotationCarriedStatus)
	default:
		metav1.SetMetaDataAnnotation(&j.ObjectMeta, v1alpha1.AnnotationCarriedStatus, carried)
	}
}

// hasOnlyWaited reports whether the status is of a copy that has waited in the queue of its cluster since it began. It counts the next attempt from
// its beginning on, and nothing of that attempt has run. Kueue can make such a copy for a moment while the job leaves another cluster.
func (j *trainingJob) hasOnlyWaited() bool {
	began := meta.FindStatusCondition(j.Status.Conditions, v1alpha1.ConditionCreated)
	waits := meta.FindStatusCondition(j.Status.Conditions, v1alpha1.ConditionSuspended)
	return began != nil && waits != nil && waits.Status == metav1.ConditionTrue && waits.LastTransitionTime.Equal(&began.LastTransitionTime)
}

// isInCluster reports whether a worker cluster runs the job.
func isInCluster(all []kueue.Workload) bool {
	for i := range all {
		if all[i].Status.ClusterName != nil {
			return true
		}
	}
	return false
}

// endsBy returns when the pods of an evicted job have ended, or their cluster is lost; zero if the job has no Workload, so that MultiKueue
// copies no status any more.
func endsBy(j *trainingJob, all []kueue.Workload, now time.Time) time.Time {
	var latest time.Time
	for i := range all {
		evicted := meta.FindStatusCondition(all[i].Status.Conditions, kueue.WorkloadEvicted)
		switch {
		case !all[i].DeletionTimestamp.IsZero():
		case evicted == nil || evicted.Status != metav1.ConditionTrue:
			return now.Add(dispatchedEndsWithin)
		default:
			latest = state.Latest(latest, evicted.LastTransitionTime.Add(j.graceOfPods()+dispatchedEndsWithin))
		}
	}
	return latest
}

// graceOfPods returns how long the job's pods may take to end once the job is suspended.
func (j *trainingJob) graceOfPods() time.Duration {
	seconds := int64(0)
	for _, role := range j.roles() {
		seconds = max(seconds, ptr.Deref(j.Spec.ReplicaSpecs[role].Template.Spec.TerminationGracePeriodSeconds, 30))
	}
	if j.Spec.Progress != nil {
		seconds += int64(j.Spec.Progress.CheckpointGraceSeconds)
	}
	return time.Duration(seconds) * time.Second
}

// showWait writes the status of a job that waits in its queue and has no pods, as the operator gives it.
func (q *quotas) showWait(ctx context.Context, j *trainingJob, now time.Time) (wrote bool, err error) {
	before := (*v1alpha1.TrainingJob)(j).DeepCopy()
	j.setWaiting(now)
	if equality.Semantic.DeepEqual(&before.Status, &j.Status) {
		return false, nil
	}
	err = q.client.Status().Patch(ctx, j.Object(), client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	return err == nil, client.IgnoreNotFound(err)
}

func (j *trainingJob) setWaiting(now time.Time) {
	carried, err := state.ParseCarried(j.Annotations[v1alpha1.AnnotationCarriedStatus], now)
	if err == nil && carried != nil && j.Status.StartTime == nil { // the status is of a copy that has not started
		j.Status = *carried
	}
	status, message := &j.Status, state.WhyQueued((*v1alpha1.TrainingJob)(j))
	status.RunningSeconds = int64(state.RunningFor(status, now).Seconds())
	for _, c := range []metav1.Condition{
		{Type: v1alpha1.ConditionCreated, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonJobCreated, Message: "Kueue's adapter has accepted the job."},
		{Type: v1alpha1.ConditionSuspended, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonQueued, Message: message},
		{Type: v1alpha1.ConditionQueued, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonQueued, Message: message},
	} {
		meta.SetStatusCondition(&status.Conditions, c)
	}
	for _, under := range []string{v1alpha1.ConditionRunning, v1alpha1.ConditionRestarting, v1alpha1.ConditionScheduled, v1alpha1.ConditionProgressing} {
		if meta.IsStatusConditionTrue(status.Conditions, under) {
			meta.SetStatusCondition(&status.Conditions, metav1.Condition{
				Type: under, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonQueued, Message: "No cluster runs the job."})
		}
	}
	status.Phase, status.Reason, status.Message = v1alpha1.PhaseQueued, v1alpha1.ReasonQueued, message
	status.Ready, status.ReadyReplicas = "-", 0
	for role, s := range status.ReplicaStatuses {
		s.Active, s.Ready = 0, 0
		status.ReplicaStatuses[role] = s
	}
}

// clusterOf returns the name of the worker cluster in which a Workload runs; empty for none.
func clusterOf(w *kueue.Workload) string {
	if workload.IsAdmitted(w) {
		return ptr.Deref(w.Status.ClusterName, "")
	}
	return ""
}

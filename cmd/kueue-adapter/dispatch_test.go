package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/workload"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// dispatched makes MultiKueue the controller of a job that ran as attempt 3 in a worker cluster.
func dispatched(j *v1alpha1.TrainingJob) {
	j.Spec.ManagedBy, j.Finalizers = v1alpha1.MultiKueue, nil
	j.Status.Phase, j.Status.Attempt, j.Status.Restarts, j.Status.ObservedGeneration = v1alpha1.PhaseRunning, 3, 4, 77
	j.Status.StartTime = &metav1.Time{Time: time.Now().Add(-time.Hour)}
	meta.SetStatusCondition(&j.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionRunning, Status: metav1.ConditionTrue, Reason: "AllReplicasRunning"})
}

// all makes several changes.
func all(changes ...change) change {
	return func(j *v1alpha1.TrainingJob) {
		for _, change := range changes {
			change(j)
		}
	}
}

// patchWhole patches the status, which is no subresource in these tests.
//
//nolint:revive // the interceptor of controller-runtime has as many arguments
func patchWhole(ctx context.Context, c client.Client, _ string, o client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	return c.Patch(ctx, o, patch)
}

// evicted says that Kueue has evicted the Workload so long ago.
func evicted(w *kueue.Workload, ago time.Duration) {
	meta.SetStatusCondition(&w.Status.Conditions, metav1.Condition{Type: kueue.WorkloadEvicted, Status: metav1.ConditionTrue, Reason: "AdmissionCheck",
		LastTransitionTime: metav1.NewTime(time.Now().Add(-ago))})
}

func TestADispatchedJobGetsAWorkloadAndNoFinalizer(t *testing.T) {
	job, _ := admitted(t, dispatched)
	if (*trainingJob)(job).Skip(t.Context()) {
		t.Error("Kueue's controller skips it")
	}
	job.Spec.Suspend, job.Finalizers = ptr.To(true), nil
	j := (*trainingJob)(job)
	if err := j.RunWithPodSetsInfo(t.Context(), nil, nil); err == nil || len(job.Finalizers) > 0 {
		t.Errorf("finalizers %v, error %v", job.Finalizers, err)
	}
}

// Its status is of the worker cluster as long as that reports, and says that it waits when none runs it.
func TestADispatchedJobInNoClusterSaysSoAndKeepsItsCounts(t *testing.T) {
	for name, c := range map[string]struct {
		change       change
		workload     func(*kueue.Workload)
		saysItWaits  bool
		wantInactive bool
	}{
		"it runs in a worker cluster":                      {running(4), func(w *kueue.Workload) { w.Status.ClusterName = ptr.To("c") }, false, false},
		"it was evicted, and its pods are ending":          {all(stopped, running(4)), func(w *kueue.Workload) { evicted(w, time.Second) }, false, false},
		"it was evicted, and its pods have ended":          {all(stopped, running(0)), func(w *kueue.Workload) { evicted(w, time.Second) }, true, false},
		"it was evicted, and its cluster reports no more":  {all(stopped, running(4)), func(w *kueue.Workload) { evicted(w, time.Hour) }, true, false},
		"a user has suspended it, and its pods are ending": {all(suspended, paused, running(4)), func(*kueue.Workload) {}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			job, w := admitted(t, dispatched, c.change)
			c.workload(w)
			api := cluster(t, interceptor.Funcs{SubResourcePatch: patchWhole}, job, w)
			job, w = after(t, api, job)
			if says := job.Status.Phase == v1alpha1.PhaseQueued; says != c.saysItWaits {
				t.Errorf("phase %s", job.Status.Phase)
			}
			if (*trainingJob)(job).IsActive() && c.saysItWaits {
				t.Errorf("it waits, and has pods: %v", job.Status.ReplicaStatuses)
			}
			if job.Status.Attempt != 3 || job.Status.Restarts != 4 {
				t.Errorf("attempt %d, %d restarts", job.Status.Attempt, job.Status.Restarts)
			}
			if w != nil && workload.IsActive(w) == c.wantInactive { // the Workload of a cluster that has let the job go is deleted
				t.Errorf("the Workload is active: %v", workload.IsActive(w))
			}
		})
	}
}

// The write that suspends it carries its counts: MultiKueue may copy the status of a new copy a moment later.
func TestADispatchedJobCarriesItsCountsFromItsSuspension(t *testing.T) {
	for name, c := range map[string]struct {
		change change
		stop   bool
	}{
		"Kueue stops it":   {running(4), true},
		"a user pauses it": {all(paused, running(4)), false},
	} {
		t.Run(name, func(t *testing.T) {
			job, w := admitted(t, dispatched, c.change)
			evicted(w, time.Second)
			api := cluster(t, interceptor.Funcs{SubResourcePatch: patchWhole}, job, w)
			if c.stop {
				if _, err := (*trainingJob)(job).Stop(t.Context(), api, nil, jobframework.StopReasonWorkloadEvicted, ""); err != nil {
					t.Fatal(err)
				}
			}
			job, _ = after(t, api, job)
			if carried := job.Annotations[v1alpha1.AnnotationCarriedStatus]; !job.Spec.IsSuspended() || !strings.Contains(carried, `"attempt":3`) {
				t.Fatalf("suspended %v, carries %q", job.Spec.IsSuspended(), carried)
			}
			job.Status = v1alpha1.TrainingJobStatus{Phase: v1alpha1.PhaseQueued}
			if err := api.Update(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			if job, _ = after(t, api, job); job.Status.Restarts != 4 || job.Status.Attempt != 3 || job.Status.Phase != v1alpha1.PhaseQueued {
				t.Errorf("once a new copy has given it a status: attempt %d, %d restarts, %s", job.Status.Attempt, job.Status.Restarts, job.Status.Phase)
			}
		})
	}
}

// A lost worker cluster that returns must not win over the cluster that runs the job now: its Workload differs from the present one.
func TestADispatchedJobGetsAnotherWorkloadForEachDispatch(t *testing.T) {
	job, w := admitted(t, dispatched, running(4))
	evicted(w, time.Hour)
	api := cluster(t, interceptor.Funcs{SubResourcePatch: patchWhole}, job, w)
	if _, err := (*trainingJob)(job).Stop(t.Context(), api, nil, jobframework.StopReasonWorkloadEvicted, ""); err != nil {
		t.Fatal(err)
	}
	job, left := after(t, api, job)
	if left != nil && left.DeletionTimestamp.IsZero() {
		t.Fatal("the Workload of the earlier dispatch is there")
	}
	sets, err := (*trainingJob)(job).PodSets(t.Context(), nil)
	if err != nil || sets[0].Template.Name != "after-attempt-3" || w.Spec.PodSets[0].Template.Name != "" {
		t.Errorf("the next Workload's templates are called %q, the former's %q, error %v", sets[0].Template.Name, w.Spec.PodSets[0].Template.Name, err)
	}
}

// A former version carried up to 128 kB, with which a worker cluster now refuses the job. The job keeps its Workload while it runs.
func TestAStatusThatIsTooLongIsCarriedAnew(t *testing.T) {
	long := func(j *v1alpha1.TrainingJob) {
		j.Annotations = map[string]string{v1alpha1.AnnotationCarriedStatus: `{"replicas":0,"readyReplicas":0,"attempt":2,"restarts":3,"message":"` + strings.Repeat("x", 20_000) + `"}`}
	}
	job, _ := admitted(t, dispatched, running(4), long)
	if name := (*trainingJob)(job).dispatchName(); name != "after-attempt-2" {
		t.Errorf("while it runs, its templates are called %q", name)
	}
	job, w := admitted(t, dispatched, suspended, running(0), long)
	evicted(w, time.Hour)
	w.Spec.PodSets[0].Template.Name = "after-attempt-2"
	api := cluster(t, interceptor.Funcs{SubResourcePatch: patchWhole}, job, w)
	job, _ = after(t, api, job)
	carried, err := state.ParseCarried(job.Annotations[v1alpha1.AnnotationCarriedStatus], time.Now())
	if err != nil || carried == nil || carried.Attempt != 3 || carried.Restarts != 4 {
		t.Errorf("it carries %+v, error %v", carried, err)
	}
}

// The worker cluster restarts the job while its suspension is on the way there, or the manifest that suspends it has other templates.
func TestADispatchedJobCarriesItsLastAttemptFromAClusterThatHasLetItGo(t *testing.T) {
	const atSuspension = `{"replicas":0,"readyReplicas":0,"attempt":2,"restarts":2,"startTime":"2026-01-01T00:00:00Z"}`
	carried := func(text string) change {
		return func(j *v1alpha1.TrainingJob) {
			metav1.SetMetaDataAnnotation(&j.ObjectMeta, v1alpha1.AnnotationCarriedStatus, text)
		}
	}
	for name, c := range map[string]change{
		"Kueue stops it, and it restarts once more": all(stopped, carried(atSuspension)),
		"a user stops it, and it restarts":          all(stopped, paused, carried(atSuspension)),
		"GitOps replaces all of it":                 all(stopped, paused),
	} {
		t.Run(name, func(t *testing.T) {
			job, w := admitted(t, dispatched, c, running(0))
			evicted(w, time.Second)
			job, w = after(t, cluster(t, interceptor.Funcs{SubResourcePatch: patchWhole}, job, w), job)
			next, err := state.ParseCarried(job.Annotations[v1alpha1.AnnotationCarriedStatus], time.Now())
			if err != nil || next == nil || next.Attempt != 3 || next.Restarts != 4 {
				t.Errorf("it carries %+v, error %v; its last cluster ran attempt 3 after 4 restarts", next, err)
			}
			if got := (*trainingJob)(job).dispatchName(); got != "after-attempt-3" {
				t.Errorf("its next Workload's templates are called %q", got)
			}
			if w != nil && w.DeletionTimestamp.IsZero() && workload.IsActive(w) {
				t.Error("the Workload of the earlier dispatch is active")
			}
		})
	}
}

// While a job leaves its cluster, Kueue can make a copy in another one for a moment, and MultiKueue returns the status of that copy.
func TestADispatchedJobCarriesNoAttemptOfACopyThatHasOnlyWaited(t *testing.T) {
	const text = `{"replicas":0,"readyReplicas":0,"attempt":2,"restarts":4,"startTime":"2026-01-01T00:00:00Z"}`
	for name, c := range map[string]struct {
		resumed time.Duration
		attempt int32
	}{
		"it has only waited":            {0, 2},
		"it has run, and ended at once": {time.Second, 3},
	} {
		t.Run(name, func(t *testing.T) {
			began := metav1.NewTime(time.Now().Add(-time.Minute).Truncate(time.Second))
			copied := func(j *v1alpha1.TrainingJob) {
				metav1.SetMetaDataAnnotation(&j.ObjectMeta, v1alpha1.AnnotationCarriedStatus, text)
				j.Status.Conditions = []metav1.Condition{
					{Type: v1alpha1.ConditionCreated, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonJobCreated, LastTransitionTime: began},
					{Type: v1alpha1.ConditionSuspended, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonQueued, LastTransitionTime: metav1.NewTime(began.Add(c.resumed))},
				}
			}
			job, w := admitted(t, dispatched, all(stopped, paused), running(0), copied)
			evicted(w, time.Second)
			job, _ = after(t, cluster(t, interceptor.Funcs{SubResourcePatch: patchWhole}, job, w), job)
			if next, err := state.ParseCarried(job.Annotations[v1alpha1.AnnotationCarriedStatus], time.Now()); err != nil || next == nil || next.Attempt != c.attempt {
				t.Errorf("it carries %+v, error %v; the last attempt that ran is %d", next, err, c.attempt)
			}
		})
	}
}

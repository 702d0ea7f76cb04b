package main

import (
	"context"
	"errors"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/podset"
	"sigs.k8s.io/kueue/pkg/workload"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// admitted returns a job of four workers that runs with the Workload that Kueue has admitted.
func admitted(t *testing.T, changes ...change) (*v1alpha1.TrainingJob, *kueue.Workload) {
	t.Helper()
	job := waiting(replicas(v1alpha1.Worker, 4))
	job.Namespace, job.UID, job.Generation, job.Labels = "n", "u", 1, map[string]string{queue: "q"}
	j := (*trainingJob)(job)
	sets, err := j.PodSets(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "w", Finalizers: []string{kueue.ResourceInUseFinalizerName},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, gvk)}}, Spec: kueue.WorkloadSpec{PodSets: sets}}
	w.Status.Conditions = []metav1.Condition{{Type: kueue.WorkloadAdmitted, Status: metav1.ConditionTrue}}
	given := admission(4)
	given.Labels["kueue.x-k8s.io/podset"] = "worker"
	if err := j.RunWithPodSetsInfo(t.Context(), nil, []podset.PodSetInfo{given}); err != nil {
		t.Fatal(err)
	}
	job.Status.ObservedGeneration = 1
	for _, change := range changes {
		change(job)
	}
	return job, w
}

func running(n int32) change {
	return func(j *v1alpha1.TrainingJob) { pods(v1alpha1.Worker, v1alpha1.ReplicaStatus{Active: n})(j) }
}

func suspended(j *v1alpha1.TrainingJob) { j.Spec.Suspend = ptr.To(true) }

// stopped suspends the job with the user's templates, as Kueue does.
func stopped(j *v1alpha1.TrainingJob) {
	suspended(j)
	j.Spec.ReplicaSpecs[v1alpha1.Worker] = waiting(replicas(v1alpha1.Worker, 4)).Spec.ReplicaSpecs[v1alpha1.Worker]
}

// resized is on a job that an admission policy has suspended.
func resized(j *v1alpha1.TrainingJob) {
	suspended(j)
	metav1.SetMetaDataAnnotation(&j.ObjectMeta, v1alpha1.AnnotationQueueResized, "true")
}

func unlabelled(j *v1alpha1.TrainingJob) {
	j.Labels, j.Annotations = nil, map[string]string{v1alpha1.AnnotationQueueMessage: "4 more needed"}
}

func paused(j *v1alpha1.TrainingJob) {
	metav1.SetMetaDataAnnotation(&j.ObjectMeta, v1alpha1.AnnotationQueuePaused, "")
}

// cluster returns an API server with the objects.
func cluster(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) client.Client {
	t.Helper()
	owners := func(o client.Object) []string { return []string{ownerOf(o).Name} }
	return fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(objects...).WithInterceptorFuncs(funcs).
		WithIndex(&kueue.Workload{}, jobframework.OwnerReferenceIndexKey(gvk), owners).Build()
}

// after lets quotas look until it writes nothing more, and returns the job and its Workload, nil if it is gone.
func after(t *testing.T, api client.Client, job *v1alpha1.TrainingJob) (*v1alpha1.TrainingJob, *kueue.Workload) {
	t.Helper()
	q := &quotas{api}
	for wrote, n := true, 0; wrote; n++ {
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(job), job); err != nil {
			t.Fatal(err)
		}
		var err error
		if wrote, err = q.look(t.Context(), (*trainingJob)(job)); err != nil || n == 5 {
			t.Fatalf("look %d: %v", n, err)
		}
	}
	var w kueue.Workload
	if err := api.Get(t.Context(), client.ObjectKey{Namespace: "n", Name: "w"}, &w); err != nil {
		return job, nil
	}
	return job, &w
}

func TestAJobThatLeavesItsQueueGivesItsQuotaBackWhenItHasNoPods(t *testing.T) {
	finished := conditions(v1alpha1.ConditionSucceeded, v1alpha1.ConditionFinished)
	cases := []struct {
		name    string
		changes []change
		leaves  bool
	}{
		{"it waits", []change{suspended}, true},
		{"it has finished", []change{finished}, true},
		{"it has finished, and a pod outlives it", []change{finished, running(1)}, false},
		{"it runs", []change{running(4)}, false},
		{"its pods are ending", []change{suspended, running(4)}, false},
		{"the operator has not seen its start yet", []change{func(j *v1alpha1.TrainingJob) { j.Generation = 2 }}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			job, w := admitted(t, append(c.changes, unlabelled)...)
			job, w = after(t, cluster(t, interceptor.Funcs{}, job, w), job)
			if left := w == nil; left != c.leaves {
				t.Errorf("the Workload is gone: %v, want %v", left, c.leaves)
			}
			if left := len(job.Finalizers)+len(job.Annotations) == 0; left != c.leaves {
				t.Errorf("finalizers %v, annotations %v", job.Finalizers, job.Annotations)
			}
		})
	}
}

func TestAPausedJobGetsAnotherWorkloadForOneThatKueueHasGivenUp(t *testing.T) {
	evicted := func(reason string) metav1.Condition {
		return metav1.Condition{Type: kueue.WorkloadEvicted, Status: metav1.ConditionTrue, Reason: reason}
	}
	cases := []struct {
		name   string
		reason string
		change change
		isGone bool
	}{
		{"at the limit of requeues", "DeactivatedDueToRequeuingLimitExceeded", paused, true},
		{"at the limit of requeues, and not paused", "DeactivatedDueToRequeuingLimitExceeded", suspended, false},
		{"by an administrator", kueue.WorkloadDeactivated, paused, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, w := admitted(t)
			job := waiting(replicas(v1alpha1.Worker, 4), c.change)
			job.Namespace, job.UID, job.Labels = "n", "u", map[string]string{queue: "q"}
			w.Spec.Active, w.Status.Conditions = ptr.To(false), []metav1.Condition{evicted(c.reason)}
			_, w = after(t, cluster(t, interceptor.Funcs{}, job, w), job)
			if (w == nil) != c.isGone || w != nil && workload.IsActive(w) {
				t.Errorf("the Workload is %v, want it gone: %t", w, c.isGone)
			}
		})
	}
}

func TestAUsersSuspensionPausesTheJobUntilTheUserResumesIt(t *testing.T) {
	job, w := admitted(t, suspended, running(4))
	api := cluster(t, interceptor.Funcs{}, job, w)
	job, w = after(t, api, job)
	if !(*trainingJob)(job).isPaused() || (*trainingJob)(job).isStarted() || !job.Spec.IsSuspended() || !workload.IsActive(w) {
		t.Fatalf("after the suspension: annotations %v, Workload active %v: Kueue would give its quota away", job.Annotations, workload.IsActive(w))
	}
	running(0)(job)
	if err := api.Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if job, w = after(t, api, job); workload.IsActive(w) {
		t.Error("its pods are gone, and its Workload is active")
	}
	if err := (*trainingJob)(job).RunWithPodSetsInfo(t.Context(), nil, []podset.PodSetInfo{admission(4)}); !jobframework.IsUnretryableError(err) {
		t.Errorf("a late admission starts it: %v", err)
	}
	delete(job.Annotations, v1alpha1.AnnotationQueuePaused)
	if err := api.Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	job, w = after(t, api, job)
	if (*trainingJob)(job).isPaused() || !workload.IsActive(w) || len(w.Annotations) > 0 {
		t.Errorf("after it was resumed: annotations %v, Workload active %v", job.Annotations, workload.IsActive(w))
	}
}

func TestWhatIsPausedAndWhatIsNot(t *testing.T) {
	evicted := metav1.Condition{Type: kueue.WorkloadEvicted, Status: metav1.ConditionTrue}
	byKueue := func(w *kueue.Workload) { w.Spec.Active = ptr.To(false) }
	cases := []struct {
		name   string
		change []change
		kueue  func(*kueue.Workload)
		paused bool
		active bool
	}{
		{"it runs", []change{running(4)}, nil, false, true},
		{"it runs, and is paused", []change{running(4), paused}, nil, true, true},
		{"it waits, and is paused", []change{suspended, paused}, nil, true, false},
		{"it is preempted, and its templates could not be restored", []change{resized},
			func(w *kueue.Workload) { meta.SetStatusCondition(&w.Status.Conditions, evicted) }, false, true},
		{"a user suspends it, and Kueue preempts it", []change{suspended},
			func(w *kueue.Workload) { meta.SetStatusCondition(&w.Status.Conditions, evicted) }, true, false},
		{"it is suspended and resumed before the adapter has seen it", []change{resized}, nil, false, true},
		{"a former adapter let it wait with the templates of its admission", []change{suspended},
			func(w *kueue.Workload) { w.Status.Conditions = nil }, false, true},
		{"it has finished, and is suspended", []change{suspended, conditions(v1alpha1.ConditionFinished)}, nil, false, true},
		{"Kueue has deactivated its Workload", []change{running(4)}, byKueue, false, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			job, w := admitted(t, c.change...)
			if c.kueue != nil {
				c.kueue(w)
			}
			job, w = after(t, cluster(t, interceptor.Funcs{}, job, w), job)
			if (*trainingJob)(job).isPaused() && !job.Spec.IsSuspended() {
				t.Error("it is paused and not suspended")
			}
			if (*trainingJob)(job).isHalfStopped() || (*trainingJob)(job).isToRequeue() {
				t.Errorf("its admission is not taken back: annotations %v", job.Annotations)
			}
			if got := (*trainingJob)(job).isPaused(); got != c.paused || workload.IsActive(w) != c.active {
				t.Errorf("paused %v, Workload active %v; want %v, %v", got, workload.IsActive(w), c.paused, c.active)
			}
		})
	}
}

func TestAStartedJobHasTheFinalizerUntilItIsStoppedAndHasNoPods(t *testing.T) {
	bare := func(j *v1alpha1.TrainingJob) { j.Finalizers = nil }
	cases := []struct {
		name    string
		changes []change
		want    bool
	}{
		{"it runs", []change{running(4)}, true},
		{"an earlier adapter has started it", []change{running(4), bare}, true},
		{"it is stopped, and its pods are ending", []change{stopped, running(1)}, true},
		{"it is stopped, and has no pods", []change{stopped}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			job, w := admitted(t, c.changes...)
			job, _ = after(t, cluster(t, interceptor.Funcs{}, job, w), job)
			if got := slices.Contains(job.Finalizers, v1alpha1.FinalizerQuota); got != c.want {
				t.Errorf("it has the finalizer: %v, want %v", got, c.want)
			}
		})
	}
}

// What the API server refuses beside the suspension does not keep a job running that Kueue stops.
func TestASuspensionDependsOnNothingElse(t *testing.T) {
	refusals := map[string]error{"": nil, "a rule of the job": apierrors.NewInvalid(gvk.GroupKind(), "j", nil), "a policy": apierrors.NewForbidden(schema.GroupResource{Resource: "trainingjobs"}, "j", nil)}
	for name, refusal := range refusals {
		t.Run("refused by "+name, func(t *testing.T) {
			job, w := admitted(t, running(4))
			wanted := jobframework.GetPodSetsInfoFromWorkload(w)
			api := cluster(t, interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
				if job, isJob := o.(*v1alpha1.TrainingJob); isJob && refusal != nil && !(*trainingJob)(job).isStarted() {
					return refusal
				}
				return c.Patch(ctx, o, p, options...)
			}}, job, w)
			if err := api.Get(t.Context(), client.ObjectKeyFromObject(job), job); err != nil {
				t.Fatal(err)
			}
			stopped, err := (*trainingJob)(job).Stop(t.Context(), api, wanted, jobframework.StopReasonWorkloadEvicted, "")
			if !stopped || !jobframework.IsUnretryableError(err) {
				t.Errorf("stopped %v, error %v: its pods are still ending", stopped, err)
			}
			if err := api.Get(t.Context(), client.ObjectKeyFromObject(job), job); err != nil || !job.Spec.IsSuspended() {
				t.Errorf("suspended %v, error %v", job.Spec.IsSuspended(), err)
			}
			if started := (*trainingJob)(job).isStarted(); started != (refusal != nil) {
				t.Errorf("its templates are those of the admission: %v", started)
			}
			if again, err := (*trainingJob)(job).Stop(t.Context(), api, wanted, jobframework.StopReasonWorkloadEvicted, ""); again || err != nil {
				t.Errorf("stopped again: %v, %v", again, err)
			}
			if job, _ = after(t, api, job); (*trainingJob)(job).isPaused() {
				t.Error("it is taken for a suspension by the user")
			}
		})
	}
}

// The API server refuses the suspension of a finished job.
func TestAFinishedJobIsNotSuspended(t *testing.T) {
	for active, want := range map[int32]error{1: errPodsEnd, 0: nil} {
		job, w := admitted(t, conditions(v1alpha1.ConditionFinished), running(active))
		api := cluster(t, interceptor.Funcs{}, job, w)
		stopped, err := (*trainingJob)(job).Stop(t.Context(), api, nil, jobframework.StopReasonWorkloadDeleted, "")
		if stopped || !errors.Is(err, want) || job.Spec.IsSuspended() {
			t.Errorf("%d pods: stopped %v, error %v, want %v", active, stopped, err, want)
		}
	}
}

// Kueue's controller frees the quota of a suspended or deleted job, unless it skips it.
func TestKueueLeavesAJobAloneWhosePodsAreToEnd(t *testing.T) {
	deleted := func(j *v1alpha1.TrainingJob) { j.DeletionTimestamp = ptr.To(metav1.Now()) }
	cases := []struct {
		name    string
		changes []change
		want    bool
	}{
		{"it runs", []change{running(4)}, false},
		{"it is suspended, and its pods are ending", []change{suspended, running(1)}, true},
		{"it is suspended, and has no pods", []change{stopped}, false},
		{"a user has suspended it since the adapter has read it", []change{suspended}, true},
		{"it is suspended, and its templates could not be restored", []change{resized}, false},
		{"it is suspended, and the operator has not seen it", []change{suspended, func(j *v1alpha1.TrainingJob) { j.Generation = 2 }}, true},
		{"it is deleted, and has pods", []change{deleted, running(1)}, true},
		{"it is deleted, and has no pods", []change{deleted}, false},
		{"it is deleted before it was ever admitted", []change{deleted, running(1), func(j *v1alpha1.TrainingJob) { j.Finalizers = nil }}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			job, _ := admitted(t, c.changes...)
			if got := (*trainingJob)(job).Skip(t.Context()); got != c.want {
				t.Errorf("skipped: %v, want %v", got, c.want)
			}
		})
	}
}

func TestAFinishedJobWithPodsIsReady(t *testing.T) {
	job := jobWith(conditions(v1alpha1.ConditionSucceeded, v1alpha1.ConditionFinished))
	pods(v1alpha1.PS, v1alpha1.ReplicaStatus{Active: 1})((*v1alpha1.TrainingJob)(job))
	if !job.PodsReady(t.Context(), nil) {
		t.Error("Kueue evicts it")
	}
}

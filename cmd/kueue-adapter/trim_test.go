package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

const queue = "kueue.x-k8s.io/queue-name"

// attached is metadata with what users attach, and with what the adapter reads.
func attached(controller metav1.OwnerReference) metav1.ObjectMeta {
	controller.Controller = ptr.To(true)
	long := strings.Repeat("x", 100_000)
	return metav1.ObjectMeta{
		Name: "j", Namespace: "team-a", UID: "u", ResourceVersion: "7", Finalizers: []string{"kueue.x-k8s.io/resource-in-use"},
		Labels:          map[string]string{queue: "q", "app": "a"},
		Annotations:     map[string]string{corev1.LastAppliedConfigAnnotation: long, annotationPartial: "2 of 6", "provreq.kueue.x-k8s.io/a": "b"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "c"}, controller},
		ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: long}},
	}
}

func ours() metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Name: "j"}
}

func trim[T client.Object](t *testing.T, transform func(any) (any, error), o T) T {
	t.Helper()
	got, err := transform(o)
	if err != nil {
		t.Fatal(err)
	}
	return got.(T)
}

// What users attach to a job is not kept, and a patch made from the cached job does not delete it.
func TestACachedJobIsSmallAndPatchesNothingAway(t *testing.T) {
	job := &v1alpha1.TrainingJob{ObjectMeta: attached(metav1.OwnerReference{APIVersion: "v1", Kind: "Parent", Name: "p"})}
	got := trim(t, trimJob, job)
	want := metav1.ObjectMeta{
		Name: "j", Namespace: "team-a", UID: "u", ResourceVersion: "7", Finalizers: job.Finalizers, Labels: map[string]string{queue: "q"},
		Annotations:     map[string]string{corev1.LastAppliedConfigAnnotation: "", annotationPartial: "2 of 6", "provreq.kueue.x-k8s.io/a": "b"},
		OwnerReferences: job.OwnerReferences[1:],
	}
	if diff := cmp.Diff(want, got.ObjectMeta); diff != "" {
		t.Errorf("cached (-want +got):\n%s", diff)
	}
	changed := got.DeepCopy()
	(*trainingJob)(changed).Suspend()
	changed.Annotations[v1alpha1.AnnotationQueueMessage] = "waits"
	patch, err := client.MergeFrom(got).Data(changed)
	if want := `{"metadata":{"annotations":{"trainingjob.dev/queue-message":"waits"}},"spec":{"suspend":true}}`; string(patch) != want || err != nil {
		t.Errorf("patch %s, %v, want %s", patch, err, want)
	}
}

// Kueue updates the adapter's Workloads whole, so the cache must drop nothing of them. Of other Workloads it keeps the metadata.
func TestWhichWorkloadsAreKeptWhole(t *testing.T) {
	spec := kueue.WorkloadSpec{QueueName: "q", PodSets: []kueue.PodSet{{Name: "main", Count: 1}}}
	own := &kueue.Workload{ObjectMeta: attached(ours()), Spec: spec}
	prebuilt := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Name: "w", Labels: map[string]string{"app": "a"}}, Spec: spec}
	foreign := &kueue.Workload{ObjectMeta: attached(metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: "j"}), Spec: spec}
	for name, w := range map[string]*kueue.Workload{"its own": own, "one that belongs to no job yet": prebuilt} {
		want := w.DeepCopy()
		want.ManagedFields = nil
		if diff := cmp.Diff(want, trim(t, trimWorkload, w)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	got := trim(t, trimWorkload, foreign)
	if len(got.Spec.PodSets) > 0 || len(got.OwnerReferences) != 1 || len(got.Annotations) != 2 || got.Labels["app"] != "" {
		t.Errorf("kept of the Workload of another kind: %+v", got)
	}
}

func TestWhatIsNeitherJobNorWorkloadIsLeftAlone(t *testing.T) {
	for _, transform := range []func(any) (any, error){trimJob, trimWorkload} {
		if got, err := transform(&corev1.Namespace{}); err != nil || !cmp.Equal(got, any(&corev1.Namespace{})) {
			t.Errorf("became %v, %v", got, err)
		}
	}
}

// A merge patch that empties the annotations would remove what it does not name: the user's own, as kubectl apply keeps one.
func TestARemovedAnnotationRemovesNoOther(t *testing.T) {
	job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"team": "a", annotationPartial: "2 of 6"}}}
	read := trim(t, trimJob, job)
	changed := read.DeepCopy()
	delete(changed.Annotations, annotationPartial)
	patch, err := client.MergeFrom(read).Data(changed)
	if want := `{"metadata":{"annotations":{"trainingjob.dev/kueue-admitted-workers":null}}}`; err != nil || string(patch) != want {
		t.Errorf("patch %s, want %s, error %v", patch, want, err)
	}
}

// The cache keeps of a status what the adapter reads, and nothing of a job that waits. MultiKueue carries the whole status.
func TestACachedStatusHasWhatIsRead(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: "R", Message: "m"}
	}
	waits := v1alpha1.TrainingJobStatus{ObservedGeneration: 3, Phase: v1alpha1.PhaseQueued, Message: "waits", Conditions: []metav1.Condition{
		condition(v1alpha1.ConditionQueued, metav1.ConditionTrue), condition(v1alpha1.ConditionRunning, metav1.ConditionFalse),
	}, ReplicaStatuses: map[v1alpha1.Role]v1alpha1.ReplicaStatus{v1alpha1.Worker: {Selector: "s"}}}
	runs := v1alpha1.TrainingJobStatus{ObservedGeneration: 3, Progress: &v1alpha1.ProgressStatus{Step: 7}, Conditions: []metav1.Condition{
		condition(v1alpha1.ConditionCreated, metav1.ConditionTrue), condition(v1alpha1.ConditionRunning, metav1.ConditionTrue),
	}, ReplicaStatuses: map[v1alpha1.Role]v1alpha1.ReplicaStatus{v1alpha1.Worker: {Active: 2, Selector: "s"}, v1alpha1.PS: {Succeeded: 1}}}
	ended := v1alpha1.TrainingJobStatus{Conditions: []metav1.Condition{
		condition(v1alpha1.ConditionSucceeded, metav1.ConditionTrue), condition(v1alpha1.ConditionFinished, metav1.ConditionTrue),
	}}
	for name, c := range map[string]struct {
		status, want v1alpha1.TrainingJobStatus
		managedBy    string
	}{
		"it waits": {status: waits, want: v1alpha1.TrainingJobStatus{ObservedGeneration: 3}},
		"it runs": {status: runs, want: v1alpha1.TrainingJobStatus{ObservedGeneration: 3, Progress: runs.Progress, Conditions: runs.Conditions[1:],
			ReplicaStatuses: map[v1alpha1.Role]v1alpha1.ReplicaStatus{v1alpha1.Worker: {Active: 2}}}},
		"it has ended":          {status: ended, want: ended},
		"another cluster's job": {status: runs, want: runs, managedBy: v1alpha1.MultiKueue},
	} {
		t.Run(name, func(t *testing.T) {
			job := &v1alpha1.TrainingJob{Spec: v1alpha1.TrainingJobSpec{ManagedBy: c.managedBy}, Status: c.status}
			if diff := cmp.Diff(c.want, trim(t, trimJob, job).Status); diff != "" {
				t.Errorf("cached (-want +got):\n%s", diff)
			}
		})
	}
}

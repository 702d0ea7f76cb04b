package main

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

const boostKey = "kueue.x-k8s.io/priority-boost"

func TestTheBoostGrowsWithWhatAPreemptionWouldLose(t *testing.T) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) *metav1.Time { return ptr.To(metav1.NewTime(now.Add(-d))) }
	for name, c := range map[string]struct {
		running, checkpoint *metav1.Time
		spec                v1alpha1.TrainingJobSpec
		had, want           string
		again               time.Duration
	}{
		"it has just begun":              {running: ago(30 * time.Second), checkpoint: ago(time.Hour), again: 90 * time.Second},
		"it has just saved":              {running: ago(time.Hour), checkpoint: ago(time.Second), had: "5", want: "0", again: 119 * time.Second},
		"it saved three minutes ago":     {running: ago(time.Hour), checkpoint: ago(3 * time.Minute), want: "1", again: time.Minute},
		"it never saved":                 {running: ago(time.Hour), had: "5", want: "0"},
		"it saved before it was stopped": {running: ago(9 * time.Minute), checkpoint: ago(time.Hour), want: "3", again: 7 * time.Minute},
		"it has not for a day":           {running: ago(48 * time.Hour), checkpoint: ago(24 * time.Hour), had: "7", want: "8"},
		"it does not run":                {checkpoint: ago(time.Hour), had: "5", want: "0"},
		"it is to be suspended":          {running: ago(time.Hour), spec: v1alpha1.TrainingJobSpec{Suspend: ptr.To(true)}, had: "5", want: "0"},
	} {
		job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "j", UID: "u"}, Spec: c.spec}
		job.Spec.Progress = &v1alpha1.Progress{}
		if c.running != nil {
			job.Status.Conditions = []metav1.Condition{{Type: "Running", Status: "True", LastTransitionTime: *c.running}}
		}
		if c.checkpoint != nil {
			job.Status.Progress = &v1alpha1.ProgressStatus{Checkpoint: "c", CheckpointTime: c.checkpoint}
		}
		workload := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "w", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, gvk)}}}
		if c.had != "" {
			workload.Annotations = map[string]string{boostKey: c.had}
		}
		api := fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(job, workload).Build()
		result, err := (&priorityBoosts{api, testclock.NewFakePassiveClock(now)}).Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(workload)})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(workload), workload); err != nil {
			t.Fatal(err)
		}
		if got := workload.Annotations[boostKey]; got != c.want || result.RequeueAfter != c.again {
			t.Errorf("%s: boost %q, again after %v, want %q after %v", name, got, result.RequeueAfter, c.want, c.again)
		}
	}
}

// Whose jobs say nothing of their progress has the priority that it has.
func TestAJobWithoutProgressHasNoBoost(t *testing.T) {
	job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "j", UID: "u"}}
	workload := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "w", Annotations: map[string]string{boostKey: "-3"},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, gvk)}}}
	api := fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(job, workload).Build()
	result, err := (&priorityBoosts{api, testclock.NewFakePassiveClock(time.Now())}).Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(workload)})
	if err != nil || result.RequeueAfter != 0 {
		t.Errorf("%v, %v", result, err)
	}
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(workload), workload); err != nil || workload.Annotations[boostKey] != "-3" {
		t.Errorf("annotations %v, %v, want them untouched", workload.Annotations, err)
	}
}

package main

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

func quota(status metav1.ConditionStatus, message string) metav1.Condition {
	return metav1.Condition{Type: kueue.WorkloadQuotaReserved, Status: status, Message: message}
}

func TestAJobHasTheWordsInWhichKueueKeepsItWaiting(t *testing.T) {
	finished := metav1.Condition{Type: kueue.WorkloadFinished, Status: metav1.ConditionTrue}
	admitted := metav1.Condition{Type: kueue.WorkloadAdmitted, Status: metav1.ConditionTrue}
	nodes := kueue.AdmissionCheckState{Name: "nodes", State: kueue.CheckStatePending, Message: "4 of 8 nodes are there"}
	budget := kueue.AdmissionCheckState{Name: "budget", State: kueue.CheckStateReady}
	rejected := kueue.AdmissionCheckState{Name: "budget", State: kueue.CheckStateRejected}
	cases := []struct {
		name       string
		had        string
		owner      string // UID of the job that the Workload is of
		conditions []metav1.Condition
		checks     []kueue.AdmissionCheckState
		want       string
	}{
		{"it waits", "", "u", []metav1.Condition{quota("False", "8 more needed")}, nil, "8 more needed"},
		{"it waits for something else", "8 more needed", "u", []metav1.Condition{quota("False", "4 more needed")}, nil, "4 more needed"},
		{"it is admitted", "8 more needed", "u", []metav1.Condition{quota("True", "Quota reserved"), admitted}, nil, ""},
		{"it has quota, and waits for admission checks", "8 more needed", "u", []metav1.Condition{quota("True", "Quota reserved")}, []kueue.AdmissionCheckState{budget, nodes},
			"admission check nodes is Pending: 4 of 8 nodes are there"},
		{"an admission check without words refuses it", "", "u", []metav1.Condition{quota("True", "Quota reserved")}, []kueue.AdmissionCheckState{rejected, nodes},
			"admission check budget is Rejected; admission check nodes is Pending: 4 of 8 nodes are there"},
		{"nothing was said", "", "u", nil, nil, ""},
		{"it has finished", "8 more needed", "u", []metav1.Condition{quota("False", "8 more needed"), finished}, nil, ""},
		{"the Workload is of a former job", "", "former", []metav1.Condition{quota("False", "8 more needed")}, nil, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "j", UID: "u", Labels: map[string]string{queue: "q"}}}
			if c.had != "" {
				job.Annotations = map[string]string{v1alpha1.AnnotationQueueMessage: c.had}
			}
			owner := job.DeepCopy()
			owner.UID = "former"
			if c.owner == "u" {
				owner = job
			}
			workload := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "w", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, gvk)}}}
			workload.Status.Conditions, workload.Status.AdmissionChecks = c.conditions, c.checks
			api := fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(job, workload).Build()
			if _, err := (&queueMessages{api}).Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(workload)}); err != nil {
				t.Fatal(err)
			}
			var now v1alpha1.TrainingJob
			if err := api.Get(t.Context(), client.ObjectKeyFromObject(job), &now); err != nil {
				t.Fatal(err)
			}
			if got := now.Annotations[v1alpha1.AnnotationQueueMessage]; got != c.want {
				t.Errorf("the job says %q, want %q", got, c.want)
			}
		})
	}
}

func testScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, kueue.AddToScheme, clientgoscheme.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

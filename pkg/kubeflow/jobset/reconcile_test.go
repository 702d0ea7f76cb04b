package jobset

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/kubeflow/serve"
)

// cluster is a cluster with one JobSet.
type cluster struct {
	*reconciler
	set    *JobSet
	clock  *testingclock.FakePassiveClock
	events *events.FakeRecorder
}

func clusterOf(t *testing.T, manifest string, others ...client.Object) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	set := read(t, manifest)
	kube := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(set.source.DeepCopy(), &v1alpha1.TrainingJob{}).
		WithObjects(append(others, set.source)...).Build()
	c := &cluster{set: set, clock: testingclock.NewFakePassiveClock(start), events: events.NewFakeRecorder(20)}
	c.reconciler = &reconciler{serve.Engine{Kind: serve.JobSet, Client: kube, Live: kube, Events: c.events, Clock: c.clock}}
	return c
}

// pass reconciles once. It returns the JobSet after that; nil if it is gone.
func (c *cluster) pass(t *testing.T) *JobSet {
	t.Helper()
	key := client.ObjectKey{Namespace: "ns", Name: "t"}
	if _, err := c.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
		t.Fatal(err)
	}
	after := &unstructured.Unstructured{}
	after.SetGroupVersionKind(serve.JobSet.GroupVersionKind())
	err := c.Client.Get(t.Context(), key, after)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	set, err := Read(after)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// update changes the TrainingJob's status.
func (c *cluster) update(t *testing.T, conditions ...metav1.Condition) {
	t.Helper()
	child, err := c.Child(t.Context(), client.ObjectKeyFromObject(c.set.source))
	if err != nil || child == nil {
		t.Fatal("no TrainingJob", err)
	}
	child.Status.Conditions = conditions
	if err := c.Client.Status().Update(t.Context(), child); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) emitted() (all string) {
	for len(c.events.Events) > 0 {
		all += <-c.events.Events + "\n"
	}
	return all
}

func TestAJobSetRunsByATrainingJobAndGoesAfterItsTime(t *testing.T) {
	c := clusterOf(t, changed(t, trained, "  suspend: false", "  ttlSecondsAfterFinished: 60\n  suspend: false"))
	c.pass(t)
	child, err := c.Child(t.Context(), client.ObjectKeyFromObject(c.set.source))
	if err != nil || child == nil || !metav1.IsControlledBy(child, c.set) {
		t.Fatalf("TrainingJob %+v, error %v", child, err)
	}
	c.update(t, metav1.Condition{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionTrue})
	if set := c.pass(t); !set.Status.is(completed) {
		t.Fatalf("conditions %+v, want Completed", set.Status.Conditions)
	}
	if got := c.emitted(); !strings.Contains(got, "Normal AllJobsCompleted jobset completed successfully") {
		t.Errorf("Events %q", got)
	}
	c.clock.SetTime(start.Add(59 * time.Second))
	if c.pass(t) == nil {
		t.Error("the JobSet is gone before its time")
	}
	c.clock.SetTime(start.Add(60 * time.Second))
	if set := c.pass(t); set != nil {
		t.Error("the JobSet is there after its time")
	}
}

func TestARefusedJobSetFailsWithASentence(t *testing.T) {
	c := clusterOf(t, changed(t, trained, "completions: 2", "completions: 3"))
	set := c.pass(t)
	if want := "Failed FailedValidation spec.replicatedJobs[0] (node): completions must be the same number"; !strings.HasPrefix(set.Status.summary(), want) {
		t.Errorf("%s, want %s", set.Status.summary(), want)
	}
	if got := c.emitted(); !strings.Contains(got, "Warning FailedValidation spec.replicatedJobs[0]") {
		t.Errorf("Events %q", got)
	}
	if child, _ := c.Child(t.Context(), client.ObjectKeyFromObject(c.set.source)); child != nil {
		t.Error("a refused JobSet has a TrainingJob")
	}
}

func TestATrainJobHasTheEventsOfItsJobSet(t *testing.T) {
	c := clusterOf(t, changed(t, trained, "completions: 2", "completions: 3"))
	yes := true
	c.set.source.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "trainer.kubeflow.org/v1alpha1", Kind: "TrainJob", Name: "t", UID: "x", Controller: &yes}})
	if err := c.Client.Update(t.Context(), c.set.source); err != nil {
		t.Fatal(err)
	}
	c.pass(t)
	if got := strings.Count(c.emitted(), "Warning FailedValidation"); got != 2 {
		t.Errorf("%d Events, want one of the JobSet and one of the TrainJob", got)
	}
}

// The TrainingJob names the TrainJob, which a JobSet without one does not get to choose.
func TestATrainingJobNamesTheTrainJobOfItsJobSet(t *testing.T) {
	set := read(t, changed(t, pair(""), "annotations: {}", "annotations: {trainingjob.dev/trainjob: other/forged}"))
	if got := served(t, set).Child.Annotations["trainingjob.dev/trainjob"]; got != "" {
		t.Errorf("a JobSet without TrainJob names %q", got)
	}
	yes := true
	set.OwnerReferences = []metav1.OwnerReference{{APIVersion: "trainer.kubeflow.org/v1alpha1", Kind: "TrainJob", Name: "t", UID: "x", Controller: &yes}}
	if got := served(t, set).Child.Annotations["trainingjob.dev/trainjob"]; got != "t/x" {
		t.Errorf("it names %q, want t/x", got)
	}
}

// MultiKueue and JobSet's own controller name themselves or no name.
func TestAJobSetOfAnotherControllerIsLeftAlone(t *testing.T) {
	for _, manager := range []string{"", "  managedBy: jobset.sigs.k8s.io/jobset-controller\n", "  managedBy: kueue.x-k8s.io/multikueue\n"} {
		c := clusterOf(t, changed(t, trained, "  managedBy: trainingjob.dev/operator\n", manager))
		if set := c.pass(t); len(set.Status.Conditions) > 0 || c.emitted() != "" {
			t.Errorf("%q: conditions %+v", manager, set.Status.Conditions)
		}
		if child, _ := c.Child(t.Context(), client.ObjectKeyFromObject(c.set.source)); child != nil {
			t.Errorf("%q: it has a TrainingJob", manager)
		}
	}
}

func TestAJobSetWaitsForTheNameOfItsTrainingJob(t *testing.T) {
	other := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "t"}}
	c := clusterOf(t, trained, other)
	if set := c.pass(t); set.Status.summary() != "Stalled NameConflict TrainingJob t has this name: give one of them another name." {
		t.Errorf("%s", set.Status.summary())
	}
	if err := c.Client.Delete(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if set := c.pass(t); set.Status.is(stalled) {
		t.Errorf("%s", set.Status.summary())
	}
}

func TestASubdomainOfItsOwnHasAService(t *testing.T) {
	c := clusterOf(t, changed(t, trained, "network: {", "network: {subdomain: sub, "))
	c.pass(t)
	child, _ := c.Child(t.Context(), client.ObjectKeyFromObject(c.set.source))
	child.UID = "child" // the fake API server gives none
	if err := c.createSubdomain(t.Context(), c.set, child); err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{}
	if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "sub"}, service); err != nil {
		t.Fatal(err)
	}
	if service.Spec.ClusterIP != corev1.ClusterIPNone || service.Spec.Selector[v1alpha1.LabelJobUID] != "child" || service.OwnerReferences[0].Kind != "JobSet" {
		t.Errorf("%+v", service)
	}
}

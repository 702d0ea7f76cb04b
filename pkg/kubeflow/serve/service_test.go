package serve

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

const withTwoWorkers = `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: j, namespace: ns, uid: u}
spec:
  pytorchReplicaSpecs:
    Master: {replicas: 1, template: {spec: {containers: [{name: pytorch, image: i}]}}}
    Worker: {replicas: 2, template: {spec: {containers: [{name: pytorch, image: i}]}}}
`

// The ranks of a PyTorchJob look for their leader alone. The other Services would only take the API server's time from the pods.
func TestTheServicesButTheLeadersGiveWayToThePods(t *testing.T) {
	job := read(t, withTwoWorkers)
	served, err := job.Serve()
	if err != nil {
		t.Fatal(err)
	}
	served.Child.UID = "child"
	r, now := reconcilerOf(t, job, served.Child)
	for _, step := range []struct {
		after    time.Duration
		services []string
		wait     time.Duration
	}{
		{0, []string{"j-master-0"}, 30 * time.Second},
		{29 * time.Second, []string{"j-master-0"}, time.Second},
		{time.Second, []string{"j-master-0", "j-worker-0", "j-worker-1"}, 0},
	} {
		now.SetTime(now.Now().Add(step.after))
		request := ctrl.Request{NamespacedName: keyOf(job)}
		_, err := r.Reconcile(t.Context(), request)
		result, err2 := services{r}.Reconcile(t.Context(), request)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		var created corev1.ServiceList
		if err := r.Client.List(t.Context(), &created, client.InNamespace("ns")); err != nil {
			t.Fatal(err)
		}
		var names []string
		for i := range created.Items {
			names = append(names, created.Items[i].Name)
		}
		if !slices.Equal(names, step.services) || result.RequeueAfter != step.wait {
			t.Errorf("%s after the start: Services %v and a wait of %s, want %v and %s", now.Since(start), names, result.RequeueAfter, step.services, step.wait)
		}
	}
}

// The old operator deletes them at once, and pods of other jobs wait for no job that has none.
func TestServicesGoWithTheSuspensionAndTheEndOfTheJob(t *testing.T) {
	all, finished := []string{"j-master-0", "j-worker-0", "j-worker-1"}, Condition{Type: Succeeded, Status: corev1.ConditionTrue}
	for name, c := range map[string]struct {
		policy     string
		conditions []Condition
		want       []string
	}{
		"suspended before it ran":      {"suspend: true", nil, nil},
		"finished, Running":            {"cleanPodPolicy: Running", []Condition{finished}, nil},
		"finished, All":                {"cleanPodPolicy: All", []Condition{finished}, nil},
		"finished, None (the default)": {"cleanPodPolicy: None", []Condition{finished}, all},
	} {
		job := read(t, withTwoWorkers+"  runPolicy: {"+c.policy+"}\n")
		child, before := serve(t, withTwoWorkers+"  runPolicy: {"+c.policy+"}\n").Child, read(t, withTwoWorkers)
		others := []client.Object{child}
		for _, host := range before.hosts(child) {
			service := before.service(child, host)
			service.UID = types.UID(service.Name)
			others = append(others, service)
		}
		begun := metav1.NewTime(start)
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&Status{StartTime: &begun, Conditions: c.conditions})
		if err != nil {
			t.Fatal(err)
		}
		job.source.Object["status"] = content
		r, now := reconcilerOf(t, job, others...)
		r.starting.add(child.UID, start.Add(time.Minute))
		now.SetTime(start.Add(time.Second))
		if result, err := (services{r}).Reconcile(t.Context(), ctrl.Request{NamespacedName: keyOf(job)}); err != nil || result.RequeueAfter != 0 {
			t.Fatalf("%s: %v, %v", name, result, err)
		}
		var left corev1.ServiceList
		if err := r.Client.List(t.Context(), &left, client.InNamespace("ns")); err != nil {
			t.Fatal(err)
		}
		var names []string
		for i := range left.Items {
			names = append(names, left.Items[i].Name)
		}
		if !slices.Equal(names, c.want) {
			t.Errorf("%s: Services %v, want %v", name, names, c.want)
		}
		if c.want == nil && r.starting.isAny(now.Now()) {
			t.Errorf("%s: the job counts as starting", name)
		}
	}
}

// The Services of many jobs would otherwise take the API server's time from the pods of those that start last.
func TestTheServicesOfARunningJobGiveWayToOtherJobsThatStart(t *testing.T) {
	job := read(t, withTwoWorkers)
	served, err := job.Serve()
	if err != nil {
		t.Fatal(err)
	}
	first, second := served.Child.DeepCopy(), served.Child.DeepCopy()
	first.UID, second.UID = "first", "second"
	r, now := reconcilerOf(t, job)
	begun := metav1.NewTime(start)
	starts, runs := &Status{StartTime: &begun}, &Status{StartTime: &begun, Conditions: []Condition{{Type: Running, Status: corev1.ConditionTrue}}}
	delay := func(of *v1alpha1.TrainingJob, status *Status, want time.Duration) {
		t.Helper()
		if got := r.serviceDelay(of, status); got != want {
			t.Errorf("%s after the start the Services of the %s job wait for %s, want %s", now.Since(start), of.UID, got, want)
		}
	}

	delay(first, &Status{}, 30*time.Second) // its start is not written yet
	delay(second, starts, 30*time.Second)
	delay(first, runs, time.Second)
	now.SetTime(start.Add(10 * time.Second))
	delay(second, runs, 0)
	delay(first, runs, 0)

	third := served.Child.DeepCopy()
	third.UID = "deleted before its pods ran"
	delay(third, &Status{}, 30*time.Second)
	now.SetTime(start.Add(29500 * time.Millisecond))
	delay(first, runs, 500*time.Millisecond)
	now.SetTime(start.Add(40 * time.Second))
	if r.starting.isAny(now.Now()) {
		t.Error("a deleted job starts for ever")
	}
}

// The variables of a TFJob name all replicas. The other kinds here name the leader alone.
func TestServicesComeSoonerWhereAllNamesMatter(t *testing.T) {
	replicas := func(roles ...string) string {
		var text string
		for _, role := range roles {
			text += role + ": {replicas: 2, template: {spec: {containers: [{name: CONTAINER, image: i}]}}}, "
		}
		return text
	}
	for _, c := range []struct {
		kind, field, container, replicas string
		want                             time.Duration
	}{
		{"PyTorchJob", "pytorchReplicaSpecs", "pytorch", replicas("Worker"), 30 * time.Second},
		{"JAXJob", "jaxReplicaSpecs", "jax", replicas("Worker"), 30 * time.Second},
		{"PaddleJob", "paddleReplicaSpecs", "paddle", replicas("Worker"), 30 * time.Second},
		{"TFJob", "tfReplicaSpecs", "tensorflow", replicas("Worker", "PS"), 2 * time.Second},
	} {
		text := "{apiVersion: kubeflow.org/v1, kind: " + c.kind + ", metadata: {name: j, namespace: ns, uid: u}, spec: {" + c.field + ": {" +
			strings.ReplaceAll(c.replicas, "CONTAINER", c.container) + "}}}"
		job := read(t, text)
		served, err := job.Serve()
		if err != nil {
			t.Fatalf("%s: %v", c.kind, err)
		}
		r, _ := reconcilerOf(t, job)
		begun := metav1.NewTime(start)
		if got := r.serviceDelay(served.Child, &Status{StartTime: &begun}); got != c.want {
			t.Errorf("%s waits for %s, want %s", c.kind, got, c.want)
		}
	}
}

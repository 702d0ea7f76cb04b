package serve

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/operator/cluster"
)

// reconcilerOf returns a reconciler in a cluster with the job and these other objects, and its clock, which shows start.
func reconcilerOf(t *testing.T, job *Job, others ...client.Object) (*reconciler, *testingclock.FakePassiveClock) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(job.kind.empty(), &v1alpha1.TrainingJob{}).WithObjects(append(others, job.source)...).Build()
	counts, err := newCounters(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	now := testingclock.NewFakePassiveClock(start)
	return &reconciler{Engine: Engine{Kind: job.kind, Client: kube, Live: kube, Events: events.NewFakeRecorder(10), Clock: now}, counts: counts, starting: newStarting()}, now
}

// reconciled returns the status of the job after one reconcile, with these other objects in the cluster.
func reconciled(t *testing.T, job *Job, others ...client.Object) Status {
	t.Helper()
	r, _ := reconcilerOf(t, job, others...)
	return after(t, r, job)
}

// after returns the status of the job after one reconcile more.
func after(t *testing.T, r *reconciler, job *Job) Status {
	t.Helper()
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: keyOf(job)}); err != nil {
		t.Fatal(err)
	}
	after := job.kind.empty()
	if err := r.Client.Get(t.Context(), keyOf(job), after); err != nil {
		t.Fatal(err)
	}
	read, err := Read(job.kind, after)
	if err != nil {
		t.Fatal(err)
	}
	return read.Status
}

const unservable = `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: j, namespace: ns, uid: u, annotations: {trainingjob.dev/overrides: "{"}}
spec: {pytorchReplicaSpecs: {Worker: {replicas: 1, template: {spec: {containers: [{name: pytorch, image: i}]}}}}}
`

func TestAJobThatCannotBeServedFailsUnlessItRuns(t *testing.T) {
	job := read(t, unservable)
	if status := reconciled(t, job); !status.is(Failed) {
		t.Errorf("conditions %+v, want Failed", status.Conditions)
	}
	job = read(t, unservable)
	pod := formerPod("worker-0 Running")
	pod.Namespace, pod.OwnerReferences = "ns", []metav1.OwnerReference{*metav1.NewControllerRef(job, job.kind.GroupVersionKind())}
	pod.Labels[v1alpha1.KubeflowLabelJobName] = "j"
	if status := reconciled(t, job, pod.DeepCopy()); status.isFinished() {
		t.Errorf("conditions %+v of a job that runs", status.Conditions)
	}
}

// Kueue preempts a job by its suspension. A user can make the job one that is refused while it runs, so that nothing else of it changes.
func TestARefusedChangeKeepsNoJobRunning(t *testing.T) {
	held := strings.Replace(unservable, "spec: {", "spec: {runPolicy: {suspend: true}, ", 1)
	for name, manifest := range map[string]string{
		"by its overrides": held, "as a whole": strings.NewReplacer("{trainingjob.dev/overrides: \"{\"}", "{}", "replicas: 1", "replicas: -1").Replace(held),
	} {
		job := read(t, manifest)
		if refused, err := job.Serve(); err == nil && refused.Refused == nil {
			t.Fatalf("%s: nothing is refused", name)
		}
		served := serve(t, strings.Replace(held, "suspend: true", "suspend: false", 1))
		served.Child.Spec.ReplicaSpecs[v1alpha1.Worker] = v1alpha1.ReplicaSpec{Replicas: ptr.To[int32](6)} // a former version's overrides set that
		r, _ := reconcilerOf(t, job, served.Child)
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: keyOf(job)}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		child, err := r.Child(t.Context(), keyOf(job))
		if err != nil || !child.Spec.IsSuspended() {
			t.Errorf("refused %s, its TrainingJob runs on: %+v, error %v", name, child.Spec.Suspend, err)
		}
	}
}

// An annotation of a job that has ended can become wrong.
func TestAFinishedJobThatCannotBeServedStays(t *testing.T) {
	job := read(t, unservable)
	own := metav1.ObjectMeta{Namespace: "ns", Name: "j", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, job.kind.GroupVersionKind())}}
	for name, others := range map[string][]client.Object{"with its TrainingJob": {&v1alpha1.TrainingJob{ObjectMeta: own}}, "without its TrainingJob": nil} {
		job := read(t, unservable)
		job.source.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": Succeeded, "status": string(corev1.ConditionTrue)}}}
		if status := reconciled(t, job, others...); !status.is(Succeeded) || status.is(Failed) {
			t.Errorf("%s: conditions %+v, want Succeeded", name, status.Conditions)
		}
	}
}

const elastic = `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: j, namespace: ns, uid: u}
spec:
  elasticPolicy: {minReplicas: 1, maxReplicas: 8}
  pytorchReplicaSpecs: {Worker: {replicas: 2, template: {spec: {containers: [{name: pytorch, image: i}]}}}}
`

// Kueue counts the pods of the Kubeflow job. A user can change its TrainingJob, which is in no queue.
func TestATrainingJobHasThePodsThatItsKubeflowJobRequests(t *testing.T) {
	fixed := strings.Replace(elastic, "elasticPolicy: {minReplicas: 1, maxReplicas: 8}", "runPolicy: {}", 1)
	for name, c := range map[string]struct {
		manifest string
		change   func(*v1alpha1.TrainingJobSpec, *v1alpha1.ReplicaSpec)
	}{
		"more workers":                {elastic, func(_ *v1alpha1.TrainingJobSpec, workers *v1alpha1.ReplicaSpec) { workers.Replicas = ptr.To[int32](6) }},
		"more workers, bounds at one": {elastic, moreAtLeast},
		"more workers, not elastic":   {fixed, func(_ *v1alpha1.TrainingJobSpec, workers *v1alpha1.ReplicaSpec) { workers.Replicas = ptr.To[int32](6) }},
		"larger pods":                 {elastic, larger},
		"another role": {fixed, func(spec *v1alpha1.TrainingJobSpec, workers *v1alpha1.ReplicaSpec) {
			spec.ReplicaSpecs[v1alpha1.Evaluator] = *workers.DeepCopy()
		}},
		"a suspension": {elastic, func(spec *v1alpha1.TrainingJobSpec, _ *v1alpha1.ReplicaSpec) { spec.Suspend = ptr.To(true) }},
	} {
		t.Run(name, func(t *testing.T) {
			job := read(t, c.manifest)
			served, err := job.Serve()
			if err != nil {
				t.Fatal(err)
			}
			r, _ := reconcilerOf(t, job, changed(served, c.change))
			for range 3 {
				if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: keyOf(job)}); err != nil {
					t.Fatal(err)
				}
			}
			var after v1alpha1.TrainingJob
			if err := r.Client.Get(t.Context(), keyOf(job), &after); err != nil {
				t.Fatal(err)
			}
			after.Spec.Suspend, served.Child.Spec.Suspend = ptr.To(after.Spec.IsSuspended()), ptr.To(served.Child.Spec.IsSuspended())
			if diff := cmp.Diff(served.Child.Spec, after.Spec); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func moreAtLeast(spec *v1alpha1.TrainingJobSpec, workers *v1alpha1.ReplicaSpec) {
	workers.Replicas, spec.Elastic.MinReplicas = ptr.To[int32](6), 6
}

func larger(_ *v1alpha1.TrainingJobSpec, workers *v1alpha1.ReplicaSpec) {
	workers.Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}
}

// changed returns the TrainingJob after a user's change.
func changed(served *Served, change func(*v1alpha1.TrainingJobSpec, *v1alpha1.ReplicaSpec)) *v1alpha1.TrainingJob {
	child := served.Child.DeepCopy()
	workers := child.Spec.ReplicaSpecs[v1alpha1.Worker]
	change(&child.Spec, &workers)
	child.Spec.ReplicaSpecs[v1alpha1.Worker] = workers
	return child
}

// A TrainingJob that cannot take a change of its Kubeflow job runs on as it is. A user cannot scale it then either.
func TestARefusedChangeKeepsTheNumberOfPods(t *testing.T) {
	job := read(t, elastic)
	served, err := job.Serve()
	if err != nil {
		t.Fatal(err)
	}
	child := changed(served, func(_ *v1alpha1.TrainingJobSpec, workers *v1alpha1.ReplicaSpec) { workers.Replicas = ptr.To[int32](6) })
	child.Annotations[v1alpha1.AnnotationKubeflowSource] = "before the change"
	r, _ := reconcilerOf(t, job, child)
	kube, isWatching := r.Client.(client.WithWatch)
	if !isWatching {
		t.Fatalf("%T is no client that watches", r.Client)
	}
	r.Client = interceptor.NewClient(kube, interceptor.Funcs{Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
		return apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind(v1alpha1.Kind).GroupKind(), "j", nil)
	}})
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: keyOf(job)}); err != nil {
		t.Fatal(err)
	}
	var after v1alpha1.TrainingJob
	if err := r.Client.Get(t.Context(), keyOf(job), &after); err != nil {
		t.Fatal(err)
	}
	if n := after.Spec.Replicas(v1alpha1.Worker); n != 2 || after.Spec.IsSuspended() {
		t.Errorf("%d workers, suspended %t; want 2, as the Kubeflow job requests, and not suspended", n, after.Spec.IsSuspended())
	}
}

// The user of a Kubeflow job sees no TrainingJob, and finds the API server's words on the job.
func TestWhatTheAPIServerRefusesIsAnEventOfTheJob(t *testing.T) {
	elastic := withTwoWorkers + "  elasticPolicy: {minReplicas: 1, maxReplicas: 2, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]}\n"
	for name, c := range map[string]struct {
		refused client.Object
		words   string
	}{
		"the TrainingJob": {&v1alpha1.TrainingJob{}, "Warning QuotaExceeded creating the TrainingJob: things \"x\" is forbidden: exceeded quota: team-a"},
		"a Service":       {&corev1.Service{}, "Warning QuotaExceeded creating Service j-master-0: things \"x\" is forbidden: exceeded quota: team-a"},
		"the autoscaler":  {&autoscalingv2.HorizontalPodAutoscaler{}, "Warning QuotaExceeded creating the autoscaler: things \"x\" is forbidden: exceeded quota: team-a"},
	} {
		t.Run(name, func(t *testing.T) {
			job := read(t, elastic)
			child := serve(t, elastic).Child
			if _, isChild := c.refused.(*v1alpha1.TrainingJob); isChild {
				child.Name = "another"
			}
			r, now := reconcilerOf(t, job, child)
			refuse := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "x", errors.New("exceeded quota: team-a"))
			r.Client = interceptor.NewClient(r.Client.(client.WithWatch), interceptor.Funcs{
				Create: func(ctx context.Context, kube client.WithWatch, o client.Object, options ...client.CreateOption) error {
					if reflect.TypeOf(o) == reflect.TypeOf(c.refused) {
						return refuse
					}
					return kube.Create(ctx, o, options...)
				},
				Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
					return refuse
				},
			})
			request := ctrl.Request{NamespacedName: keyOf(job)}
			if _, err := r.Reconcile(t.Context(), request); !apierrors.IsForbidden(err) {
				t.Errorf("error %v: the request is not tried again", err)
			}
			if _, isService := c.refused.(*corev1.Service); isService {
				now.SetTime(start.Add(time.Minute))
				if _, err := (services{r}).Reconcile(t.Context(), request); !apierrors.IsForbidden(err) {
					t.Errorf("error %v of the Services", err)
				}
			}
			var emitted []string
			for recorder := r.Events.(*events.FakeRecorder); len(recorder.Events) > 0; {
				emitted = append(emitted, <-recorder.Events)
			}
			if !slices.Contains(emitted, c.words) {
				t.Errorf("Events %q, want %q", emitted, c.words)
			}
		})
	}
}

// Two kinds share the names of TrainingJobs. A client that reads the status alone sees what holds the name, until the name is free.
func TestAConflictNamesTheJobThatHoldsTheName(t *testing.T) {
	tfJob := []metav1.OwnerReference{{APIVersion: "kubeflow.org/v1", Kind: "TFJob", Name: "j", UID: "tf", Controller: ptr.To(true)}}
	for name, c := range map[string]struct {
		change func(*v1alpha1.TrainingJob)
		want   string
	}{
		"of another kind":      {func(child *v1alpha1.TrainingJob) { child.OwnerReferences = tfJob }, "TFJob j has this name: give one of them another name."},
		"a user's TrainingJob": {func(child *v1alpha1.TrainingJob) { child.Annotations = nil }, "TrainingJob j has this name: give one of them another name."},
		"what another kind left": {
			func(child *v1alpha1.TrainingJob) { child.Spec.Framework = v1alpha1.TensorFlow }, "TrainingJob j has this name: give one of them another name.",
		},
		"what has ended": {func(child *v1alpha1.TrainingJob) {
			child.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue}}
		}, "TrainingJob j has this name: give one of them another name."},
	} {
		t.Run(name, func(t *testing.T) {
			job, child := read(t, pytorchJob), serve(t, pytorchJob).Child
			child.OwnerReferences = nil
			c.change(child)
			r, now := reconcilerOf(t, job, child)
			for range 3 {
				now.SetTime(now.Now().Add(time.Minute))
				status := after(t, r, job)
				stalled := status.condition(Stalled)
				if stalled == nil || stalled.Reason != "PyTorchJobNameConflict" || stalled.Message != c.want || !stalled.LastTransitionTime.Time.Equal(start.Add(time.Minute)) {
					t.Fatalf("Stalled is %+v, want %q", stalled, c.want)
				}
			}
			emitted := r.Events.(*events.FakeRecorder).Events
			if got, want := <-emitted, "Warning PyTorchJobNameConflict "+c.want; got != want || len(emitted) > 0 {
				t.Errorf("%q and %d more Events, want %q", got, len(emitted), want)
			}
			if err := r.Client.Delete(t.Context(), child); err != nil {
				t.Fatal(err)
			}
			if status := after(t, r, job); status.condition(Stalled) != nil || !status.is(Created) {
				t.Errorf("conditions %+v of a job whose name is free", status.Conditions)
			}
		})
	}
}

// A job that has ended keeps its last condition.
func TestAConflictOfAFinishedJobIsNone(t *testing.T) {
	job, child := read(t, pytorchJob), serve(t, pytorchJob).Child
	child.OwnerReferences = nil
	job.source.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": Succeeded, "status": string(corev1.ConditionTrue)}}}
	if status := reconciled(t, job, child); len(status.Conditions) != 1 {
		t.Errorf("conditions %+v", status.Conditions)
	}
}

// After kubectl delete --cascade=orphan the TrainingJob trains on. Another one beside it would write the same checkpoints.
func TestANewJobTakesOverTheTrainingJobThatItsNamesakeLeft(t *testing.T) {
	left := serve(t, pytorchJob).Child
	left.UID, left.OwnerReferences = "left", nil
	left.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionRunning, Status: metav1.ConditionTrue}}
	job := read(t, strings.Replace(pytorchJob, "uid: u", "uid: new", 1))
	r, _ := reconcilerOf(t, job, left)
	after(t, r, job)
	status := after(t, r, job)
	child, err := r.Child(t.Context(), keyOf(job))
	if err != nil || child.UID != "left" || !metav1.IsControlledBy(child, job) {
		t.Errorf("TrainingJob %+v, error %v; want the one that was left, with the new owner", child, err)
	}
	if !status.is(Running) || status.condition(Stalled) != nil {
		t.Errorf("conditions %+v, want Running", status.Conditions)
	}
}

// A restart of the job and its failure are one warning in the PyTorchJob, and one in its TrainingJob. Kubeflow's reasons are in the PyTorchJob.
func TestAWarningIsOnceInTheKubeflowJobAndOnceInItsTrainingJob(t *testing.T) {
	for _, condition := range []string{v1alpha1.ConditionRestarting, v1alpha1.ConditionFailed} {
		job, child := read(t, pytorchJob), serve(t, pytorchJob).Child
		r, now := reconcilerOf(t, job, child)
		after(t, r, job)
		recorder := events.NewFakeRecorder(10)
		recorder.Verbose, r.Events = true, recorder
		if err := r.Client.Get(t.Context(), keyOf(job), child); err != nil {
			t.Fatal(err)
		}
		p := plan.Plan{Events: []plan.Event{{Type: corev1.EventTypeWarning, Reason: condition, Action: "Job", Message: "worker-1 died."}}}
		p.Status.Conditions = []metav1.Condition{{Type: condition, Status: metav1.ConditionTrue, Reason: "Failure", Message: "worker-1 died."}}
		if err := cluster.New(r.Client, r.Client, recorder, now, cluster.Options{Parallel: 1}).Record(t.Context(), child, &p); err != nil {
			t.Fatal(err)
		}
		after(t, r, job)
		var emitted []string
		for len(recorder.Events) > 0 {
			emitted = append(emitted, <-recorder.Events)
		}
		if len(emitted) != 2 || !strings.HasPrefix(emitted[0], "Warning "+condition) || !strings.HasPrefix(emitted[1], "Warning PyTorchJob"+condition) {
			t.Errorf("%d Events: %q", len(emitted), emitted)
		}
	}
}

func TestTheEndOfAJobIsOneEvent(t *testing.T) {
	job := read(t, pytorchJob)
	r, _ := reconcilerOf(t, job)
	running := Status{Conditions: []Condition{{Type: Running, Status: corev1.ConditionTrue, Reason: "PyTorchJobRunning", Message: "PyTorchJob j is running."}}}
	job.Status = running
	next := Status{Conditions: slices.Clone(running.Conditions)}
	next.set(Condition{Type: Succeeded, Status: corev1.ConditionTrue, Reason: "PyTorchJobSucceeded", Message: "PyTorchJob j is successfully completed."}, start)
	if err := r.record(t.Context(), job, next); err != nil {
		t.Fatal(err)
	}
	recorder := r.Events.(*events.FakeRecorder)
	if first := <-recorder.Events; len(recorder.Events) > 0 || !strings.Contains(first, "PyTorchJobSucceeded") {
		t.Errorf("the Event %q and %d more", first, len(recorder.Events))
	}
}

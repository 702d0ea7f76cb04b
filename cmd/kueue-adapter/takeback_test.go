package main

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/workload"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// The patches of kubectl tj suspend and kubectl tj resume.
const (
	tjSuspend     = `{"metadata": {"annotations": {"trainingjob.dev/queue-paused": "true"}}, "spec": {"suspend": true}}`
	tjResume      = `{"metadata": {"annotations": {"trainingjob.dev/queue-paused": null, "trainingjob.dev/queue-resized": "true"}}}`
	annotationOff = `{"metadata": {"annotations": {"trainingjob.dev/queue-paused": null}}}`
)

// world is one elastic job of 4 workers in a queue with quota for 2. Its flavor has node labels and a taint.
type world struct {
	*rapid.T
	client.Client
	adapter *reconciler
	users   v1alpha1.TrainingJobSpec
	// isWanted is the user's last wish: the job runs.
	isWanted bool
	history  []string
}

func newWorld(t *testing.T, drawn *rapid.T) *world {
	job := waiting(replicas(v1alpha1.Worker, 4, func(r *v1alpha1.ReplicaSpec) {
		r.Template.Labels, r.Template.Spec.NodeSelector = map[string]string{"team": "a"}, map[string]string{"disk": "ssd"}
	}), elastic(2, 8), gpus(1))
	job.Namespace, job.UID, job.Labels = "n", "u", map[string]string{queue: "q"}
	flavor := &kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: kueue.ResourceFlavorSpec{
		NodeLabels: map[string]string{"pool": "gpu"}, Tolerations: []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}}}
	w := &world{T: drawn, users: *job.Spec.DeepCopy(), isWanted: true}
	w.Client = cluster(t, interceptor.Funcs{SubResourcePatch: applyStatus}, job, flavor, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	generic, err := jobframework.NewGenericReconcilerFactory(newJob)(t.Context(), w, nil, events.NewFakeRecorder(1000))
	if err != nil {
		t.Fatal(err)
	}
	w.adapter = &reconciler{client: w, quotas: quotas{w}, kueue: generic}
	return w
}

// applyStatus writes the status of a Workload that Kueue applies: it names all that it keeps.
//
//nolint:revive // the interceptor of controller-runtime has as many arguments
func applyStatus(ctx context.Context, c client.Client, _ string, o client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	applied, isWorkload := o.(*kueue.Workload)
	if patch.Type() != types.ApplyPatchType || !isWorkload {
		return c.Patch(ctx, o, patch)
	}
	var now kueue.Workload
	if err := c.Get(ctx, client.ObjectKeyFromObject(o), &now); err != nil {
		return err
	}
	now.Status = applied.Status
	return c.Update(ctx, &now)
}

func (w *world) job() *v1alpha1.TrainingJob {
	w.Helper()
	job := &v1alpha1.TrainingJob{}
	if err := w.Get(w.Context(), client.ObjectKey{Namespace: "n", Name: "j"}, job); err != nil {
		w.Fatal(err)
	}
	return job
}

// workload returns the job's Workload; nil if it has none.
func (w *world) workload() *kueue.Workload {
	w.Helper()
	var all kueue.WorkloadList
	if err := w.List(w.Context(), &all); err != nil || len(all.Items) > 1 {
		w.Fatalf("%d Workloads, %v, after %s", len(all.Items), err, w.history)
	}
	if len(all.Items) == 0 {
		return nil
	}
	return &all.Items[0]
}

func (w *world) patches(patch string) {
	w.Helper()
	if err := w.Patch(w.Context(), w.job(), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		w.Fatal(err)
	}
}

// writers are the clients of the API server, with what each writes in its turn.
var writers = map[string]func(*world){
	"kubectl tj suspend, or GitOps that writes both": func(w *world) {
		w.patches(tjSuspend)
		w.isWanted = false
	},
	"kubectl tj resume": func(w *world) {
		switch job := w.job(); {
		case !(*trainingJob)(job).isPaused():
			return
		case job.Spec.IsSuspended():
			w.patches(tjResume)
		default:
			w.patches(annotationOff)
		}
		w.isWanted = true
	},
	"a user suspends the running job by kubectl": func(w *world) {
		if !w.job().Spec.IsSuspended() {
			w.patches(`{"spec": {"suspend": true}}`)
			w.isWanted = false
		}
	},
	"a user replaces the running job by the manifest, with suspend: true": func(w *world) {
		job := w.job()
		if job.Spec.IsSuspended() || !(*trainingJob)(job).hasPods() {
			return
		}
		job.Spec, job.Annotations, job.Finalizers = *w.users.DeepCopy(), nil, nil
		job.Spec.Suspend = ptr.To(true)
		if err := w.Update(w.Context(), job); err != nil {
			w.Fatal(err)
		}
		w.isWanted = false
		w.adapts() // no pod ends before
	},
	"a pipeline pauses it by the annotation alone": func(w *world) {
		w.patches(`{"metadata": {"annotations": {"trainingjob.dev/queue-paused": "true"}}}`)
		w.isWanted = false
	},
	"a pipeline removes the annotation": func(w *world) {
		if j := (*trainingJob)(w.job()); j.isPaused() && (!j.IsSuspended() || !j.isStarted()) {
			w.patches(annotationOff)
			w.isWanted = true
		}
	},
	"Kueue preempts it": func(w *world) {
		if load := w.workload(); load != nil && workload.IsAdmitted(load) {
			w.evicts(load, kueue.WorkloadEvictedByPreemption)
		}
	},
	"Kueue": (*world).kueue, "the operator": (*world).operator, "the adapter": (*world).adapts,
}

func (w *world) evicts(load *kueue.Workload, reason string) {
	w.Helper()
	meta.SetStatusCondition(&load.Status.Conditions, metav1.Condition{Type: kueue.WorkloadEvicted, Status: metav1.ConditionTrue, Reason: reason})
	if err := w.Update(w.Context(), load); err != nil {
		w.Fatal(err)
	}
}

// kueue is what Kueue's own controllers do next: they evict what is not active, and admit two workers of what waits.
func (w *world) kueue() {
	w.Helper()
	load := w.workload()
	switch {
	case load == nil:
	case !workload.IsActive(load) && workload.HasQuotaReservation(load):
		w.evicts(load, kueue.WorkloadDeactivated)
	case workload.IsActive(load) && !workload.HasQuotaReservation(load) && load.DeletionTimestamp.IsZero():
		admits(load, load.Generation, 2)
		load.Status.Admission.PodSetAssignments[0].Flavors = map[corev1.ResourceName]kueue.ResourceFlavorReference{"nvidia.com/gpu": "gpu"}
		meta.RemoveStatusCondition(&load.Status.Conditions, kueue.WorkloadEvicted)
		if err := w.Update(w.Context(), load); err != nil {
			w.Fatal(err)
		}
	}
}

// operator ends the pods of a suspended job, and creates those of another.
func (w *world) operator() {
	w.Helper()
	job := w.job()
	job.Status.ObservedGeneration = job.Generation
	running(*job.Spec.ReplicaSpecs[v1alpha1.Worker].Replicas)(job)
	if job.Spec.IsSuspended() {
		running(0)(job)
	}
	if err := w.Update(w.Context(), job); err != nil {
		w.Fatal(err)
	}
}

// adapts is one reconcile of the adapter.
func (w *world) adapts() {
	w.Helper()
	_, err := w.adapter.Reconcile(w.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "n", Name: "j"}})
	if err != nil && !strings.Contains(err.Error(), "no matching workloads") {
		w.Fatalf("%v, after %s", err, strings.Join(w.history, ", "))
	}
	if load := w.workload(); load == nil || !workload.IsAdmitted(load) {
		w.hasTheUsersTemplates()
	}
}

// hasTheUsersTemplates fails if the job is suspended and its templates are not the user's.
func (w *world) hasTheUsersTemplates() {
	w.Helper()
	job := w.job()
	if diff := cmp.Diff(w.users.ReplicaSpecs, job.Spec.ReplicaSpecs); job.Spec.IsSuspended() && diff != "" {
		w.Fatalf("a suspended job that is not admitted (-want +got):\n%s\nafter %s", diff, strings.Join(w.history, ", "))
	}
}

// settles lets all but the users do what they do until they rest.
func (w *world) settles() {
	w.Helper()
	for range 8 {
		w.operator()
		w.adapts()
		w.kueue()
		w.adapts()
	}
}

// A suspended job that is not admitted has the user's templates, and a job that its user wants runs once there is quota, after any order of
// writes.
func TestAJobDoesWhatItsUserWroteLastInAnyOrderOfWrites(t *testing.T) {
	var names []string
	for name := range writers {
		names = append(names, name)
	}
	slices.Sort(names)
	rapid.Check(t, func(drawn *rapid.T) {
		w := newWorld(t, drawn)
		if rapid.Bool().Draw(drawn, "it runs") {
			w.settles()
		}
		for _, name := range rapid.SliceOfN(rapid.SampledFrom(names), 1, 16).Draw(drawn, "writers") {
			w.history = append(w.history, name)
			writers[name](w)
			load := w.workload()
			if (*trainingJob)(w.job()).IsActive() && (load == nil || !workload.HasQuotaReservation(load)) {
				w.Fatalf("its pods run without quota after %s", strings.Join(w.history, ", "))
			}
		}
		w.settles()
		job, load := w.job(), w.workload()
		isAdmitted := load != nil && workload.IsAdmitted(load)
		if job.Spec.IsSuspended() == w.isWanted || isAdmitted != w.isWanted || (*trainingJob)(job).isPaused() == w.isWanted {
			w.Errorf("wanted %v: suspended %v, admitted %v, annotations %v, after %s",
				w.isWanted, job.Spec.IsSuspended(), isAdmitted, job.Annotations, strings.Join(w.history, ", "))
		}
		if !isAdmitted {
			w.hasTheUsersTemplates()
		}
	})
}

// A user's kubectl tj suspend reaches the adapter as one write of the annotation and spec.suspend.
func TestKubectlTjSuspendOfADispatchedJobCarriesItsCounts(t *testing.T) {
	job, w := admitted(t, dispatched, suspended, paused, running(4))
	api := cluster(t, interceptor.Funcs{SubResourcePatch: patchWhole}, job, w)
	job, w = after(t, api, job)
	if carried := job.Annotations[v1alpha1.AnnotationCarriedStatus]; !strings.Contains(carried, `"attempt":3`) || !strings.Contains(carried, `"restarts":4`) {
		t.Errorf("it carries %q", carried)
	}
	if workload.IsActive(w) || (*trainingJob)(job).isStarted() {
		t.Errorf("the Workload is active: %v; labels of the template %v", workload.IsActive(w), job.Spec.ReplicaSpecs[v1alpha1.Worker].Template.Labels)
	}
}

// kubectl replace -f removes what the manifest does not name: the marks of the admission, the finalizer and the counts.
func TestAJobThatIsReplacedByASuspendedOneIsPaused(t *testing.T) {
	job, w := admitted(t, dispatched, suspended, running(4))
	job.Finalizers = nil
	for role, r := range job.Spec.ReplicaSpecs {
		r.Template.Labels, r.Template.Spec.NodeSelector = nil, nil
		job.Spec.ReplicaSpecs[role] = r
	}
	job, w = after(t, cluster(t, interceptor.Funcs{SubResourcePatch: patchWhole}, job, w), job)
	if carried := job.Annotations[v1alpha1.AnnotationCarriedStatus]; !(*trainingJob)(job).isPaused() || workload.IsActive(w) || !strings.Contains(carried, `"attempt":3`) {
		t.Errorf("annotations %v, the Workload is active: %v", job.Annotations, workload.IsActive(w))
	}
}

// The former adapter made such Workloads: their templates contain the changes of an admission.
func TestAJobWhoseWorkloadIsOfAnAdmissionStartsAgain(t *testing.T) {
	job, w := admitted(t, suspended, paused)
	w.Spec.PodSets[0].Template = job.DeepCopy().Spec.ReplicaSpecs[v1alpha1.Worker].Template
	w.Spec.Active, w.Status.Conditions = ptr.To(false), nil
	job, _ = after(t, cluster(t, interceptor.Funcs{}, job, w), job)
	if (*trainingJob)(job).isStarted() {
		t.Errorf("the next admission is taken for a suspension by the user: %v", job.Spec.ReplicaSpecs[v1alpha1.Worker].Template.Labels)
	}
}

// A user adds a role in the write that suspends the job, and removes its label.
func TestTheAdmissionIsTakenBackFromAJobThatHasChangedOtherwise(t *testing.T) {
	for name, change := range map[string]change{
		"it has another role": replicas(v1alpha1.PS, 1), "its role has no replicas": scaled(0), "it leaves its queue": unlabelled,
	} {
		t.Run(name, func(t *testing.T) {
			job, w := admitted(t, suspended, running(0), change)
			job, _ = after(t, cluster(t, interceptor.Funcs{}, job, w), job)
			if template := job.Spec.ReplicaSpecs[v1alpha1.Worker].Template; len(template.Labels)+len(template.Spec.NodeSelector) > 0 {
				t.Errorf("labels %v, node selector %v", template.Labels, template.Spec.NodeSelector)
			}
		})
	}
}

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/workload"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// gpus gives each worker so many GPUs.
func gpus(n int64) change {
	return func(j *v1alpha1.TrainingJob) {
		workers := j.Spec.ReplicaSpecs[v1alpha1.Worker]
		workers.Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(n, resource.DecimalSI)}
	}
}

// admits is the write of Kueue's scheduler for the Workload of that generation. It has no resourceVersion.
func admits(w *kueue.Workload, generation int64, workers int32) {
	w.Status.Admission = &kueue.Admission{ClusterQueue: "q", PodSetAssignments: []kueue.PodSetAssignment{{Name: "worker", Count: &workers}}}
	for _, condition := range []string{kueue.WorkloadQuotaReserved, kueue.WorkloadAdmitted} {
		meta.SetStatusCondition(&w.Status.Conditions, metav1.Condition{
			Type: condition, Status: metav1.ConditionTrue, Reason: "Admitted", ObservedGeneration: generation})
	}
}

// queued returns a waiting job and its Workload.
func queued(t *testing.T, changes ...change) (*v1alpha1.TrainingJob, *kueue.Workload) {
	t.Helper()
	job, w := admitted(t)
	job.Spec, job.Finalizers, job.Annotations = waiting(append([]change{replicas(v1alpha1.Worker, 2), elastic(1, 4), gpus(1)}, changes...)...).Spec, nil, nil
	sets, err := (*trainingJob)(job).PodSets(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Spec.PodSets, w.Spec.QueueName, w.Status = sets, "q", kueue.WorkloadStatus{}
	return job, w
}

// reconcileAll reconciles the job some times, with Kueue's controller.
func reconcileAll(t *testing.T, api client.Client, job *v1alpha1.TrainingJob) {
	t.Helper()
	generic, err := jobframework.NewGenericReconcilerFactory(newJob)(t.Context(), api, nil, events.NewFakeRecorder(100))
	if err != nil {
		t.Fatal(err)
	}
	r := &reconciler{client: api, quotas: quotas{api}, kueue: generic}
	for range 5 {
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(job)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(job), job); err != nil {
		t.Fatal(err)
	}
}

// A user changes a waiting job, the adapter changes its Workload, and Kueue's scheduler admits what it read before.
func TestAnAdmissionOfAnEarlierSizeSendsTheJobBackToItsQueue(t *testing.T) {
	for name, user := range map[string]change{
		"more workers": scaled(3), "fewer workers": scaled(1), "larger workers": gpus(8), "nothing": nil,
	} {
		t.Run(name, func(t *testing.T) {
			var changes []change
			generation := int64(1)
			if user != nil {
				changes, generation = []change{user}, 2
			}
			job, w := queued(t, changes...)
			requested := job.Spec.DeepCopy()
			w.Generation = generation
			admits(w, 1, 2)
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
			api := cluster(t, interceptor.Funcs{}, job, w, namespace)
			reconcileAll(t, api, job)
			var all kueue.WorkloadList
			if err := api.List(t.Context(), &all); err != nil || len(all.Items) != 1 {
				t.Fatalf("%d Workloads, error %v", len(all.Items), err)
			}
			if waits, reserved := job.Spec.IsSuspended(), workload.HasQuotaReservation(&all.Items[0]); waits != (user != nil) || reserved == waits {
				t.Errorf("it waits: %v, it has quota: %v; %d workers, annotations %v", waits, reserved, job.Spec.Replicas(v1alpha1.Worker), job.Annotations)
			}
			if diff := cmp.Diff(requested, &job.Spec); user != nil && diff != "" {
				t.Errorf("the job's spec (-want +got):\n%s", diff)
			}
		})
	}
}

// Its deletion, its deactivation and a new priority change the generation of a Workload too.
func TestAWorkloadKeepsItsQuotaForPodsThatAreEnding(t *testing.T) {
	for name, deleted := range map[string]bool{"it is deleted": true, "it has another priority": false} {
		t.Run(name, func(t *testing.T) {
			job, w := queued(t)
			running(2)(job)
			admits(w, 1, 2)
			w.Generation = 2
			if deleted {
				w.DeletionTimestamp = ptr.To(metav1.Now())
			}
			if _, w = after(t, cluster(t, interceptor.Funcs{}, job, w), job); w == nil {
				t.Error("the Workload is gone, and with it the quota of two pods")
			}
		})
	}
}

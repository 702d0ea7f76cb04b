package world

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/kubeflow/serve"
	"github.com/trainingjob/operator/pkg/local/server"
)

// Submit creates the job.
func (w *World) Submit(job *v1alpha1.TrainingJob) {
	w.Key = client.ObjectKeyFromObject(job)
	w.served = nil
	if metav1.GetControllerOf(job) != nil {
		w.served = &serve.Served{Child: job.DeepCopy()}
	}
	w.say("user: creates job %s", job.Name)
	w.must(&server.Request{User: User, Verb: server.Create, Kind: server.Jobs, Key: w.Key, Object: job})
}

// EditSpec changes the spec of the job, if there is one. Of a job that serves a Kubeflow job, it changes that one.
func (w *World) EditSpec(change func(*v1alpha1.TrainingJobSpec)) {
	if w.served != nil {
		w.editServed(change)
		return
	}
	w.EditTrainingJob(change)
}

// EditTrainingJob changes the spec of the TrainingJob alone, if there is one.
func (w *World) EditTrainingJob(change func(*v1alpha1.TrainingJobSpec)) {
	job := w.Job()
	if job == nil || job.DeletionTimestamp != nil {
		return
	}
	edited := job.DeepCopy()
	change(&edited.Spec)
	w.say("user: suspend %t, workers %d", edited.Spec.IsSuspended(), edited.Spec.Replicas(v1alpha1.Worker))
	w.must(&server.Request{User: User, Verb: server.Update, Kind: server.Jobs, Key: w.Key, Object: edited})
}

// EditStatus has a person write other words into the status.
func (w *World) EditStatus() {
	job := w.Job()
	if job == nil || job.DeletionTimestamp != nil || job.Status.Phase == "" { // the operator has not written it yet
		return
	}
	edited := job.DeepCopy()
	edited.Status.Message, edited.Status.Ready = "edited", ""
	w.say("user: edits the status")
	w.must(&server.Request{User: User, Verb: server.Update, Kind: server.Jobs, Status: true, Key: w.Key, Object: edited})
}

// ReleaseQuota lets a deleted job go, as Kueue's adapter does when the status counts no active pod of the present generation. It reports whether
// it has.
func (w *World) ReleaseQuota() bool {
	job := w.Job()
	if job.Status.ObservedGeneration != job.Generation || Active(job) > 0 {
		return false
	}
	released := job.DeepCopy()
	released.Finalizers = slices.DeleteFunc(released.Finalizers, func(name string) bool { return name == v1alpha1.FinalizerQuota })
	w.say("kueue: the quota of %s is free", job.Name)
	w.must(&server.Request{User: User, Verb: server.Update, Kind: server.Jobs, Key: w.Key, Object: released})
	return true
}

// Active returns how many pods the job's status counts as active.
func Active(job *v1alpha1.TrainingJob) int32 {
	var active int32
	for _, status := range job.Status.ReplicaStatuses {
		active += status.Active
	}
	return active
}

// AskForRestart asks for a restart of the whole job, if there is one.
func (w *World) AskForRestart() { w.askForRestart("") }

// AskForRestartOf asks for a restart of one replica, such as worker-1.
func (w *World) AskForRestartOf(replica string) { w.askForRestart(replica + ": ") }

func (w *World) askForRestart(of string) {
	job := w.Job()
	if job == nil || job.DeletionTimestamp != nil {
		return
	}
	w.requests++
	words := fmt.Sprintf("%srequest %d", of, w.requests)
	asking := job.DeepCopy()
	asking.Annotations = map[string]string{v1alpha1.AnnotationRestart: words}
	w.say("user: asks for a restart, %s", words)
	w.must(&server.Request{User: User, Verb: server.Update, Kind: server.Jobs, Key: w.Key, Object: asking})
}

// Suspend sets spec.suspend.
func (w *World) Suspend(yes bool) {
	w.EditSpec(func(spec *v1alpha1.TrainingJobSpec) { spec.Suspend = &yes })
	w.training.shown = 0
}

// Scale sets the number of workers.
func (w *World) Scale(n int) {
	w.EditSpec(func(spec *v1alpha1.TrainingJobSpec) {
		workers := spec.ReplicaSpecs[v1alpha1.Worker]
		workers.Replicas = ptr.To(int32(n))
		spec.ReplicaSpecs[v1alpha1.Worker] = workers
	})
}

// DeleteJob deletes the job.
func (w *World) DeleteJob(propagation metav1.DeletionPropagation) {
	if w.Job() == nil {
		return
	}
	w.say("user: deletes the job, %s", propagation)
	w.must(&server.Request{User: User, Verb: server.Delete, Kind: server.Jobs, Key: w.Key, Delete: metav1.DeleteOptions{PropagationPolicy: &propagation}})
}

// DeletePod asks for the end of a pod.
func (w *World) DeletePod(user string, pod *corev1.Pod) {
	w.say("%s: deletes %s, %s", user, pod.Name, pod.Status.Phase)
	w.must(&server.Request{User: user, Verb: server.Delete, Kind: server.Pods, Key: client.ObjectKeyFromObject(pod)})
}

// Drain says why a pod has to go and deletes it.
func (w *World) Drain(user string, pod *corev1.Pod, reason string) {
	if !IsOver(pod) {
		w.writePod(user, pod, func(pod *corev1.Pod) {
			setCondition(&pod.Status, corev1.DisruptionTarget, reason, "Taken away.")
			pod.Status.Conditions[len(pod.Status.Conditions)-1].LastTransitionTime = w.second()
		})
	}
	w.DeletePod(user, pod)
}

// CreatePod creates a pod of the user's own; edit makes it what it is to be.
func (w *World) CreatePod(name string, edit func(*corev1.Pod)) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Key.Namespace, Name: name}}
	edit(pod)
	w.say("user: creates pod %s", name)
	w.must(&server.Request{User: User, Verb: server.Create, Kind: server.Pods, Key: client.ObjectKeyFromObject(pod), Object: pod})
}

// CreateService creates a Service of the user's own.
func (w *World) CreateService(name string) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.Key.Namespace, Name: name}}
	w.say("user: creates Service %s", name)
	w.must(&server.Request{User: User, Verb: server.Create, Kind: server.Services, Key: client.ObjectKeyFromObject(service), Object: service})
}

// DeleteService deletes the Service of that name.
func (w *World) DeleteService(name string) {
	w.say("user: deletes Service %s", name)
	w.must(&server.Request{User: User, Verb: server.Delete, Kind: server.Services, Key: client.ObjectKey{Namespace: w.Key.Namespace, Name: name}})
}

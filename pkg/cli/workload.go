package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Kueue itself queues the Kubeflow jobs that the operator serves, and starts each one whose Workload is admitted and active. So a user stops
// such a job by its Workload, and the Workload alone shows why it waits.

// workload is what kubectl tj reads of a Workload. Kueue's own types need Kueue's modules.
type workload struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		QueueName string `json:"queueName"`
		Active    *bool  `json:"active"`
	} `json:"spec"`
	Status struct {
		Conditions      []metav1.Condition `json:"conditions"`
		AdmissionChecks []struct {
			Name    string `json:"name"`
			State   string `json:"state"`
			Message string `json:"message"`
		} `json:"admissionChecks"`
	} `json:"status"`
}

var workloadKind = schema.GroupVersionKind{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "Workload"}

// workloads returns the Workloads of a namespace, or of all if it is empty, by the UID of the job that controls each. There are none without
// Kueue.
func (c *connection) workloads(ctx context.Context, namespace string) (map[types.UID]*workload, error) {
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(workloadKind)
	if err := c.kube.List(ctx, &list, client.InNamespace(namespace)); meta.IsNoMatchError(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	byJob := map[types.UID]*workload{}
	for i := range list.Items {
		w := &workload{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, w); err != nil {
			return nil, fmt.Errorf("reading Workload %s: %w", list.Items[i].GetName(), err)
		}
		if ref := metav1.GetControllerOf(w); ref != nil && w.DeletionTimestamp.IsZero() {
			byJob[ref.UID] = w
		}
	}
	return byJob, nil
}

func (w *workload) isActive() bool { return ptr.Deref(w.Spec.Active, true) }

// isGivenUp reports whether Kueue itself has deactivated the Workload. Kueue 0.19 does not queue it again when it becomes active.
func (w *workload) isGivenUp() bool {
	evicted := meta.FindStatusCondition(w.Status.Conditions, "Evicted")
	return !w.isActive() && evicted != nil && strings.HasPrefix(evicted.Reason, "DeactivatedDueTo")
}

// activate sets spec.active. It deletes a Workload that Kueue has given up, and Kueue makes another.
func (c *connection) activate(ctx context.Context, w *workload, active bool) error {
	changed := &unstructured.Unstructured{}
	changed.SetGroupVersionKind(workloadKind)
	changed.SetNamespace(w.Namespace)
	changed.SetName(w.Name)
	changed.SetUID(w.UID)
	if active && w.isGivenUp() {
		return client.IgnoreNotFound(c.kube.Delete(ctx, changed, client.Preconditions{UID: &w.UID}))
	}
	return c.set(ctx, changed, field{[]string{"spec", "active"}, active})
}

// asQueued returns the job as showQueues shows it.
func (c *connection) asQueued(ctx context.Context, job *v1alpha1.TrainingJob) *v1alpha1.TrainingJob {
	jobs := []v1alpha1.TrainingJob{*job.DeepCopy()}
	c.showQueues(ctx, job.Namespace, jobs)
	return &jobs[0]
}

// showQueues gives each job that serves a waiting Kubeflow job the status of a TrainingJob in Kueue's queue, with Kueue's message. A caller
// who may not read Workloads gets the operator's words.
func (c *connection) showQueues(ctx context.Context, namespace string, jobs []v1alpha1.TrainingJob) {
	isWaiting := func(job v1alpha1.TrainingJob) bool {
		return state.ServedJob(&job) != nil && job.Status.Phase == v1alpha1.PhaseSuspended
	}
	if !slices.ContainsFunc(jobs, isWaiting) {
		return
	}
	byJob, _ := c.workloads(ctx, namespace)
	for i := range jobs {
		if !isWaiting(jobs[i]) {
			continue
		}
		if w := byJob[state.ServedJob(&jobs[i]).UID]; w != nil {
			w.showIn(&jobs[i])
		}
	}
}

// showIn changes what the job shows. It writes nothing to the cluster.
func (w *workload) showIn(job *v1alpha1.TrainingJob) {
	message := w.whyItWaits()
	if !w.isActive() && !w.isGivenUp() {
		message = "it was suspended, and does not wait for quota until kubectl tj resume " + nameOf(job)
		metav1.SetMetaDataAnnotation(&job.ObjectMeta, v1alpha1.AnnotationQueuePaused, "true")
	}
	if message == "" {
		return
	}
	metav1.SetMetaDataLabel(&job.ObjectMeta, v1alpha1.LabelQueue, w.Spec.QueueName)
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, v1alpha1.AnnotationQueueMessage, message)
	status := &job.Status
	status.Phase, status.Reason, status.Message = v1alpha1.PhaseQueued, v1alpha1.ReasonQueued, state.WhyQueued(job)
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionQueued, Status: metav1.ConditionTrue, Reason: status.Reason, Message: status.Message})
}

// whyItWaits returns why the Workload is not admitted, in Kueue's words; empty if it is, or if there is no message yet.
func (w *workload) whyItWaits() string {
	quota := meta.FindStatusCondition(w.Status.Conditions, "QuotaReserved")
	switch {
	case quota == nil, meta.IsStatusConditionTrue(w.Status.Conditions, "Admitted"):
		return ""
	case quota.Status == metav1.ConditionFalse:
		return quota.Message
	}
	var waits []string
	for _, check := range w.Status.AdmissionChecks {
		if check.State != "Ready" {
			waits = append(waits, strings.TrimSuffix(fmt.Sprintf("admission check %s is %s: %s", check.Name, check.State, check.Message), ": "))
		}
	}
	return strings.Join(waits, "; ")
}

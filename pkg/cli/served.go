package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/advice"
	"github.com/trainingjob/operator/pkg/cli/story"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/kubeflow/convert"
)

// servedJob returns the TrainingJob that serves a Kubeflow job. Without one, the error gives the cause.
func (c *connection) servedJob(ctx context.Context, kind convert.Kind, name string) (*v1alpha1.TrainingJob, error) {
	job := &v1alpha1.TrainingJob{}
	err := c.kube.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, job)
	switch {
	case apierrors.IsNotFound(err):
		if step := c.openStep(ctx, kind, name); step != nil {
			return step, nil
		}
		return nil, c.unserved(ctx, kind, name, nil)
	case err == nil && !serves(job, kind):
		return nil, c.unserved(ctx, kind, name, job)
	}
	return job, err
}

// openStep returns the TrainingJob of a step that has not succeeded, before the JobSet has one of its own name; nil for none.
func (c *connection) openStep(ctx context.Context, kind convert.Kind, set string) *v1alpha1.TrainingJob {
	var jobs v1alpha1.TrainingJobList
	if err := c.kube.List(ctx, &jobs, client.InNamespace(c.namespace)); err != nil {
		return nil
	}
	at := slices.IndexFunc(jobs.Items, func(job v1alpha1.TrainingJob) bool {
		return serves(&job, kind) && state.ServedJob(&job).Kind == jobSet.Name && state.ServedJob(&job).Name == set && job.Status.Phase != v1alpha1.PhaseSucceeded
	})
	if at < 0 {
		return nil
	}
	return &jobs.Items[at]
}

// serves reports whether the TrainingJob serves a Kubeflow job of that kind, or the JobSet of a TrainJob.
func serves(job *v1alpha1.TrainingJob, kind convert.Kind) bool {
	ref := state.ServedJob(job)
	return ref != nil && (ref.Kind == kind.Name || kind == trainJob && ref.Kind == jobSet.Name)
}

// nameOf returns the name under which kubectl tj shows a job.
func nameOf(job *v1alpha1.TrainingJob) string { return advice.Of(job, "").Name() }

// addServed adds the Kubeflow job that the job serves, and its warnings: changes that the operator refused, and Services or an autoscaler that the API
// server refused. A caller who may read the TrainingJob alone gets the story of that.
func (c *connection) addServed(ctx context.Context, v *story.View) {
	ref := state.ServedJob(v.Job)
	if ref == nil {
		return
	}
	served := emptyOf(ref.Kind)
	if err := c.kube.Get(ctx, client.ObjectKey{Namespace: v.Job.Namespace, Name: ref.Name}, served); err != nil {
		return
	}
	v.Served = served
	events, _ := c.eventsAbout(ctx, served)
	for i := range events {
		// the status of the TrainingJob shows it
		isOfCondition := strings.HasPrefix(events[i].Reason, ref.Kind) || slices.Contains([]string{"Failed", "RestartingJobSet"}, events[i].Action)
		if events[i].Type == corev1.EventTypeWarning && !isOfCondition {
			v.Events = append(v.Events, events[i])
		}
	}
}

// target is the object that a verb changes: a TrainingJob, or the Kubeflow job that it serves. The operator changes the TrainingJob after that.
type target struct {
	client.Object
	// word is the kind in lower case: pytorchjob.
	word string
	// isSuspended is what the object itself requests.
	isSuspended bool
	// workload is the Workload by which Kueue queues a Kubeflow job; nil if there is none, or if no verb needs it.
	workload *workload
	// suspend and workers are the paths of fields.
	suspend, workers []string
}

// target returns what to change for the job.
func (c *connection) target(ctx context.Context, job *v1alpha1.TrainingJob) (*target, error) {
	ref := state.ServedJob(job)
	if ref == nil {
		return &target{
			Object: job, word: "trainingjob", isSuspended: job.Spec.IsSuspended(),
			suspend: []string{"spec", "suspend"}, workers: []string{"spec", "replicaSpecs", string(v1alpha1.Worker), "replicas"},
		}, nil
	}
	kind, isKnown := kubeflowKind(ref.Kind)
	if !isKnown {
		return nil, fmt.Errorf("%s serves a %s, which this program does not know: change that with kubectl", job.Name, ref.Kind)
	}
	served := emptyOf(kind.Name)
	if err := c.kube.Get(ctx, client.ObjectKey{Namespace: job.Namespace, Name: ref.Name}, served); err != nil {
		return nil, err
	}
	if kind == jobSet {
		return c.targetJobSet(ctx, served)
	}
	isSuspended, _, err := unstructured.NestedBool(served.Object, "spec", "runPolicy", "suspend")
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", kind.Name, job.Name, err)
	}
	return &target{
		Object: served, word: singular(kind.Name), isSuspended: isSuspended,
		suspend: []string{"spec", "runPolicy", "suspend"}, workers: []string{"spec", kind.ReplicaSpecs, workerIn(served, kind), "replicas"},
	}, nil
}

// targetJobSet returns the TrainJob that owns the JobSet, or else the JobSet. In both, the number of pods is in several fields.
func (c *connection) targetJobSet(ctx context.Context, set *unstructured.Unstructured) (*target, error) {
	t := &target{Object: set, word: singular(jobSet.Name), suspend: []string{"spec", "suspend"}}
	if owner := metav1.GetControllerOf(set); owner != nil && owner.Kind == v1alpha1.TrainJobKind {
		job := &unstructured.Unstructured{}
		job.SetGroupVersionKind(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind))
		if err := c.kube.Get(ctx, client.ObjectKey{Namespace: set.GetNamespace(), Name: owner.Name}, job); err != nil {
			return nil, err
		}
		t.Object, t.word = job, singular(owner.Kind)
		set = job
	}
	isSuspended, _, err := unstructured.NestedBool(set.Object, t.suspend...)
	t.isSuspended = isSuspended
	return t, err
}

// workerIn returns how the Kubeflow job spells its role Worker.
func workerIn(served *unstructured.Unstructured, kind convert.Kind) string {
	roles, _, _ := unstructured.NestedMap(served.Object, "spec", kind.ReplicaSpecs)
	for role := range roles {
		if strings.EqualFold(role, string(v1alpha1.Worker)) {
			return role
		}
	}
	return string(v1alpha1.Worker)
}

// field is a value for a field of an object.
type field struct {
	path  []string
	value any
}

// set changes fields of the object, if it is still the same one. A nil value removes the field.
func (c *connection) set(ctx context.Context, o client.Object, fields ...field) error {
	change := map[string]any{"metadata": map[string]any{"uid": string(o.GetUID())}}
	for _, f := range fields {
		if err := unstructured.SetNestedField(change, f.value, f.path...); err != nil {
			return err
		}
	}
	patch, err := json.Marshal(change)
	if err != nil {
		return err
	}
	copied, _ := o.DeepCopyObject().(client.Object)
	return c.kube.Patch(ctx, copied, client.RawPatch(types.MergePatchType, patch), fieldOwner)
}

// pausedPath is where a user pauses a TrainingJob of a queue. requeuedPath is where a user sends it back to its queue: without it, a resumption
// that overtakes the adapter would leave spec.suspend alone, which the adapter takes for the user's wish.
var (
	pausedPath   = []string{"metadata", "annotations", v1alpha1.AnnotationQueuePaused}
	requeuedPath = []string{"metadata", "annotations", v1alpha1.AnnotationQueueResized}
)

// isQueued reports whether the adapter of Kueue starts and suspends the object.
func (t *target) isQueued() bool {
	_, isTrainingJob := t.Object.(*v1alpha1.TrainingJob)
	return isTrainingJob && t.GetLabels()[v1alpha1.LabelQueue] != ""
}

// isPaused reports whether a user has suspended the object.
func (t *target) isPaused() bool {
	if t.workload != nil {
		return !t.workload.isActive()
	}
	if _, paused := t.GetAnnotations()[v1alpha1.AnnotationQueuePaused]; t.isQueued() {
		return paused
	}
	return t.isSuspended
}

// setSuspend suspends or resumes the target. A TrainingJob of a queue is paused, and of a Kubeflow job in a queue the Workload, because only
// the queue starts them.
func (c *connection) setSuspend(ctx context.Context, t *target, suspend bool) error {
	switch {
	case t.workload != nil:
		return c.activate(ctx, t.workload, !suspend)
	case t.isQueued() && suspend:
		return c.set(ctx, t, field{pausedPath, "true"}, field{t.suspend, true})
	case t.isQueued() && t.isSuspended:
		return c.set(ctx, t, field{pausedPath, nil}, field{requeuedPath, "true"})
	case t.isQueued():
		return c.set(ctx, t, field{pausedPath, nil})
	default:
		return c.set(ctx, t, field{t.suspend, suspend})
	}
}

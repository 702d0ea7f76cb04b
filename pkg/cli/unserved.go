package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/nearest"
	"github.com/trainingjob/operator/pkg/cli/story"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/kubeflow/convert"
)

// unserved returns the error about a Kubeflow job that no TrainingJob serves: the cause, and the next step. other is the TrainingJob of its name.
func (c *connection) unserved(ctx context.Context, kind convert.Kind, name string, other *v1alpha1.TrainingJob) error {
	served := emptyOf(kind.Name)
	err := c.kube.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, served)
	switch {
	case meta.IsNoMatchError(err):
		return fmt.Errorf("the cluster does not know %ss: an administrator must install their CRD, as docs/migrating.md shows", kind.Name)
	case apierrors.IsNotFound(err):
		return c.unknownKubeflowJob(ctx, kind, name)
	case err != nil:
		return err
	}
	job := fmt.Sprintf("%s %s", kind.Name, name)
	if cause := causeInStatus(kind, served); cause != "" {
		return fmt.Errorf("%s %s", job, cause)
	}
	if kind == trainJob {
		return c.unservedTrainJob(ctx, served, other)
	}
	if other != nil {
		return fmt.Errorf("%s is not served: %s has its name. Give one of them another name", job, state.HolderOf(v1alpha1.Kind, other))
	}
	if pod := c.podOfKubeflow(ctx, served); pod != "" {
		return fmt.Errorf("%s has pods that no TrainingJob owns, such as %s: the job ends as they do, and a TrainingJob takes over when one of them fails. See kubectl get pods -n %s -l %s=%s",
			job, pod, c.namespace, v1alpha1.KubeflowLabelJobName, name)
	}
	if made := served.GetCreationTimestamp(); !made.IsZero() && time.Since(made.Time) < unseenAfter {
		return fmt.Errorf("%s was created a moment ago and has no TrainingJob yet: try again", job)
	}
	if warning := c.latestWarning(ctx, served); warning != "" {
		return fmt.Errorf("%s has no TrainingJob. Its latest Event: %s", job, warning)
	}
	switch found, _ := c.operators(ctx); {
	case isFlagged(found.own, kind) && kind == jobSet:
		return fmt.Errorf("%s has no TrainingJob, although the operator has --jobsets: kubectl tj doctor checks the operator, and its log has the cause", job)
	case isFlagged(found.own, kind):
		return fmt.Errorf("%s has no TrainingJob, although --kubeflow-kinds of the operator names its kind: kubectl tj doctor checks the operator, and its log has the cause", job)
	case kind == jobSet:
		return fmt.Errorf("%s has no TrainingJob, so no operator serves it: an administrator starts the operator with --jobsets (docs/migrating.md)", job)
	}
	return fmt.Errorf("%s has no TrainingJob, so no operator serves it: kubectl tj doctor shows the served kinds. An administrator adds %s to --kubeflow-kinds (docs/migrating.md)", job, kind.Name)
}

// unservedTrainJob returns the error about a TrainJob without a TrainingJob: the cause is in its JobSet, if Trainer has made one.
func (c *connection) unservedTrainJob(ctx context.Context, job *unstructured.Unstructured, other *v1alpha1.TrainingJob) error {
	err := c.kube.Get(ctx, client.ObjectKeyFromObject(job), emptyOf(jobSet.Name))
	switch warning := c.latestWarning(ctx, job); {
	case !apierrors.IsNotFound(err):
		return c.unserved(ctx, jobSet, job.GetName(), other)
	case warning != "":
		return fmt.Errorf("TrainJob %s has no JobSet. Its latest Event: %s", job.GetName(), warning)
	default:
		return fmt.Errorf("TrainJob %s has no JobSet: Trainer's controller makes one from its runtime, and the log of that controller has the cause", job.GetName())
	}
}

// unknownKubeflowJob returns the error about a Kubeflow job that does not exist.
func (c *connection) unknownKubeflowJob(ctx context.Context, kind convert.Kind, name string) error {
	text := fmt.Sprintf("there is no %s %s in namespace %s", kind.Name, name, c.namespace)
	if near := nearest.Name(name, c.kubeflowNames(ctx, kind)); near != "" {
		return fmt.Errorf("%s; did you mean %s/%s?", text, singular(kind.Name), near)
	}
	return fmt.Errorf("%s: see kubectl get %s -n %s", text, plural(kind.Name), c.namespace)
}

// kubeflowNames returns the names of the Kubeflow jobs of that kind in the namespace; none if the caller may not list them.
func (c *connection) kubeflowNames(ctx context.Context, kind convert.Kind) []string {
	list := emptyListOf(kind.Name)
	if err := c.kube.List(ctx, list, client.InNamespace(c.namespace)); err != nil {
		return nil
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].GetName())
	}
	return names
}

// causeInStatus returns why the Kubeflow job needs no TrainingJob, as its spec and its conditions show it; empty for no cause.
func causeInStatus(kind convert.Kind, served *unstructured.Unstructured) string {
	manager, _, _ := unstructured.NestedString(served.Object, "spec", "runPolicy", "managedBy")
	if kind == jobSet {
		if own, _, _ := unstructured.NestedString(served.Object, "spec", "managedBy"); own != v1alpha1.OperatorName {
			return "is not run by this operator: spec.managedBy is not " + v1alpha1.OperatorName + ", which a JobSet gets at its creation only, as of a TrainJob from its runtime (docs/migrating.md)"
		}
	}
	if manager != "" && manager != "kubeflow.org/training-operator" {
		return fmt.Sprintf("is run by %s (spec.runPolicy.managedBy), not by this operator", manager)
	}
	conditions, _, _ := unstructured.NestedSlice(served.Object, "status", "conditions")
	for _, each := range conditions {
		condition, _ := each.(map[string]any)
		text := func(field string) string { value, _ := condition[field].(string); return state.Printable(value) }
		switch {
		case text("status") != "True":
		case text("reason") == kind.Name+"FailedValidation", kind == jobSet && text("reason") == "FailedValidation":
			return "was refused: " + sentence(text("message")) + " Correct that, delete the job and create it again"
		case slices.Contains([]string{"Succeeded", "Completed", "Complete", "Failed"}, text("type")):
			return "has ended, and no TrainingJob has its history: " + text("message")
		}
	}
	return ""
}

// podOfKubeflow returns the name of a pod that Kubeflow's operator made for the job; empty for none.
func (c *connection) podOfKubeflow(ctx context.Context, served *unstructured.Unstructured) string {
	var pods corev1.PodList
	if err := c.kube.List(ctx, &pods, client.InNamespace(served.GetNamespace()), client.MatchingLabels{v1alpha1.KubeflowLabelJobName: served.GetName()}); err != nil {
		return ""
	}
	i := slices.IndexFunc(pods.Items, func(pod corev1.Pod) bool { return metav1.IsControlledBy(&pod, served) && state.OwnerOf(&pod) == nil })
	if i < 0 {
		return ""
	}
	return pods.Items[i].Name
}

// latestWarning returns the newest warning about an object, with its reason; empty for none.
func (c *connection) latestWarning(ctx context.Context, o client.Object) string {
	events, err := c.eventsAbout(ctx, o)
	if err != nil {
		return ""
	}
	events = slices.DeleteFunc(events, func(e corev1.Event) bool { return e.Type != corev1.EventTypeWarning })
	if len(events) == 0 {
		return ""
	}
	latest := slices.MaxFunc(events, func(a, b corev1.Event) int { return story.Seen(&a).Compare(story.Seen(&b)) })
	return state.Printable(latest.Reason + ": " + latest.Message)
}

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/pkg/state"
)

// deletePod deletes the pod if it still has the step's UID and version. That nobody has written to it since it was read keeps a pod
// whose node has just told how it ended from going unread, and one that waits from going when the scheduler has just found its node.
func (c *Cluster) deletePod(ctx context.Context, job *v1alpha1.TrainingJob, step plan.DeletePod) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: step.Name}}
	as := client.Preconditions{UID: &step.UID}
	if step.Version != "" {
		as.ResourceVersion = &step.Version
	}
	options := []client.DeleteOption{as, client.DisableReadYourWritesConsistency}
	switch {
	case step.Force:
		options = append(options, client.GracePeriodSeconds(0))
	case step.Grace != nil:
		options = append(options, client.GracePeriodSeconds(*step.Grace))
	}
	err := c.client.Delete(ctx, pod, options...)
	switch {
	case apierrors.IsConflict(err) && step.Version != "":
		return staleCache(job, "pod "+step.Name+" has changed")
	case err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		c.expectWrite(job, step.UID, true)
		return nil
	default:
		return fmt.Errorf("deleting pod %s: %w", step.Name, err)
	}
}

// restartPod patches the pod if nobody has written to it since it was read. That somebody will not have it changed so is remembered:
// the pod is then created anew.
func (c *Cluster) restartPod(ctx context.Context, job *v1alpha1.TrainingJob, step plan.RestartPod) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: step.Name}}
	life, annotations := step.Told.Life, map[string]any{v1alpha1.AnnotationTold: step.Told.String(), v1alpha1.AnnotationStopRequest: nil}
	if step.Port != 0 {
		annotations[v1alpha1.AnnotationLeaderPort] = strconv.Itoa(int(step.Port))
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{
			"uid": step.UID, "resourceVersion": step.Version,
			"labels":      map[string]string{v1alpha1.LabelAttempt: strconv.Itoa(life.Attempt), v1alpha1.LabelLife: life.String()},
			"annotations": annotations,
		},
		"spec": map[string]any{"containers": []map[string]string{{"name": step.Container, "image": step.Image}}},
	})
	if err == nil {
		err = c.client.Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, patch))
	}
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err), isAnother(err):
		return staleCache(job, "pod "+step.Name+" has changed")
	case refusalReason(err) != "" && !isDenied(err):
		c.refuseRestart(job, step.UID)
		return staleCache(job, "pod "+step.Name+" may not be restarted in place: "+apiMessage(err))
	default:
		return fmt.Errorf("restarting pod %s in place: %w", step.Name, err)
	}
}

// promotePod has the warm spare become the replica, unless it has. Of one that is gone, or cannot any more, that is remembered, so that the
// replica gets a pod of its own. The API server is asked, not the cache: the answer gives the replica another life.
func (c *Cluster) promotePod(ctx context.Context, job *v1alpha1.TrainingJob, step plan.PromotePod) error {
	var pod corev1.Pod
	err := c.live.Get(ctx, client.ObjectKey{Namespace: job.Namespace, Name: step.Name}, &pod)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the warm spare %s: %w", step.Name, err)
	}
	slot, life, isReplica := state.PlaceOf(job.Name, &pod)
	spare, isSpare := state.SpareOf(job.Name, &pod)
	switch {
	case err != nil, !isControlledBy(&pod, job), isReplica && (slot != step.Slot || life != step.Life), isSpare && !canBecomeReplica(&spare):
		c.withdraw(job, step.Name)
		return staleCache(job, "the warm spare "+step.Name+" is gone or cannot become a replica any more")
	case isReplica:
		return staleCache(job, "it does not show that "+step.Name+" has become "+step.Slot.String())
	}
	if err := c.tellSpare(ctx, job, &pod, step); err != nil {
		return fmt.Errorf("having the warm spare %s become %s: %w", step.Name, step.Slot, err)
	}
	return nil
}

// tellSpare patches the warm spare, which is as it was read, or not at all.
func (c *Cluster) tellSpare(ctx context.Context, job *v1alpha1.TrainingJob, spare *corev1.Pod, step plan.PromotePod) error {
	labels, annotations := plan.Promotion(job, step)
	told := map[string]any{v1alpha1.LabelSpare: nil}
	for name, value := range labels {
		told[name] = value
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": spare.UID, "resourceVersion": spare.ResourceVersion, "labels": told, "annotations": annotations}})
	if err == nil {
		err = c.client.Patch(ctx, spare, client.RawPatch(types.MergePatchType, patch))
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || isAnother(err) {
		return staleCache(job, "the warm spare "+step.Name+" has changed")
	}
	return err
}

// withdraw remembers that the warm spare of that name can become no replica any more.
func (c *Cluster) withdraw(job *v1alpha1.TrainingJob, name string) {
	c.memo(job, func(m *jobMemo) {
		known := map[string]bool{name: true}
		maps.Copy(known, m.withdrawn)
		m.withdrawn = known
	})
}

// canBecomeReplica reports whether the spare still waits to become a replica, and nobody is about to take it away.
func canBecomeReplica(p *state.Pod) bool {
	return p.Waits && p.Phase == corev1.PodPending && p.Deleted.IsZero() && p.Disruption.Reason == ""
}

// refuseRestart remembers that the API server refuses to have the pod restarted in place.
func (c *Cluster) refuseRestart(job *v1alpha1.TrainingJob, pod types.UID) {
	c.memo(job, func(m *jobMemo) {
		if m.unrestartable == nil {
			m.unrestartable = map[types.UID]bool{}
		}
		m.unrestartable[pod] = true
	})
}

var deniedVerb = regexp.MustCompile(`cannot [a-z]+ resource`)

// isDenied reports whether the operator lacks the right, which says nothing of the object: an API server that has just started denies
// everything until it has read the roles.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go.
func isDenied(err error) bool {
	return apierrors.IsForbidden(err) && deniedVerb.MatchString(err.Error())
}

// askPod writes what the ranks are asked to the pod; one that is gone or another is nothing to do.
func (c *Cluster) askPod(ctx context.Context, job *v1alpha1.TrainingJob, step plan.AskPod) error {
	var text any
	if step.Text != "" {
		text = step.Text
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": step.UID, "annotations": map[string]any{v1alpha1.AnnotationStopRequest: text}}})
	if err == nil {
		err = c.changePod(ctx, job, step.Name, patch)
	}
	if err != nil {
		return fmt.Errorf("asking pod %s for a checkpoint: %w", step.Name, err)
	}
	return nil
}

// fence takes the pod out of the Service if it still has the UID; one that is gone or another is nothing to do.
func (c *Cluster) fence(ctx context.Context, job *v1alpha1.TrainingJob, step plan.FencePod) error {
	patch := fmt.Sprintf(`{"metadata":{"uid":%q,"labels":{%q:null}}}`, step.UID, v1alpha1.LabelJobName)
	if err := c.changePod(ctx, job, step.Name, []byte(patch)); err != nil {
		return fmt.Errorf("taking pod %s out of the Service: %w", step.Name, err)
	}
	return nil
}

// changePod patches the pod of that name; one that is gone, or another than the patch names, is nothing to do. That it is another the
// API server calls invalid, as nobody can change a UID, and not a conflict.
func (c *Cluster) changePod(ctx context.Context, job *v1alpha1.TrainingJob, name string, patch []byte) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: name}}
	err := c.client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch), client.DisableReadYourWritesConsistency)
	if err == nil || apierrors.IsNotFound(err) || isAnother(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

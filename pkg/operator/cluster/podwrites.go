package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
)

// deletePod deletes the pod if it still has the step's UID and version. The version protects a pod whose node has just reported
// how it ended, and a pending pod that has just got a node.
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
		if step.Force {
			c.deletedByForce(job, step.UID)
		}
		return nil
	default:
		return fmt.Errorf("deleting pod %s: %w", step.Name, err)
	}
}

// restartPod patches the pod if it has not changed since it was read. It remembers a refusal: the pod is then recreated.
func (c *Cluster) restartPod(ctx context.Context, job *v1alpha1.TrainingJob, step plan.RestartPod) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: step.Name}}
	life, annotations := step.Told.Life, map[string]any{
		v1alpha1.AnnotationInPlaceRestart: step.Told.String(), v1alpha1.AnnotationLifeNumber: step.Number, v1alpha1.AnnotationCheckpointRequest: nil,
	}
	if step.OpensGate {
		annotations[v1alpha1.AnnotationStartGate] = v1alpha1.GateOpen
	}
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
		c.memo(job, func(m *jobMemo) { m.unrestartable[step.UID] = true })
		return staleCache(job, "pod "+step.Name+" may not be restarted in place: "+apiMessage(err))
	default:
		return fmt.Errorf("restarting pod %s in place: %w", step.Name, err)
	}
}

// setGate opens or closes the gate of the pod. It does nothing if the pod is gone or was replaced, or has another version than the step's, if that has one.
func (c *Cluster) setGate(ctx context.Context, job *v1alpha1.TrainingJob, step plan.SetGate) error {
	metadata := map[string]any{"uid": step.UID, "annotations": map[string]string{v1alpha1.AnnotationStartGate: step.Value}}
	if step.Version != "" {
		metadata["resourceVersion"] = step.Version
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err == nil {
		err = c.changePod(ctx, job, step.Name, patch)
	}
	if err != nil {
		return fmt.Errorf("setting the gate of pod %s to %s: %w", step.Name, step.Value, err)
	}
	return nil
}

// endPod gives the pod no more time to be active. Its kubelet then ends what still runs in it, and the pod. It does nothing if the pod is gone or was replaced.
func (c *Cluster) endPod(ctx context.Context, job *v1alpha1.TrainingJob, step plan.EndPod) error {
	patch := fmt.Sprintf(`{"metadata":{"uid":%q,"resourceVersion":%q},"spec":{"activeDeadlineSeconds":1}}`, step.UID, step.Version)
	if err := c.changePod(ctx, job, step.Name, []byte(patch)); err != nil {
		return fmt.Errorf("ending pod %s: %w", step.Name, err)
	}
	return nil
}

// askPod writes the checkpoint request to the pod. It does nothing if the pod is gone or was replaced.
func (c *Cluster) askPod(ctx context.Context, job *v1alpha1.TrainingJob, step plan.AskPod) error {
	var text any
	if step.Text != "" {
		text = step.Text
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": step.UID, "annotations": map[string]any{v1alpha1.AnnotationCheckpointRequest: text}}})
	if err == nil {
		err = c.changePod(ctx, job, step.Name, patch)
	}
	if err != nil {
		return fmt.Errorf("requesting a checkpoint from pod %s: %w", step.Name, err)
	}
	return nil
}

// fence takes the pod out of the Service if it still has the UID. It does nothing if the pod is gone or was replaced.
func (c *Cluster) fence(ctx context.Context, job *v1alpha1.TrainingJob, step plan.FencePod) error {
	patch := fmt.Sprintf(`{"metadata":{"uid":%q,"labels":{%q:null}}}`, step.UID, v1alpha1.LabelJobName)
	if err := c.changePod(ctx, job, step.Name, []byte(patch)); err != nil {
		return fmt.Errorf("taking pod %s out of the Service: %w", step.Name, err)
	}
	return nil
}

// changePod patches the pod of that name. It does nothing if the pod is gone, or has another UID than the patch.
func (c *Cluster) changePod(ctx context.Context, job *v1alpha1.TrainingJob, name string, patch []byte) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: name}}
	err := c.client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch), client.DisableReadYourWritesConsistency)
	if err == nil || apierrors.IsNotFound(err) || isAnother(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

package cluster

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// reportForeign tells, once for each pod, why nothing is done for a job: it has a pod of a life that it never had. While the cache is
// old that passes by itself. But a life is recorded before its pods are made, so when the API server has no newer job either, somebody
// else made the pod, with an owner reference that whoever may patch pods can write.
func (c *Cluster) reportForeign(ctx context.Context, s *state.Snapshot) error {
	if !s.IsStale() {
		return nil
	}
	i := slices.IndexFunc(s.Pods, func(p state.Pod) bool { return s.Job.Status.StartTime == nil || s.Life(p.Slot).Before(p.Life) })
	pod := &s.Pods[i]
	if c.memo(s.Job, nil).foreign == pod.UID {
		return nil
	}
	var live v1alpha1.TrainingJob
	if err := c.live.Get(ctx, client.ObjectKeyFromObject(s.Job), &live); err != nil {
		return client.IgnoreNotFound(err)
	}
	if live.UID != s.Job.UID || live.ResourceVersion != s.Job.ResourceVersion {
		return nil
	}
	c.memo(s.Job, func(m *jobMemo) { m.foreign = pod.UID })
	related := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Job.Namespace, Name: pod.Name, UID: pod.UID},
	}
	c.events.Eventf(s.Job, related, corev1.EventTypeWarning, v1alpha1.ReasonNameConflict, pod.Name,
		"Pod %s is of a life that this job never had: somebody else made it in the job's name. Nothing is done for the job until it is deleted.", pod.Name)
	return nil
}

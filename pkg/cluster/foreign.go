package cluster

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/pkg/state"
)

// confirmForeign returns the snapshot, or another one that names the pod of a life that the job never had, with one Event. While the
// cache is old such a pod belongs to the job's next life, and the cache catches up. But a life is recorded before its pods are created.
// If the API server has no newer job either, another client created the pod, with an owner reference that every user with the right to
// patch pods can write.
func (c *Cluster) confirmForeign(ctx context.Context, s *state.Snapshot) (*state.Snapshot, error) {
	if !s.IsStale() {
		return s, nil
	}
	i := slices.IndexFunc(s.Pods, func(p state.Pod) bool { return s.Job.Status.StartTime == nil || s.Life(p.Slot).Before(p.Life) })
	pod := &s.Pods[i]
	var live v1alpha1.TrainingJob
	if err := c.live.Get(ctx, client.ObjectKeyFromObject(s.Job), &live); err != nil {
		return s, client.IgnoreNotFound(err)
	}
	if live.UID != s.Job.UID || live.ResourceVersion != s.Job.ResourceVersion {
		return s, nil
	}
	o := s.Observed
	o.Foreign = pod.Name
	named, err := state.New(o)
	if err == nil {
		c.tellForeign(s.Job, pod, plan.ForeignMessage(named))
	}
	return named, err
}

func (c *Cluster) tellForeign(job *v1alpha1.TrainingJob, pod *state.Pod, message string) {
	if c.memo(job, nil).foreign == pod.UID {
		return
	}
	c.memo(job, func(m *jobMemo) { m.foreign = pod.UID })
	related := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: pod.Name, UID: pod.UID},
	}
	c.events.Eventf(job, related, corev1.EventTypeWarning, v1alpha1.ReasonNameConflict, pod.Name, "%s", message)
}

package cluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/pkg/state"
)

// confirmForeign returns the snapshot, or another one that names the pod of a life that the job never had. It emits one Event
// about it. With an old cache such a pod belongs to the job's next life, and the next reads show that. But a life is recorded
// before its pods are created. So if the API server has no newer job either, another client created the pod: a client that may
// patch pods can write the owner reference.
func (c *Cluster) confirmForeign(ctx context.Context, s *state.Snapshot) (*state.Snapshot, error) {
	pod := s.LaterPod()
	if pod == nil {
		return s, nil
	}
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
		c.emitForeign(s.Job, pod, plan.ForeignMessage(named))
	}
	return named, err
}

func (c *Cluster) emitForeign(job *v1alpha1.TrainingJob, pod *state.Pod, message string) {
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

package cluster

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
)

// verify compares a job that this process sees for the first time, and its pods, with the API server: another leader may have
// written last. A job without a status whose name is not on the startup list has no pods, and its first status write fails if it is old. If
// this process has verified an earlier job of that name, only the cache shows the pods of that one.
func (c *Cluster) verify(ctx context.Context, job *v1alpha1.TrainingJob, cached []corev1.Pod) error {
	if c.memo(job, nil).verified || meta.IsStatusConditionTrue(job.Status.Conditions, v1alpha1.ConditionFinished) {
		return nil
	}
	seen := make(map[types.UID]bool, len(cached))
	for i := range cached {
		seen[cached[i].UID] = true
	}
	known, fresh, err := c.isFresh(ctx, job, seen)
	switch {
	case err != nil:
		return err
	case !known && job.Status.ObservedGeneration == 0:
		return nil
	case !fresh:
		if err := c.compare(ctx, job, seen); err != nil {
			return err
		}
	}
	c.startup.remove(job)
	c.memo(job, func(m *jobMemo) { m.verified = true })
	return nil
}

// compare returns a conflict error if the API server has another version of the job, or an unseen pod. Pods of an earlier job of
// its name count too, because the present job waits for them.
func (c *Cluster) compare(ctx context.Context, job *v1alpha1.TrainingJob, seen map[types.UID]bool) error {
	var live v1alpha1.TrainingJob
	if err := c.live.Get(ctx, client.ObjectKeyFromObject(job), &live); err != nil {
		return fmt.Errorf("reading the job from the API server: %w", err)
	}
	if live.UID != job.UID || live.ResourceVersion != job.ResourceVersion {
		return staleCache(job, fmt.Sprintf("it has resourceVersion %s, the API server has %s", job.ResourceVersion, live.ResourceVersion))
	}
	unseen := ""
	err := c.eachLive(ctx, podList, func(pod *metav1.PartialObjectMetadata) {
		if ref := state.OwnerOf(pod); ref != nil && ref.Name == job.Name && !seen[pod.UID] {
			unseen = pod.Name
		}
	}, client.InNamespace(job.Namespace), client.HasLabels{v1alpha1.LabelJobUID}, client.MatchingLabels{v1alpha1.KubeflowLabelJobName: job.Name})
	switch {
	case err != nil:
		return fmt.Errorf("listing the pods from the API server: %w", err)
	case unseen != "":
		return staleCache(job, "it does not show pod "+unseen)
	default:
		return nil
	}
}

// confirmVanished reads every pod that ran and is not in the cache from the API server. It returns the snapshot, or another one
// with the pods that still exist, and with the last versions of the others.
func (c *Cluster) confirmVanished(ctx context.Context, s *state.Snapshot) (*state.Snapshot, error) {
	var mu sync.Mutex
	var there []state.Pod
	group, reading := errgroup.WithContext(ctx)
	group.SetLimit(c.options.Parallel)
	for r := range s.Replicas() {
		if r.State != state.Vanished {
			continue
		}
		group.Go(func() error {
			if err := c.restartsSeen(reading, s, r); err != nil {
				return err
			}
			p, err := c.find(reading, s.Job, state.PodName(s.Job.Name, r.Slot, r.Life))
			if err != nil || p == nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			there = append(there, *p)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("reading pods that are not in the cache: %w", err)
	}
	last := c.lastVersions(s)
	if len(there)+len(last) == 0 {
		return s, nil
	}
	o := s.Observed
	o.Pods, o.Gone, o.Nodes = append(o.Pods, there...), last, nil
	if err := c.addNodes(ctx, &o); err != nil {
		return nil, err
	}
	return state.New(o)
}

// restartsSeen returns a conflict error if the cache shows a pod of the replica in its previous life, and the API server shows
// that it has restarted in place since. The cache of a new leader may have the present status and older pods, even from before
// their first process.
func (c *Cluster) restartsSeen(ctx context.Context, s *state.Snapshot, r *state.Replica) error {
	pods := s.PodsOf(r.Slot)
	for i := range pods {
		p := &pods[i]
		is, err := c.find(ctx, s.Job, p.Name)
		if err != nil {
			return err
		}
		if is != nil && is.UID == p.UID && is.Life == r.Life {
			return staleCache(s.Job, "it does not show that pod "+p.Name+" has restarted in place")
		}
	}
	return nil
}

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
	c.emitOn(job, related, &plan.Event{Type: corev1.EventTypeWarning, Reason: v1alpha1.ReasonNameConflict, Action: pod.Name, Message: message})
}

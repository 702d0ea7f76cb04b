package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// Observe returns the snapshot of a job: every read of one reconcile. It returns nil if the job is gone, and forgets it, or if its
// namespace is excluded, and a conflict error if the cache is older than the API server.
func (c *Cluster) Observe(ctx context.Context, key client.ObjectKey) (*state.Snapshot, error) {
	job := &v1alpha1.TrainingJob{}
	if err := c.client.Get(ctx, key, job); err != nil {
		if apierrors.IsNotFound(err) {
			c.forget(key)
		}
		return nil, client.IgnoreNotFound(err)
	}
	if slices.Contains(c.options.Excluded, key.Namespace) {
		c.exclude(job)
		return nil, nil
	}
	c.memo(job, (*jobMemo).beginLook)
	pods, err := c.listPods(ctx, job)
	if err != nil {
		return nil, err
	}
	firstLook := c.memo(job, nil).recorded.IsZero()
	if err := c.verify(ctx, job, pods); err != nil {
		return nil, err
	}
	o := &state.Observed{
		Now: c.clock.Now(), Job: job, FirstLook: firstLook, LostAfter: c.options.LostAfter, MaxCheckpointWait: c.options.MaxCheckpointWait,
		SparePriorityClass: c.options.SparePriorityClass,
	}
	addPods(o, pods)
	for _, add := range []func(context.Context, *state.Observed) error{c.addService, c.addProgress, c.addGang, c.addNodes} {
		if err := add(ctx, o); err != nil {
			return nil, err
		}
	}
	known := c.memo(job, nil)
	o.Refusal, o.SpareRefusal, o.Recorded = known.replicas.refusal, known.spares.refusal, known.recorded
	o.SparesFrom = c.waitForSpares(o, o.Now)
	c.markRefusedRestarts(o)
	s, err := state.New(*o)
	if err != nil {
		return nil, err
	}
	if s, err = c.confirmVanished(ctx, s); err != nil {
		return nil, err
	}
	if s, err = c.confirmForeign(ctx, s); err != nil {
		return nil, fmt.Errorf("asking for a newer job than its pods show: %w", err)
	}
	s.Homes = c.homes(s)
	if err := c.addIll(ctx, s); err != nil {
		return nil, err
	}
	c.endLook(s)
	return s, nil
}

// markRefusedRestarts records for each pod whether the API server has refused its restart in place.
func (c *Cluster) markRefusedRestarts(o *state.Observed) {
	c.memo(o.Job, func(m *jobMemo) {
		for i := range o.Pods {
			o.Pods[i].RestartRefused = m.unrestartable[o.Pods[i].UID]
		}
	})
}

func (c *Cluster) addService(ctx context.Context, o *state.Observed) error {
	var service corev1.Service
	if err := c.client.Get(ctx, client.ObjectKeyFromObject(o.Job), &service); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the Service: %w", err)
	}
	o.HasService = isControlledBy(&service, o.Job)
	return nil
}

// listPods returns the cached pods of the job and of former jobs of its name. It returns a conflict error while the cache does
// not show the job's own writes.
func (c *Cluster) listPods(ctx context.Context, job *v1alpha1.TrainingJob) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := c.client.List(ctx, &pods, client.InNamespace(job.Namespace),
		client.MatchingFields{podsOfJob: job.Name}, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	if !c.showsOwnWrites(job, pods.Items) {
		return nil, staleCache(job, "it does not show the pods just written")
	}
	return pods.Items, nil
}

func addPods(o *state.Observed, pods []corev1.Pod) {
	o.Pods = slices.Grow(o.Pods, len(pods))
	for i := range pods {
		if !isControlledBy(&pods[i], o.Job) {
			o.Former = append(o.Former, state.FormerPodOf(&pods[i]))
		} else if p, isReplica := state.PodOf(o.Job.Name, &pods[i]); isReplica {
			o.Pods = append(o.Pods, p)
		} else if spare, isSpare := state.SpareOf(o.Job.Name, &pods[i]); isSpare {
			o.Spares = append(o.Spares, spare)
		}
	}
}

// confirmVanished reads every pod that ran and is not in the cache from the API server. It returns the snapshot, or another one with the
// pods that still exist, and with the last versions of the others.
func (c *Cluster) confirmVanished(ctx context.Context, s *state.Snapshot) (*state.Snapshot, error) {
	var mu sync.Mutex
	var there []state.Pod
	group, asking := errgroup.WithContext(ctx)
	group.SetLimit(c.options.Parallel)
	for r := range s.Replicas() {
		if r.State != state.Vanished {
			continue
		}
		group.Go(func() error {
			if err := c.restartsSeen(asking, s, r); err != nil {
				return err
			}
			p, err := c.find(asking, s.Job, state.PodName(s.Job.Name, r.Slot, r.Life))
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
		return nil, fmt.Errorf("looking for pods that are not in the cache: %w", err)
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

// restartsSeen returns a conflict error if the cache shows a pod of the replica in the life before, and the API server shows that it has
// restarted in place since. A new leader may know the present status and old pods, even from before they had a process.
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

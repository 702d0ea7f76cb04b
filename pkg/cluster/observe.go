package cluster

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// Observe returns the snapshot of a job: every read of one reconcile. It returns nil if the job is gone, and forgets it, and a
// conflict error if the cache is older than the API server.
func (c *Cluster) Observe(ctx context.Context, key client.ObjectKey) (*state.Snapshot, error) {
	s := &state.Snapshot{Job: &v1alpha1.TrainingJob{}}
	if err := c.client.Get(ctx, key, s.Job); err != nil {
		if apierrors.IsNotFound(err) {
			c.forget(key)
		}
		return nil, client.IgnoreNotFound(err)
	}
	pods, err := c.listPods(ctx, s.Job)
	if err != nil {
		return nil, err
	}
	if err := c.verify(ctx, s.Job, pods); err != nil {
		return nil, err
	}
	addPods(s, pods)
	var service corev1.Service
	if err = c.client.Get(ctx, key, &service); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the Service: %w", err)
	}
	s.HasService = isControlledBy(&service, s.Job)
	if err := c.addProgress(ctx, s); err != nil {
		return nil, err
	}
	if err := c.addGang(ctx, s); err != nil {
		return nil, err
	}
	known := c.note(s.Job, nil)
	s.Refusal, s.SpareRefusal, s.Recorded = known.replicas.refusal, known.spares.refusal, known.recorded
	s.Now, s.SparePriorityClass = c.clock.Now(), c.options.SparePriorityClass
	s.SparesFrom = c.waitForSpares(s, s.Now)
	if err := s.Complete(); err != nil {
		return nil, err
	}
	if err := c.confirmVanished(ctx, s); err != nil {
		return nil, err
	}
	return s, c.addNodes(ctx, s)
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

func addPods(s *state.Snapshot, pods []corev1.Pod) {
	for i := range pods {
		p, named := state.PodOf(s.Job.Name, &pods[i])
		switch spare, isSpare := state.SpareOf(s.Job.Name, &pods[i]); {
		case !isControlledBy(&pods[i], s.Job):
			s.Former = append(s.Former, state.FormerPodOf(&pods[i]))
		case isSpare:
			s.Spares = append(s.Spares, spare)
		case named:
			s.Pods = append(s.Pods, p)
		}
	}
}

// confirmVanished asks the API server for every pod that ran and is not in the cache, and puts those that exist after all
// into the snapshot.
func (c *Cluster) confirmVanished(ctx context.Context, s *state.Snapshot) error {
	var mu sync.Mutex
	found := 0
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(c.options.Parallel)
	for _, slot := range s.Slots() {
		if !s.HasVanished(slot) {
			continue
		}
		group.Go(func() error {
			var pod corev1.Pod
			key := client.ObjectKey{Namespace: s.Job.Namespace, Name: state.PodName(s.Job.Name, slot, s.Life(slot))}
			if err := c.live.Get(ctx, key, &pod); err != nil {
				return client.IgnoreNotFound(err)
			}
			if p, _ := state.PodOf(s.Job.Name, &pod); isControlledBy(&pod, s.Job) {
				mu.Lock()
				defer mu.Unlock()
				found++
				s.Pods = append(s.Pods, p)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("looking for pods that are not in the cache: %w", err)
	}
	if found == 0 {
		return nil
	}
	return s.Complete()
}

package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// Observe returns the snapshot of a job: every read of one reconcile. It returns nil if the job is gone, and a
// conflict error if the cache is older than the API server.
func (c *Cluster) Observe(ctx context.Context, key client.ObjectKey) (*state.Snapshot, error) {
	s := &state.Snapshot{Job: &v1alpha1.TrainingJob{}}
	if err := c.client.Get(ctx, key, s.Job); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if err := c.verify(ctx, s.Job); err != nil {
		return nil, err
	}
	if err := c.observePods(ctx, s); err != nil {
		return nil, err
	}
	var service corev1.Service
	if err := c.client.Get(ctx, key, &service); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the Service: %w", err)
	}
	s.HasService = isControlledBy(&service, s.Job)
	known := c.note(s.Job.UID, nil)
	s.Refusal, s.Recorded = known.refusal, known.recorded
	s.Now = c.clock.Now()
	if err := s.Complete(); err != nil {
		return nil, err
	}
	return s, c.confirmVanished(ctx, s)
}

// verify compares a job that this process sees for the first time with the API server.
func (c *Cluster) verify(ctx context.Context, job *v1alpha1.TrainingJob) error {
	if c.note(job.UID, nil).verified || job.Status.ObservedGeneration == 0 {
		return nil
	}
	var live v1alpha1.TrainingJob
	if err := c.live.Get(ctx, client.ObjectKeyFromObject(job), &live); err != nil {
		return fmt.Errorf("reading the job from the API server: %w", err)
	}
	if live.UID != job.UID || live.ResourceVersion != job.ResourceVersion {
		return staleCache(job, fmt.Errorf("it is at resourceVersion %s, the API server at %s", job.ResourceVersion, live.ResourceVersion))
	}
	c.note(job.UID, func(n *notes) { n.verified = true })
	return nil
}

// staleCache returns the conflict error that asks for another look.
func staleCache(job *v1alpha1.TrainingJob, why error) error {
	return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("trainingjobs").GroupResource(), job.Name, fmt.Errorf("the cache is old: %w", why))
}

func (c *Cluster) observePods(ctx context.Context, s *state.Snapshot) error {
	var pods corev1.PodList
	err := c.client.List(ctx, &pods, client.InNamespace(s.Job.Namespace),
		client.MatchingFields{podsOfJob: s.Job.Name}, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	if !c.showsOwnWrites(s.Job, pods.Items) {
		return staleCache(s.Job, errors.New("it does not show the pods just written"))
	}
	for i := range pods.Items {
		p, named := state.PodOf(s.Job.Name, &pods.Items[i])
		switch {
		case !isControlledBy(&pods.Items[i], s.Job):
			s.FormerJobPods++
		case named:
			s.Pods = append(s.Pods, p)
		}
	}
	return nil
}

// confirmVanished asks the API server for every pod that ran and is not in the cache, and puts those that exist after all
// into the snapshot.
func (c *Cluster) confirmVanished(ctx context.Context, s *state.Snapshot) error {
	var mu sync.Mutex
	found := 0
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelism)
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

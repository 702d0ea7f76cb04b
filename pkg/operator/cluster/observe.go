package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Observe returns the snapshot of a job, from the caches and from what reads have shown. It returns nil if the job is gone, and forgets it, or if
// its namespace is excluded. It returns a conflict error if the cache is older than the API server.
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
	c.memo(job, func(m *jobMemo) { m.changed = nil }) // the pods with watch events from now on
	pods, err := c.listPods(ctx, job)
	if err != nil {
		return nil, err
	}
	firstLook := c.memo(job, nil).recorded.IsZero()
	if err := c.verify(ctx, job, pods); err != nil {
		return nil, err
	}
	o := &state.Observed{
		Now: c.clock.Now(), Job: job, IsLocal: c.options.IsLocal, KeepsEnded: c.options.KeepsEnded, FirstLook: firstLook, LostAfter: c.options.LostAfter, MaxCheckpointWait: c.options.MaxCheckpointWait,
	}
	addPods(o, pods)
	c.addMemo(o)
	for _, add := range []func(context.Context, *state.Observed) error{c.addService, c.addGang, c.addNodes} {
		if err := add(ctx, o); err != nil {
			return nil, err
		}
	}
	o.Crowded, o.Seen = c.isCrowded(job.Namespace), c.options.Reader.Seen(key)
	s, err := state.New(*o)
	if err != nil {
		return nil, err
	}
	c.remember(s)
	if err := c.addUnhealthy(ctx, s); err != nil {
		return nil, err
	}
	return s, nil
}

// addMemo adds what this process remembers.
func (c *Cluster) addMemo(o *state.Observed) {
	c.memo(o.Job, func(m *jobMemo) {
		o.Refusal, o.Recorded, o.Ended, o.Absent = m.refused.refusal, m.recorded, maps.Clone(m.ended), maps.Clone(m.absentPods)
		o.Gone, o.Found, o.Foreign = slices.SortedFunc(maps.Values(m.gone), byName), m.foundUntil(o.Now), m.foreign.of(o.Job)
		for i := range o.Pods {
			o.Pods[i].RestartRefused = m.unrestartable[o.Pods[i].UID]
		}
		m.addForced(o.Pods, o.Former)
		m.seeEnds(o)
	})
}

func byName(a, b state.Pod) int { return cmp.Compare(a.Name, b.Name) }

// seeEnds dates the end of each pod by when this process of the operator first saw it. An eviction, which comes in two versions, has the date of the first.
func (m *jobMemo) seeEnds(o *state.Observed) {
	var ends map[types.UID]time.Time
	for i := range o.Pods {
		p := &o.Pods[i]
		if p.Exit == nil && p.Rejected.Reason == "" && !p.MainSucceeded {
			continue
		}
		if ends == nil {
			ends = map[types.UID]time.Time{}
		}
		if p.EndSeen = m.ends[p.UID]; p.EndSeen.IsZero() {
			p.EndSeen = o.Now
		}
		ends[p.UID] = p.EndSeen
	}
	m.ends = ends
}

func (c *Cluster) addService(ctx context.Context, o *state.Observed) error {
	var service corev1.Service
	if err := c.client.Get(ctx, client.ObjectKeyFromObject(o.Job), &service); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the Service: %w", err)
	}
	o.HasService = state.IsOwnedBy(&service, o.Job)
	return nil
}

// listPods returns the cached pods of the job and of earlier jobs of its name. It returns a conflict error while the cache does
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
		if !state.IsOwnedBy(&pods[i], o.Job) {
			o.Former = append(o.Former, state.FormerPodOf(&pods[i]))
		} else if p, isReplica := state.PodOf(o.Job.Name, &pods[i]); isReplica {
			o.Pods = append(o.Pods, p)
		}
	}
}

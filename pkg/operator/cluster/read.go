package cluster

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/operator/reads"
)

// Read makes the reads that the plan of a snapshot wants. Reads of pages and Leases go on beside the reconciles. What only the API server can
// confirm is read now: Read then reports whether the job can be decided, with another snapshot.
func (c *Cluster) Read(ctx context.Context, s *state.Snapshot, r state.Reads) (again bool, err error) {
	c.options.Reader.Want(client.ObjectKeyFromObject(s.Job), c.wanted(s, &r))
	if err := c.confirmGone(ctx, s, r.Confirm); err != nil {
		return false, fmt.Errorf("reading pods that are not in the cache: %w", err)
	}
	isForeign, err := c.confirmForeign(ctx, s, r.Foreign)
	if err != nil {
		return false, fmt.Errorf("reading the job, which its pods show to be old: %w", err)
	}
	return len(r.Confirm) > 0 || isForeign, nil
}

// wanted returns the reads with the addresses of the pages, or why they have none.
func (c *Cluster) wanted(s *state.Snapshot, r *state.Reads) reads.Wanted {
	var w reads.Wanted
	if c.options.WatchNodes {
		w.AwaitedNodes = r.AwaitedNodes
	}
	if p := r.Page; p != nil {
		w.Page = &reads.Page{Job: s.Job.UID, Pod: p.UID, Life: p.Life, Process: p.Began, Every: r.Every}
		address, err := c.options.PageAt(p)
		if w.Page.Address = address; err != nil {
			w.Page.Unread = err.Error()
		}
	}
	for _, p := range r.Stacks {
		address, err := c.options.PageAt(p)
		switch {
		case err != nil:
		case len(w.Ranks) == reads.MaxStacks:
			w.Unasked++
		default:
			w.Ranks = append(w.Ranks, reads.RankPage{Slot: p.Slot, Pod: p.UID, Address: address})
		}
	}
	return w
}

// confirmGone reads the pods of the replicas, and the nodes that they were on, from the API server.
func (c *Cluster) confirmGone(ctx context.Context, s *state.Snapshot, replicas []*state.Replica) error {
	group, reading := errgroup.WithContext(ctx)
	group.SetLimit(c.options.Parallel)
	for _, r := range replicas {
		group.Go(func() error {
			if err := c.restartsSeen(reading, s, r); err != nil {
				return err
			}
			name := state.PodName(s.Job.Name, r.Slot, r.Life)
			found, err := c.find(reading, s.Job, name)
			switch {
			case err != nil:
				return err
			case found != nil && s.LifeOf(found) == r.Life:
				return nil
			case found != nil && r.Life.Before(found.Life):
				return staleCache(s.Job, "it does not show the life of pod "+name)
			}
			if err := c.confirmNode(reading, s, r.Last); err != nil {
				return err
			}
			c.memo(s.Job, func(m *jobMemo) { m.absentPods[name] = !m.changed[name] })
			return nil
		})
	}
	return group.Wait()
}

// newFor is how long after a pod is gone the changes of its node, such as a taint, are maybe not in the cache yet.
const newFor = 5 * time.Second

// confirmedNode is a node as the API server had it; nil if it had none. It counts until the cache must show it.
type confirmedNode struct {
	node  *corev1.Node
	until time.Time
}

// confirmNode reads the node of a pod that has just gone from the API server.
func (c *Cluster) confirmNode(ctx context.Context, s *state.Snapshot, gone *state.Pod) error {
	if gone == nil || !c.options.WatchNodes || !gone.CanRun() || s.Now.Sub(gone.EndSeen) >= newFor {
		return nil
	}
	node := &corev1.Node{}
	err := c.live.Get(ctx, client.ObjectKey{Name: gone.Node}, node)
	if apierrors.IsNotFound(err) {
		node = nil
	} else if err != nil {
		return fmt.Errorf("reading node %s: %w", gone.Node, err)
	}
	c.memo(s.Job, func(m *jobMemo) { m.confirmed[gone.Node] = confirmedNode{node, gone.EndSeen.Add(newFor)} })
	return nil
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

// foreign is a pod of a life that a version of the job never had.
type foreign struct {
	pod     *state.Pod
	version string
}

// of returns the pod's name, if the job has that version.
func (f foreign) of(job *v1alpha1.TrainingJob) string {
	if f.pod == nil || f.version != job.ResourceVersion {
		return ""
	}
	return f.pod.Name
}

// confirmForeign reports whether the pod has a life that the job never had, and emits one Event about it. With an old cache such a pod
// belongs to the job's next life, and the next reads show that. But a life is recorded before its pods are created. So if the API server
// has no newer job either, another client created the pod: a client that may patch pods can write the owner reference.
func (c *Cluster) confirmForeign(ctx context.Context, s *state.Snapshot, pod *state.Pod) (bool, error) {
	if pod == nil {
		return false, nil
	}
	var live v1alpha1.TrainingJob
	if err := c.live.Get(ctx, client.ObjectKeyFromObject(s.Job), &live); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	if live.UID != s.Job.UID || live.ResourceVersion != s.Job.ResourceVersion {
		return false, nil
	}
	was := c.memo(s.Job, nil).foreign.pod
	c.memo(s.Job, func(m *jobMemo) { m.foreign = foreign{pod, s.Job.ResourceVersion} })
	if was == nil || was.UID != pod.UID {
		related := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: s.Job.Namespace, Name: pod.Name, UID: pod.UID}}
		c.emitOn(s.Job, related, &plan.Event{Type: corev1.EventTypeWarning, Reason: v1alpha1.ReasonNameConflict, Action: pod.Name, Message: plan.ForeignMessage(s, pod.Name)})
	}
	return true, nil
}

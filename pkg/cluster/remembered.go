package cluster

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// foundFor is how long the API server's answer about a pod counts when the cache differs. The watch does not report changes of a
// pod that lost the label by which the cache selects.
const foundFor = 30 * time.Second

// found is a pod from the API server.
type found struct {
	pod   state.Pod
	until time.Time
}

// PodChanged records a watch event of a pod: what the API server showed of it before is old.
func (c *Cluster) PodChanged(pod *corev1.Pod) {
	c.ownerMemo(pod, func(m *jobMemo) {
		delete(m.found, pod.Name)
		if m.changed == nil {
			m.changed = map[string]bool{}
		}
		m.changed[pod.Name] = true
	})
}

// find returns the job's pod of that name from the API server; nil if there is none. It remembers an existing pod until the watch
// reports a change of that name, or the operator writes to pods of the job. Otherwise a pod without its label would cost a
// request in each reconcile.
func (c *Cluster) find(ctx context.Context, job *v1alpha1.TrainingJob, name string) (*state.Pod, error) {
	var known found
	c.memo(job, func(m *jobMemo) { known = m.found[name] })
	if c.clock.Now().Before(known.until) {
		return &known.pod, nil
	}
	var pod corev1.Pod
	if err := c.live.Get(ctx, client.ObjectKey{Namespace: job.Namespace, Name: name}, &pod); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	p, _ := state.PodOf(job.Name, &pod)
	if !isOwnedBy(&pod, job) {
		return nil, nil
	}
	c.memo(job, func(m *jobMemo) {
		if m.changed[name] { // the answer may be older than the watch event
			return
		}
		m.found[name] = found{pod: p, until: c.clock.Now().Add(foundFor)}
	})
	return &p, nil
}

// SawGone records the last version of a deleted pod. If the job misses the pod, it shows where the pod was and why it went. A pod
// on a tainted node can be deleted and gone before the cache has shown either. SawGone keeps nothing for jobs without a record.
func (c *Cluster) SawGone(pod *corev1.Pod) {
	c.ownerMemo(pod, func(m *jobMemo) {
		if p, hadNode := state.GonePodOf(state.OwnerOf(pod).Name, pod, c.clock.Now()); hadNode {
			p.EndSeen = c.clock.Now()
			m.gone[p.Name] = p
		}
	})
}

// lastVersions returns the last versions of the pods that the snapshot misses, and of pods in slots that the job no longer has. It forgets all
// others: their lives are over, or their success counts.
func (c *Cluster) lastVersions(s *state.Snapshot) []state.Pod {
	var last []state.Pod
	c.memo(s.Job, func(m *jobMemo) {
		maps.DeleteFunc(m.gone, func(_ string, p state.Pod) bool {
			r := s.Replica(p.Slot)
			return r != nil && !s.Misses(r) || s.Life(p.Slot) != s.LifeOf(&p)
		})
		last = slices.Collect(maps.Values(m.gone))
	})
	slices.SortFunc(last, func(a, b state.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return last
}

// previousNode is the node of a slot's latest pod with a node.
type previousNode struct {
	life state.Life
	node string
}

// recordNodes records the nodes of the job's latest pods.
func (c *Cluster) recordNodes(s *state.Snapshot) {
	c.memo(s.Job, func(m *jobMemo) {
		for i := range s.Pods {
			if p := &s.Pods[i]; p.Scheduled() && !p.Life.Before(m.previousNodes[p.Slot].life) {
				m.previousNodes[p.Slot] = previousNode{p.Life, p.Node}
			}
		}
	})
}

// pendingAtMost is how long the cache may take to show an own write. After that the job is compared with the API server: a pod
// that was created and removed between two reads never shows.
const pendingAtMost = 5 * time.Second

// pendingWrite is an own write to a pod that the cache does not show yet.
type pendingWrite struct {
	deleted bool
	until   time.Time
}

// expectWrite remembers an own write to a pod. A job waits only for its own writes. The manager's client would wait for the
// writes of all jobs, so that a hundred jobs would wait for each other.
func (c *Cluster) expectWrite(job *v1alpha1.TrainingJob, pod types.UID, deleted bool) {
	until := c.clock.Now().Add(pendingAtMost)
	c.memo(job, func(m *jobMemo) { m.pendingWrites[pod] = pendingWrite{deleted: deleted, until: until} })
}

func (c *Cluster) showsOwnWrites(job *v1alpha1.TrainingJob, pods []corev1.Pod) (shows bool) {
	if len(c.memo(job, nil).pendingWrites) == 0 {
		return true
	}
	now := c.clock.Now()
	c.memo(job, func(m *jobMemo) {
		seen := make(map[types.UID]*corev1.Pod, len(m.pendingWrites))
		for i := range pods {
			if _, isPending := m.pendingWrites[pods[i].UID]; isPending {
				seen[pods[i].UID] = &pods[i]
			}
		}
		for uid, write := range m.pendingWrites {
			pod := seen[uid]
			shown := pod != nil
			if write.deleted {
				shown = pod == nil || !pod.DeletionTimestamp.IsZero()
			}
			if shown || now.After(write.until) {
				delete(m.pendingWrites, uid)
				m.verified = m.verified && shown
			}
		}
		shows = len(m.pendingWrites) == 0
	})
	return shows
}

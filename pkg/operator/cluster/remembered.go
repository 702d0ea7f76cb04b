package cluster

import (
	"cmp"
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// foundFor is how long the API server's answer about a pod counts when the cache differs. The watch does not report changes of a
// pod that lost the label by which the cache selects.
const foundFor = 30 * time.Second

// found is a pod from the API server.
type found struct {
	pod   state.Pod
	until time.Time
}

// PodChanged records a watch event of a pod: what the API server showed of it before is old. is is nil for a deleted pod, and was is then its last
// version. If the job misses the pod, that version shows where the pod was and why it went: a pod on a tainted node can be deleted and gone before
// the cache has shown either. PodChanged keeps nothing for jobs without a record.
//
// The last version of every deleted pod has a deletionTimestamp. So PodChanged keeps the version in which a pod has ended by itself, too.
func (c *Cluster) PodChanged(was, is *corev1.Pod) {
	pod := cmp.Or(is, was)
	c.ownerMemo(pod, func(m *jobMemo) {
		delete(m.found, pod.Name)
		delete(m.absentPods, pod.Name)
		if m.changed == nil {
			m.changed = map[string]bool{}
		}
		m.changed[pod.Name] = true
		if is == nil {
			m.noteGone(pod, c.clock.Now())
		} else {
			m.noteEnd(pod, c.clock.Now())
		}
	})
}

// noteEnd keeps the version in which the pod has ended by itself. What becomes of a pod that waits at its gate for some seconds is not how its process
// ended.
func (m *jobMemo) noteEnd(pod *corev1.Pod, now time.Time) {
	p, ok := state.PodOf(state.OwnerOf(pod).Name, pod)
	ended, hasEnded := m.ended[pod.UID]
	switch {
	case hasEnded && ended.Waits && p.Exit != nil && p.Life == ended.Life && now.Sub(ended.EndSeen) > state.ExplainedWithin:
	case ok && p.HasEndedByItself():
		if p.EndSeen = now; hasEnded {
			p.EndSeen = ended.EndSeen
		}
		m.ended[p.UID] = p
	case p.Deleted.IsZero(): // it runs again in its pod
		delete(m.ended, p.UID)
	case hasEnded: // only its kubelet adds to its end
		pod = pod.DeepCopy()
		pod.DeletionTimestamp = nil
		p, _ = state.PodOf(state.OwnerOf(pod).Name, pod)
		p.EndSeen = ended.EndSeen
		m.ended[p.UID] = p
	}
}

// noteGone keeps the last version of a pod that is gone, or that in which it had ended.
func (m *jobMemo) noteGone(pod *corev1.Pod, now time.Time) {
	if ended, hasEnded := m.ended[pod.UID]; hasEnded {
		m.gone[pod.Name] = ended
	} else if p, hadNode := state.GonePodOf(state.OwnerOf(pod).Name, pod, now); hadNode {
		p.EndSeen = now
		m.gone[p.Name] = p
	}
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
	if !state.IsOwnedBy(&pod, job) {
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

// foundUntil returns the pods from the API server that still count.
func (m *jobMemo) foundUntil(now time.Time) (pods []state.Pod) {
	for _, f := range m.found {
		if now.Before(f.until) {
			pods = append(pods, f.pod)
		}
	}
	return pods
}

// previousNode is the node of a slot's latest pod with a node.
type previousNode struct {
	life state.Life
	node string
}

// remember records the nodes of the job's latest pods. It forgets the pods that are gone and not missed, as the snapshot shows: their lives are over, or
// their success counts.
func (c *Cluster) remember(s *state.Snapshot) {
	missed, exists := map[string]bool{}, map[types.UID]bool{}
	for i := range s.Gone {
		missed[s.Gone[i].Name] = true
	}
	for i := range s.Pods {
		exists[s.Pods[i].UID] = true
	}
	c.memo(s.Job, func(m *jobMemo) {
		for i := range s.Pods {
			if p := &s.Pods[i]; p.Scheduled() && !p.Life.Before(m.previousNodes[p.Slot].life) {
				m.previousNodes[p.Slot] = previousNode{p.Life, p.Node}
			}
		}
		maps.DeleteFunc(m.ended, func(uid types.UID, p state.Pod) bool {
			return s.Life(p.Slot) != s.LifeOf(&p) && (!p.Waits || !exists[uid])
		})
		maps.DeleteFunc(m.gone, func(name string, _ state.Pod) bool { return !missed[name] })
		maps.DeleteFunc(m.absentPods, func(name string, _ bool) bool { return !s.LacksPod(name) })
		maps.DeleteFunc(m.confirmed, func(_ string, n confirmedNode) bool { return !s.Now.Before(n.until) })
	})
}

// forceAgain is how long after a first deletion by force a pod is deleted so again. The wait doubles with each: only the owner of a finalizer can
// end such a pod.
const forceAgain = time.Minute

// forced is how often a pod was deleted by force, and when it may be again.
type forced struct {
	times int
	next  time.Time
}

// deletedByForce remembers that a pod was deleted by force.
func (c *Cluster) deletedByForce(job *v1alpha1.TrainingJob, pod types.UID) {
	c.memo(job, func(m *jobMemo) {
		times := m.forced[pod].times
		m.forced[pod] = forced{times + 1, c.clock.Now().Add(forceAgain << min(times, 10))}
	})
}

// addForced sets of each pod when it may be deleted by force again, and forgets the pods that are gone.
func (m *jobMemo) addForced(lists ...[]state.Pod) {
	there := map[types.UID]forced{}
	for _, pods := range lists {
		for i := range pods {
			if f, was := m.forced[pods[i].UID]; was {
				pods[i].ForceNext, there[pods[i].UID] = f.next, f
			}
		}
	}
	m.forced = there
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

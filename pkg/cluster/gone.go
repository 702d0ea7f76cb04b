package cluster

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/state"
)

// SawGone records the last version of a deleted pod. If the job misses the pod, it shows where the pod was and why it went. A pod
// on a tainted node can be deleted and gone before the cache has shown either. SawGone keeps nothing for jobs without a record.
func (c *Cluster) SawGone(pod *corev1.Pod) {
	ref := state.OwnerOf(pod)
	if ref == nil {
		return
	}
	p, hadNode := state.GonePodOf(ref.Name, pod, c.clock.Now())
	if !hadNode {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.jobs[client.ObjectKey{Namespace: pod.Namespace, Name: ref.Name}]
	if m == nil || m.uid != ref.UID {
		return
	}
	if m.gone == nil {
		m.gone = map[string]state.Pod{}
	}
	m.gone[p.Name] = p
}

// lastVersions returns the last versions of the pods that the snapshot misses. It forgets all others: their lives are over, or
// their success counts.
func (c *Cluster) lastVersions(s *state.Snapshot) []state.Pod {
	if c.memo(s.Job, nil).gone == nil {
		return nil
	}
	missed := func(p *state.Pod) bool {
		r := s.Replica(p.Slot)
		return s.Misses(r) && r.Life == s.LifeOf(p)
	}
	var last []state.Pod
	c.memo(s.Job, func(m *jobMemo) {
		maps.DeleteFunc(m.gone, func(_ string, p state.Pod) bool { return !missed(&p) })
		if len(m.gone) == 0 {
			m.gone = nil
		}
		last = slices.Collect(maps.Values(m.gone))
	})
	slices.SortFunc(last, func(a, b state.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return last
}

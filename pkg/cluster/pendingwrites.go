package cluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

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

package cluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// awaitAtMost is how long the cache may take to show an own write, before the job is compared with the API
// server: a pod that was created and removed again between two looks never shows.
const awaitAtMost = 5 * time.Second

// awaited is an own write to a pod that the cache is to show.
type awaited struct {
	deleted bool
	until   time.Time
}

// await notes an own write to a pod. Waiting for the writes of one job only, and not as the manager's client would for
// those of all jobs, is what keeps a hundred jobs from waiting for each other.
func (c *Cluster) await(job *v1alpha1.TrainingJob, pod types.UID, deleted bool) {
	until := c.clock.Now().Add(awaitAtMost)
	c.note(job, func(n *notes) {
		if n.awaited == nil {
			n.awaited = map[types.UID]awaited{}
		}
		n.awaited[pod] = awaited{deleted: deleted, until: until}
	})
}

// showsOwnWrites reports whether the pods, as cached, show every own write to the job's pods.
func (c *Cluster) showsOwnWrites(job *v1alpha1.TrainingJob, pods []corev1.Pod) bool {
	if c.note(job, nil).awaited == nil {
		return true
	}
	seen := make(map[types.UID]*corev1.Pod, len(pods))
	for i := range pods {
		seen[pods[i].UID] = &pods[i]
	}
	now := c.clock.Now()
	left := c.note(job, func(n *notes) {
		for uid, write := range n.awaited {
			pod := seen[uid]
			shown := pod != nil
			if write.deleted {
				shown = pod == nil || !pod.DeletionTimestamp.IsZero()
			}
			if expired := now.After(write.until); shown || expired {
				delete(n.awaited, uid)
				n.verified = n.verified && !expired
			}
		}
		if len(n.awaited) == 0 {
			n.awaited = nil
		}
	})
	return left.awaited == nil
}

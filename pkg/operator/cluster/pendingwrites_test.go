package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/test/sim/builder"
)

// A job may need no reconcile for longer than a write may take to show.
func TestAJobIsComparedWithTheAPIServerOnlyIfItsOwnWritesDoNotShow(t *testing.T) {
	is := func(uid types.UID, deleted bool) corev1.Pod {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}}
		if deleted {
			pod.DeletionTimestamp = &metav1.Time{Time: builder.Epoch}
		}
		return pod
	}
	for name, c := range map[string]struct {
		deletes  bool
		cached   []corev1.Pod
		compared bool
	}{
		"created, and there":             {false, []corev1.Pod{is("pod", false)}, false},
		"created, and being deleted":     {false, []corev1.Pod{is("pod", true)}, false},
		"created, and not there":         {false, []corev1.Pod{is("other", false)}, true},
		"deleted, and gone":              {true, nil, false},
		"deleted, and about to go":       {true, []corev1.Pod{is("pod", true)}, false},
		"deleted, and there unchanged":   {true, []corev1.Pod{is("pod", false)}, true},
		"deleted, and another one there": {true, []corev1.Pod{is("other", false)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			known, clock := refusing()
			job := builder.Job("j", builder.Workers(1))
			known.memo(job, func(m *jobMemo) { m.verified = true })
			known.expectWrite(job, "pod", c.deletes)
			clock.SetTime(clock.Now().Add(2 * pendingAtMost))
			if !known.showsOwnWrites(job, c.cached) {
				t.Error("it is waited for after its time")
			}
			if compared := !known.memo(job, nil).verified; compared != c.compared {
				t.Errorf("is to be compared with the API server: %t, want %t", compared, c.compared)
			}
		})
	}
}

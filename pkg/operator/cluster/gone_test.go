package cluster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// missed returns the pods that are gone, as the next snapshot has them.
func (c *Cluster) missed(t *testing.T, job *v1alpha1.TrainingJob, seen ...builder.SnapshotOption) []state.Pod {
	t.Helper()
	o := builder.Snapshot(job, seen...).Observed
	c.addMemo(&o)
	s, err := state.New(o)
	if err != nil {
		t.Fatal(err)
	}
	c.remember(s)
	return s.Gone
}

// The last version of a pod is kept only while its job misses the pod.
func TestTheLastVersionOfAPodIsKeptWhileTheJobMissesIt(t *testing.T) {
	job := builder.Job("j", builder.Workers(3), builder.StartedAt(0))
	pod := func(index int, phase corev1.PodPhase, options ...builder.PodOption) *corev1.Pod {
		p := builder.Pod(job, state.Slot{Role: v1alpha1.Worker, Index: index}, state.Life{}, phase, options...)
		p.OwnerReferences = controlled(job).OwnerReferences
		return p
	}
	c, _ := refusing()
	c.PodChanged(pod(1, corev1.PodRunning), nil)
	if got := c.missed(t, job); len(got) > 0 {
		t.Errorf("of a job without a reconcile: %v", got)
	}
	c.memo(job, func(m *jobMemo) { m.verified = true })
	stranger := pod(1, corev1.PodRunning)
	stranger.OwnerReferences[0].UID = types.UID("another")
	ended := []builder.PodOption{builder.On("gpu-3"), builder.Exit(1)}
	c.PodChanged(pod(1, corev1.PodRunning), pod(1, corev1.PodFailed, ended...))
	deleted := pod(1, corev1.PodFailed, append(ended, builder.DeletedAt(time.Minute))...) // as the last version of each deleted pod
	for _, gone := range []*corev1.Pod{pod(0, corev1.PodRunning), deleted, pod(2, corev1.PodPending), stranger} {
		c.PodChanged(gone, nil)
	}
	replaced := job.DeepCopy()
	builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "0:1"})(replaced)
	for range 2 { // a reconcile that is not recorded comes again
		got := c.missed(t, replaced, builder.Running("worker", 0))
		if len(got) != 1 || got[0].Node != "gpu-3" || got[0].CanRun() || !got[0].Deleted.IsZero() {
			t.Fatalf("got %+v, want worker-1 alone, as it ended", got)
		}
	}
	builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "0-1:1"})(replaced)
	if got := c.missed(t, replaced, builder.Running("worker", 1)); len(got) > 0 || len(c.memo(job, nil).gone)+len(c.memo(job, nil).ended) > 0 {
		t.Errorf("kept after its replacement: %v", got)
	}
}

// A pod that is gone was deleted after its node was tainted, so the API server has the taint. The cache may not have it yet.
func TestTheNodeOfAPodThatIsGoneIsReadFromTheAPIServer(t *testing.T) {
	well, tainted := inventoryNodes(1, 0), inventoryNodes(1, 0)
	tainted[0].Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeOutOfService, Effect: corev1.TaintEffectNoExecute}}
	job := builder.Job("j", builder.Workers(1))
	gone := builder.SeenGone("worker", 0, builder.On(well[0].Name))
	for name, c := range map[string]struct {
		pod    builder.SnapshotOption
		since  time.Duration
		cached string // the node's resourceVersion in the cache; the API server has 7
		want   []string
	}{
		"it is there":                      {builder.Running("worker", 0, builder.On(well[0].Name)), 0, "6", nil},
		"it has gone":                      {gone, 0, "6", []string{well[0].Name}},
		"it has gone, and the cache knows": {gone, 0, "8", nil},
		"it has gone, and was confirmed":   {gone, 10 * time.Second, "6", nil}, // no read in each pass
	} {
		t.Run(name, func(t *testing.T) {
			cl, _ := refusing()
			cl.options.WatchNodes, cl.options.LostAfter = true, time.Minute
			tainted[0].ResourceVersion, well[0].ResourceVersion = "7", c.cached
			cl.client, cl.live = inventory{nodes: well}, inventory{nodes: tainted}
			s := builder.Snapshot(job, c.pod)
			s.Absent = nil
			for i := range s.Gone {
				s.Gone[i].EndSeen = s.Now.Add(-c.since)
			}
			for r := range s.Replicas() {
				if r.Last != nil {
					r.Last.EndSeen = s.Now.Add(-c.since)
				}
			}
			if _, err := cl.Read(t.Context(), s, s.Reads()); err != nil {
				t.Fatal(err)
			}
			o := s.Observed
			if err := cl.addNodes(t.Context(), &o); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, n := range o.Nodes {
				got = append(got, n.Name)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("lost nodes (-want +got):\n%s", diff)
			}
		})
	}
}

// A busy kubelet reports an end from before the restart after the operator has deleted the pod, just before the pod is gone. One that starts under
// pressure gives its reason so.
func TestTheLastWordsOfAKubeletAreEvidence(t *testing.T) {
	incident := v1alpha1.Incident{Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Index: 1, Pod: "j-worker-1"}, Scope: v1alpha1.ScopeReplica, RestartTime: builder.Time(time.Minute)}
	job := builder.Job("j", builder.Workers(2), builder.StartedAt(0), builder.Incidents(incident), builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "1:1"}))
	pod := func(options ...builder.PodOption) *corev1.Pod {
		p := builder.Pod(job, state.Slot{Role: v1alpha1.Worker, Index: 1}, state.Life{}, corev1.PodFailed, append(options, builder.On("gpu-3"), builder.Exit(137))...)
		p.OwnerReferences = controlled(job).OwnerReferences
		return p
	}
	c, _ := refusing()
	c.memo(job, func(m *jobMemo) { m.verified = true })
	at := func(d time.Duration) []state.Pod {
		return c.missed(t, job, builder.Running("worker", 0), builder.Running("worker", 1, builder.Life(0, 1)), builder.Now(d))
	}
	for ended, isEvidence := range map[time.Duration]bool{58 * time.Second: true, 61 * time.Second: false} {
		last := pod(builder.At(ended), builder.DeletedAt(time.Minute))
		c.PodChanged(last, nil)
		if got := at(65 * time.Second); len(got) == 1 != isEvidence {
			t.Errorf("worker-1, which ended at %v, is evidence of the restart at 1m: %t", ended, !isEvidence)
		}
	}
	rejected := pod(builder.Rejected("Evicted", "Pod was rejected: The node had condition: [DiskPressure]. "), builder.DeletedAt(time.Minute))
	c.PodChanged(pod(), pod())
	c.PodChanged(pod(), rejected)
	c.PodChanged(rejected, nil)
	if got := at(65 * time.Second); len(got) != 1 || got[0].Rejected.Reason != "Evicted" || got[0].Exit == nil || !got[0].Deleted.IsZero() {
		t.Errorf("got %+v, want worker-1 as evicted after its exit", got)
	}
	if got := at(time.Hour); len(got) > 0 {
		t.Errorf("an hour later: %+v", got)
	}
}

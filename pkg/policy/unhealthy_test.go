package policy_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/nodes"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/test/builder"
)

// shows makes the node of worker-1 report that it is unhealthy.
func shows(node string) builder.SnapshotOption {
	return builder.NodeIll(node, "GpuMemWatch", "[79] fell off the bus - RecommendedAction: RESTART_VM", 20*second)
}

// avoidedAs makes the job avoid a node for the reason until d after Epoch.
func avoidedAs(node, reason string, until time.Duration) builder.JobOption {
	return builder.Status(func(s *v1alpha1.TrainingJobStatus) {
		s.AvoidedNodes = append(s.AvoidedNodes, v1alpha1.AvoidedNode{Name: node, Reason: reason, Failures: 1, ExpirationTime: builder.Time(until)})
	})
}

func TestAJobLeavesAnIllNode(t *testing.T) {
	job := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("j", append([]builder.JobOption{pytorch, builder.Workers(2), builder.MaxRestarts(0)}, options...)...)
	}
	failAll := builder.Rules(v1alpha1.RecoveryRule{Cause: v1alpha1.CauseFatal})
	avoidsNone := builder.Recovery(func(r *v1alpha1.Recovery) { r.AvoidNodesSeconds = new(int32) })
	run := seen(builder.Running("worker", 0), builder.Running("worker", 1))
	with := func(more ...builder.SnapshotOption) []builder.SnapshotOption {
		return append(append(seen(), run...), more...)
	}
	ps := builder.Job("j", tensorflow, builder.Leader(v1alpha1.Chief), builder.PS(1), builder.Workers(2), builder.Evaluators(1))
	moved := lost(0, "worker-1 Infrastructure Job free")
	stays := judged{}
	check(t, []judgeCase{
		{"at once and for free, if others suit", job(), with(shows(node1), builder.Others(2)), moved},
		{"not if there are fewer others than it takes up", job(), with(shows(node1), builder.Others(1)), stays},
		{"not if there is no other", job(), with(shows(node1)), stays},
		{"under any recovery.rules: nothing broke", job(failAll), with(shows(node1), builder.Others(2)), moved},
		{"not if it avoids no nodes", job(avoidsNone), with(shows(node1), builder.Others(2)), stays},
		{"not while it avoids the node for being ill", job(avoidedAs(node1, "NodeIll", hour)), with(shows(node1), builder.Others(2)), stays},
		{"once that has expired", job(avoidedAs(node1, "NodeIll", second)), with(shows(node1), builder.Others(2)), moved},
		{"though it avoids the node for something else", job(avoidedAs(node1, "Error", hour)), with(shows(node1), builder.Others(2)), moved},
		{"which holds none of its pods", job(), with(shows("elsewhere"), builder.Others(2)), stays},
		{"whose pod starts there", job(), seen(builder.Running("worker", 0), builder.Pending("worker", 1, builder.On(node1)), shows(node1), builder.Others(2)), moved},
		{"but not a pod that is going", job(), seen(builder.Running("worker", 0), builder.Pending("worker", 1, builder.On(node1), builder.DeletedAt(30*second)), shows(node1), builder.Others(2)), stays},
		{"what is broken comes first", job(builder.MaxRestarts(1)), seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.ExitSaying(137, "OOMKilled", "")), shows("node-worker-0"), builder.Others(2)),
			judged{Ruling: policy.Restart, Reason: v1alpha1.ReasonOutOfMemory, Restarts: []string{"worker-1 OOM Job charged"}}},
		{"a suspended one does not", job(builder.Suspended()), with(shows(node1), builder.Others(2)), judged{Ruling: policy.Suspend, Reason: v1alpha1.ReasonSuspended}},
		{"each of its replicas by itself where that is the scope", ps,
			seen(builder.Running("chief", 0), builder.Running("ps", 0), builder.Running("worker", 0, builder.On("x")), builder.Running("worker", 1, builder.On("x")), builder.Running("evaluator", 0, builder.On("x")), shows("x"), builder.Others(5)),
			lost(0, "worker-0 Infrastructure Replica free", "worker-1 Infrastructure Replica free", "evaluator-0 Infrastructure Replica free")},
		{"as a whole if one of them must", ps,
			seen(builder.Running("chief", 0), builder.Running("ps", 0, builder.On("x")), builder.Running("worker", 0, builder.On("x")), builder.Running("worker", 1), builder.Running("evaluator", 0), shows("x"), builder.Others(5)),
			lost(0, "ps-0 Infrastructure Job free")},
	})
}

func TestAMoveIsToldInTheNodesWords(t *testing.T) {
	s := builder.Snapshot(builder.Job("j", pytorch, builder.Workers(2)), builder.Running("worker", 0), builder.Running("worker", 1), shows(node1), shows("node-worker-0"), builder.Others(2))
	v := policy.Judge(s)
	want := "worker-0 on node-worker-0 leaves its unhealthy node (NodeIll: GpuMemWatch: [79] fell off the bus - RecommendedAction: RESTART_VM): " +
		"the whole job restarts as attempt 1, 1 more follow, not charged."
	if v.Message != want || v.Failure == nil || v.Failure.Reason != "NodeIll" || v.Failure.Node != "node-worker-0" || v.Failure.Pod != "j-worker-0" || !v.Failure.Time.Time.Equal(s.Now) {
		t.Errorf("%s: %+v, want %s", v.Message, v.Failure, want)
	}
	var avoided []string
	for _, n := range v.Accounts.AvoidedNodes {
		avoided = append(avoided, n.Name+" "+n.Reason)
	}
	if diff := cmp.Diff([]string{"node-worker-0 NodeIll", "node-worker-1 NodeIll"}, avoided); diff != "" {
		t.Errorf("both are left, and avoided from now on (-want +got):\n%s", diff)
	}
}

// A move is no fault of the training: it neither counts against noProgressLimit nor is refused for it.
func TestAMoveIsNoRestartWithoutProgress(t *testing.T) {
	job := builder.Job("j", pytorch, builder.Workers(2), builder.Progress(600, v1alpha1.StallRestart), builder.RunsSince(0), builder.Status(func(s *v1alpha1.TrainingJobStatus) {
		s.Memory.RestartsWithoutProgress, s.Progress = 3, &v1alpha1.ProgressStatus{Step: 7}
	}))
	v := policy.Judge(builder.Snapshot(job, builder.Running("worker", 0), builder.Running("worker", 1), shows(node1), builder.Others(2)))
	if v.Kind != policy.Restart || v.Accounts.RestartsWithoutProgress != 3 {
		t.Errorf("ruling %d (%s), %d restarts without progress", v.Kind, v.Message, v.Accounts.RestartsWithoutProgress)
	}
}

func TestAJobThatStaysAvoidsTheNode(t *testing.T) {
	stays := v1alpha1.AvoidedNode{Name: node1, Reason: "NodeIll", Failures: 1, ExpirationTime: builder.Time(24*hour + 60*second)}
	other := v1alpha1.AvoidedNode{Name: "a", Reason: "Error", Failures: 2, ExpirationTime: builder.Time(hour)}
	full := builder.Status(func(s *v1alpha1.TrainingJobStatus) {
		for i := range 16 {
			s.AvoidedNodes = append(s.AvoidedNodes, v1alpha1.AvoidedNode{Name: string(rune('a' + i)), Reason: "Error", ExpirationTime: builder.Time(hour)})
		}
	})
	cases := []struct {
		name string
		job  []builder.JobOption
		seen []builder.SnapshotOption
		want []v1alpha1.AvoidedNode
	}{
		{"there are too few others", nil, seen(builder.Others(1)), []v1alpha1.AvoidedNode{stays}},
		{"beside others that it avoids", []builder.JobOption{builder.Status(func(s *v1alpha1.TrainingJobStatus) { s.AvoidedNodes = []v1alpha1.AvoidedNode{other} })}, seen(builder.Others(1)),
			[]v1alpha1.AvoidedNode{other, stays}},
		{"what it has forgiven makes room", []builder.JobOption{avoidedAs("a", "Error", second)}, seen(builder.Others(1)), []v1alpha1.AvoidedNode{stays}},
		{"it avoids the node already", []builder.JobOption{builder.Status(func(s *v1alpha1.TrainingJobStatus) { s.AvoidedNodes = []v1alpha1.AvoidedNode{stays} })}, seen(builder.Now(10*60*second), builder.Others(1)),
			[]v1alpha1.AvoidedNode{stays}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			options := append(seen(builder.Running("worker", 0), builder.Running("worker", 1), shows(node1)), c.seen...)
			v := policy.Judge(builder.Snapshot(builder.Job("j", append([]builder.JobOption{pytorch, builder.Workers(2)}, c.job...)...), options...))
			if diff := cmp.Diff(c.want, v.Accounts.AvoidedNodes); diff != "" || v.Kind != policy.Continue {
				t.Errorf("ruling %d, avoided (-want +got):\n%s", v.Kind, diff)
			}
		})
	}
	v := policy.Judge(builder.Snapshot(builder.Job("j", pytorch, builder.Workers(2), full), builder.Running("worker", 0), builder.Running("worker", 1), shows(node1), builder.Others(1)))
	if n := len(v.Accounts.AvoidedNodes); n != 16 {
		t.Errorf("a full list has %d nodes", n)
	}
}

func TestNewPodsPreferOtherNodes(t *testing.T) {
	cases := []struct {
		name string
		job  []builder.JobOption
		seen []builder.SnapshotOption
		want []string
	}{
		{"than unhealthy ones, which the job has never met", nil, seen(builder.Ill("b", "c")), []string{"b", "c"}},
		{"than those and the ones that it avoids", []builder.JobOption{builder.Avoided("c", hour), builder.Avoided("d", hour)}, seen(builder.Ill("b", "c")), []string{"b", "c", "d"}},
		{"for as long as it avoids them", []builder.JobOption{builder.Avoided("c", second)}, nil, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := builder.Snapshot(builder.Job("j", append([]builder.JobOption{builder.Workers(2)}, c.job...)...), c.seen...)
			if diff := cmp.Diff(c.want, nodes.NotPreferred(s)); diff != "" {
				t.Errorf("avoided (-want +got):\n%s", diff)
			}
		})
	}
}

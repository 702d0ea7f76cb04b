package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/test/sim/builder"
)

const node1 = "node-worker-1" // the node of worker-1

// losses are the ways to lose worker-1, each with its reason and clause.
var losses = []struct {
	name         string
	seen         []builder.SnapshotOption
	reason, text string
}{
	{"its node is lost", seen(builder.Running("worker", 1), builder.NodeLost(node1, 30*second)),
		"NodeLost", "lost its node (NodeLost: not ready for 15s)"},
	{"its node is lost while it starts", seen(builder.Pending("worker", 1, builder.On(node1)), builder.NodeLost(node1, 30*second)),
		"NodeLost", "lost its node (NodeLost: not ready for 15s)"},
	{"its node is out of service", seen(builder.Running("worker", 1), builder.NodeTainted(node1, "node.kubernetes.io/out-of-service", 30*second)),
		"NodeTainted", "lost its node (NodeTainted: tainted node.kubernetes.io/out-of-service)"},
	{"its node has a taint of --lost-node-taints", seen(builder.Running("worker", 1), builder.NodeTainted(node1, "broken", 30*second)),
		"NodeTainted", "lost its node (NodeTainted: tainted broken)"},
	{"its node is deleted", seen(builder.Running("worker", 1), builder.NodeDeleted(node1)),
		"NodeDeleted", "lost its node (NodeDeleted: the node was deleted)"},
	{"its node is drained", seen(builder.Deleted("worker", 1, builder.Disrupted("EvictionByEvictionAPI", 29*second))),
		"EvictionByEvictionAPI", "was drained or evicted (EvictionByEvictionAPI: Taken away.)"},
	{"the taint manager evicts it", seen(builder.Deleted("worker", 1, builder.Disrupted("DeletionByTaintManager", 29*second))),
		"DeletionByTaintManager", "was evicted from a tainted node (DeletionByTaintManager: Taken away.)"},
	{"it fails with the deletion of its node", seen(builder.Failed("worker", 1, builder.Disrupted("DeletionByPodGC", 29*second))),
		"DeletionByPodGC", "was garbage-collected (DeletionByPodGC: Taken away.)"},
	{"the kubelet ends it with its node", seen(builder.Failed("worker", 1, builder.Exit(137), builder.Disrupted("TerminationByKubelet", 29*second))),
		"TerminationByKubelet", "was ended by its node (TerminationByKubelet: Taken away.)"},
	{"the kubelet evicts it", seen(builder.Failed("worker", 1, builder.Rejected("Evicted", "low on memory"))),
		"Evicted", "was evicted by its node (Evicted: low on memory)"},
	{"the kubelet turns it away", seen(builder.Failed("worker", 1, builder.Rejected("UnexpectedAdmissionError", "no healthy devices"))),
		"UnexpectedAdmissionError", "was rejected by its node (UnexpectedAdmissionError: no healthy devices)"},
	{"the kubelet turns it away in words of its own", seen(builder.Failed("worker", 1, builder.Rejected("OutOfcpu", "no cpu"))),
		"OutOfcpu", "was lost (OutOfcpu: no cpu)"},
	{"Kueue ends it before it has a node", seen(builder.Failed("worker", 1, builder.On(""), builder.ByKueue(20*second))),
		"UnschedulableOnAssignedNode", "was ended by Kueue before it had a node (UnschedulableOnAssignedNode: Pod terminated by Kueue due to node taint)"},
	{"a controller ends it before it has a node", seen(builder.Failed("worker", 1, builder.On(""))), "NoNode", "was lost (NoNode: it failed before it had a node)"},
	{"the kubelet evicts it for the node's sake", seen(builder.Failed("worker", 1, builder.Rejected("Evicted", "low on memory"), builder.Exit(137),
		builder.Disrupted("TerminationByKubelet", 29*second))), "TerminationByKubelet", "was ended by its node (TerminationByKubelet: Taken away.)"},
	{"its device breaks", seen(builder.Failed("worker", 1, builder.Exit(139), builder.Unhealthy("nvidia.com/gpu", "GPU-7"))),
		"DeviceUnhealthy", "lost a device (DeviceUnhealthy: nvidia.com/gpu GPU-7)"},
	{"a user deletes it", seen(builder.Deleted("worker", 1)), "Deleted", "was deleted (Deleted)"},
	{"a user deletes it and it ends with 143", seen(builder.Failed("worker", 1, builder.Exit(143), builder.DeletedAt(20*second))),
		"Deleted", "was deleted (Deleted)"},
	{"a user deletes it and it ends with a fatal code", seen(builder.Failed("worker", 1, builder.Exit(127), builder.DeletedAt(20*second))),
		"Deleted", "was deleted (Deleted)"},
	{"it ends in the second in which it is deleted", seen(builder.Failed("worker", 1, builder.Exit(1), builder.At(20*second), builder.DeletedAt(20*second))),
		"Deleted", "was deleted (Deleted)"},
	{"it is deleted by force and gone at once", seen(builder.SeenGone("worker", 1, builder.On(node1))), "Deleted", "was deleted (Deleted)"},
	{"the kubelet ends it with its node and it is gone at once", seen(builder.SeenGone("worker", 1, builder.Disrupted("TerminationByKubelet", 29*second))),
		"TerminationByKubelet", "was ended by its node (TerminationByKubelet: Taken away.)"},
	{"its node is out of service and it is gone at once", seen(builder.SeenGone("worker", 1, builder.On(node1), builder.Disrupted("DeletionByPodGC", 29*second)),
		builder.NodeTainted(node1, "node.kubernetes.io/out-of-service", 30*second)), "NodeTainted", "lost its node (NodeTainted: tainted node.kubernetes.io/out-of-service)"},
	{"it is gone without a trace", seen(builder.Gone("worker", 1)), "Vanished", "was lost (Vanished: its pod is gone without a trace)"},
}

// A lost pod restarts at once under every restart policy, without a charge.
func TestAPodThatWasLostIsRestartedUnderEveryPolicyAndNotCharged(t *testing.T) {
	for _, loss := range losses {
		for _, p := range []v1alpha1.RestartPolicy{v1alpha1.RestartNever, v1alpha1.RestartOnFailure, v1alpha1.RestartAlways, v1alpha1.RestartExitCode} {
			job := builder.Job("j", builder.Workers(2, builder.Policy(p)), builder.MaxRestarts(0))
			got := judge(builder.Snapshot(job, append(loss.seen, builder.Running("worker", 0))...))
			if diff := cmp.Diff(lost(0, "worker-1 Infrastructure Replica free"), got); diff != "" {
				t.Errorf("%s, restartPolicy %s (-want +got):\n%s", loss.name, p, diff)
			}
		}
	}
}

func TestALossIsToldInPlainWords(t *testing.T) {
	for _, loss := range losses {
		v := policy.Judge(builder.Snapshot(builder.Job("j", builder.Workers(2)), append(loss.seen, builder.Running("worker", 0))...))
		if v.Failure == nil || v.Failure.Reason != loss.reason {
			t.Errorf("%s: the failure is %v, want reason %s", loss.name, v.Failure, loss.reason)
			continue
		}
		where := " on " + node1
		if v.Failure.Node == "" {
			where = ""
		}
		if diff := cmp.Diff("worker-1"+where+" "+loss.text, failure.Describe(v.Failure)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", loss.name, diff)
		}
	}
}

// TestOwnFailures is restartPolicy x way to fail -> cause; "." is no restart, "F" fails the job.
func TestOwnFailures(t *testing.T) {
	ways := []struct {
		name string
		pod  builder.SnapshotOption
	}{
		{"OOM", builder.Failed("worker", 1, builder.ExitSaying(137, "OOMKilled", ""))},
		{"StartError", builder.Failed("worker", 1, builder.ExitSaying(128, "StartError", "no such file"))},
		{"no such program", builder.Failed("worker", 1, builder.ExitSaying(128, "StartError", builder.NoProgram))},
		{"ContainerCannotRun", builder.Failed("worker", 1, builder.ExitSaying(127, "ContainerCannotRun", ""))},
		{"DeadlineExceeded", builder.Failed("worker", 1, builder.Rejected("DeadlineExceeded", ""))},
		{"preempted", builder.Deleted("worker", 1, builder.Disrupted("PreemptionByScheduler", 29*second))},
		{"preempted and OOM", builder.Failed("worker", 1, builder.ExitSaying(137, "OOMKilled", ""), builder.Disrupted("PreemptionByScheduler", 29*second))},
	}
	want := map[v1alpha1.RestartPolicy][]string{
		v1alpha1.RestartNever:     {"F", "F", "F", "F", "F", "Preempted", "Preempted"},
		v1alpha1.RestartOnFailure: {"OOM", "Startup", "F", "Startup", "Retryable", "Preempted", "Preempted"},
		v1alpha1.RestartAlways:    {"OOM", "Startup", "F", "Startup", "Retryable", "Preempted", "Preempted"},
		v1alpha1.RestartExitCode:  {"OOM", "Startup", "F", "Startup", "Retryable", "Preempted", "Preempted"},
	}
	for restartPolicy, row := range want {
		var got []string
		for _, way := range ways {
			job := builder.Job("j", builder.Workers(2, builder.Policy(restartPolicy)))
			v := policy.Judge(builder.Snapshot(job, builder.Running("worker", 0), way.pod))
			switch v.Kind {
			case policy.Fail:
				got = append(got, "F")
			case policy.Restart:
				got = append(got, string(v.Failure.Cause))
			default:
				got = append(got, ".")
			}
		}
		if diff := cmp.Diff(row, got); diff != "" {
			t.Errorf("restartPolicy %s (-want +got):\n%s", restartPolicy, diff)
		}
	}
}

func TestNodesInTrouble(t *testing.T) {
	job := builder.Job("j", pytorch, builder.Workers(2))
	running := seen(builder.Running("worker", 0), builder.Running("worker", 1))
	check(t, []judgeCase{
		{"a node that is not ready counts as lost only after a while, and is looked at again then", job,
			append(running, builder.NodeLost(node1, 50*second)), judged{Wake: 65 * second}},
		{"it is lost at that moment", job, append(running, builder.NodeLost(node1, 45*second)), lost(0, "worker-1 Infrastructure Job free")},
		{"of two nodes in trouble the next one sets the time", job,
			append(running, builder.NodeLost(node1, 55*second), builder.NodeLost("node-worker-0", 50*second)), judged{Wake: 65 * second}},
		{"a pod that has failed did not lose its node", job,
			seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(1)), builder.NodeLost(node1, 30*second)),
			restart(0, "worker-1 Retryable Job charged")},
		{"a broken device is no failure while the container runs", job,
			seen(builder.Running("worker", 0), builder.Running("worker", 1, builder.Unhealthy("nvidia.com/gpu", "GPU-7"))), judged{}},
		{"another node's trouble is not the job's", job, append(running, builder.NodeLost("elsewhere", 10*second)), judged{}},
	})
}

// The scope of a failed pod depends on whether it ran. Its charge depends on who ended it.
func TestEvictionsAndRejections(t *testing.T) {
	job := builder.Job("j", pytorch, builder.Workers(2), builder.StartedAt(0))
	ran := builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Started: "0-1"})
	failed := func(options ...builder.PodOption) []builder.SnapshotOption {
		return seen(builder.Running("worker", 0), builder.Failed("worker", 1, options...), builder.Now(60*second))
	}
	evicted, forNode := builder.Rejected("Evicted", "too much"), builder.Disrupted("TerminationByKubelet", 29*second)
	own := restart(0, "worker-1 Retryable Job charged")
	check(t, []judgeCase{
		{"its own storage, while its container seems to run", job, failed(evicted, builder.StillRunning()), judged{}},
		{"its own storage, while its container is not found", job, failed(evicted, builder.RanBefore()), judged{}},
		{"its own storage", job, failed(evicted, builder.Exit(143), builder.At(30*second)), own},
		{"its own storage, and its end is not known", job, failed(evicted, builder.ExitSaying(137, "ContainerStatusUnknown", ""), builder.At(30*second)), own},
		{"its node's, while its container seems to run", job, failed(evicted, forNode, builder.StillRunning()), judged{}},
		{"its node's", job, failed(evicted, forNode, builder.Exit(137), builder.At(30*second)), lost(0, "worker-1 Infrastructure Job free")},
		{"before it ran", job, failed(evicted), lost(0, "worker-1 Infrastructure Replica free")},
		{"turned away before it ran", job, failed(builder.Rejected("OutOfcpu", "")), lost(0, "worker-1 Infrastructure Replica free")},
		{"turned away after a reboot", builder.Job("j", pytorch, builder.Workers(2), builder.StartedAt(0), ran), failed(builder.Rejected("OutOfcpu", "")),
			lost(0, "worker-1 Infrastructure Job free")},
		{"ended by Kueue before it had a node", job, failed(builder.On(""), builder.ByKueue(30*second)), lost(0, "worker-1 Infrastructure Replica free")},
		{"ended by Kueue after it ran", job, failed(builder.Exit(143), builder.At(30*second), builder.ByKueue(29*second)),
			lost(0, "worker-1 Infrastructure Job free")},
	})
}

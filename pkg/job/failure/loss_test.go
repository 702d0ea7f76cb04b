package failure_test

import (
	"testing"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/test/sim/builder"
)

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
	{"the kubelet starts on a node under pressure, and ends it", seen(builder.Failed("worker", 1, builder.Rejected("Evicted", "The node had condition: [DiskPressure]. "), builder.Exit(143))),
		"TerminationByKubelet", "was ended by its node (TerminationByKubelet: The node had condition: [DiskPressure].)"},
	{"its device is tainted", seen(builder.Deleted("worker", 1, builder.Disrupted("DeletionByDeviceTaintManager", 29*second))),
		"DeletionByDeviceTaintManager", "lost a device (DeletionByDeviceTaintManager: Taken away.)"},
	{"its device breaks", seen(builder.Failed("worker", 1, builder.Exit(139), builder.Unhealthy("nvidia.com/gpu", "GPU-7"))),
		"DeviceUnhealthy", "lost a device (DeviceUnhealthy: nvidia.com/gpu GPU-7)"},
	{"a user deletes it", seen(builder.Deleted("worker", 1)), "Deleted", "was deleted (Deleted)"},
	{"a user deletes it and it ends with 143", seen(builder.Failed("worker", 1, builder.Exit(143), builder.DeletedAt(20*second))),
		"Deleted", "was deleted (Deleted)"},
	{"a user deletes it and it ends with a fatal code", seen(builder.Failed("worker", 1, builder.Exit(127), builder.DeletedAt(20*second))),
		"Deleted", "was deleted (Deleted)"},
	{"it ends in the second in which it is deleted", seen(builder.Failed("worker", 1, builder.Exit(1), builder.At(20*second), builder.DeletedAt(20*second))),
		"Deleted", "was deleted (Deleted)"},
	{"its times show an end before the deletion", seen(builder.Failed("worker", 1, builder.Exit(1), builder.At(20*second), builder.DeletedAt(30*second))),
		"Deleted", "was deleted (Deleted)"},
	{"its node is rebooted and does not know its end", seen(builder.Failed("worker", 1, builder.ExitSaying(255, "Unknown", ""))),
		"Unknown", "was lost by its node (Unknown)"},
	{"its kubelet does not know its end", seen(builder.Failed("worker", 1, builder.ExitSaying(137, "ContainerStatusUnknown", "gone"))),
		"ContainerStatusUnknown", "was lost by its node (ContainerStatusUnknown: gone)"},
	{"its node fails a preflight check", seen(builder.Failed("worker", 1, builder.FailedInit("preflight-dcgm-diag", 1))),
		"PreflightFailed", "failed a preflight check of its node (PreflightFailed: preflight-dcgm-diag)"},
	{"it is deleted by force and gone at once", seen(builder.SeenGone("worker", 1, builder.On(node1))), "Deleted", "was deleted (Deleted)"},
	{"the kubelet ends it with its node and it is gone at once", seen(builder.SeenGone("worker", 1, builder.Disrupted("TerminationByKubelet", 29*second))),
		"TerminationByKubelet", "was ended by its node (TerminationByKubelet: Taken away.)"},
	{"its node is out of service and it is gone at once", seen(builder.SeenGone("worker", 1, builder.On(node1), builder.Disrupted("DeletionByPodGC", 29*second)),
		builder.NodeTainted(node1, "node.kubernetes.io/out-of-service", 30*second)), "NodeTainted", "lost its node (NodeTainted: tainted node.kubernetes.io/out-of-service)"},
	{"it is gone without a trace", seen(builder.Gone("worker", 1)), "Vanished", "was lost (Vanished: its pod is gone without a trace)"},
}

// A lost pod restarts under every restart policy, without a charge.
func TestALostPodRestartsUnderEveryPolicyAndIsNotCharged(t *testing.T) {
	for _, loss := range losses {
		for _, policy := range policies {
			s := builder.Snapshot(builder.Job("j", builder.Workers(2, builder.Policy(policy))), append(loss.seen, builder.Running("worker", 0))...)
			if got, want := restarts(s), "worker-1 Infrastructure Replica free"; got != want {
				t.Errorf("%s, restartPolicy %s: %s, want %s", loss.name, policy, got, want)
				continue
			}
			f, where := &failure.Find(s)[0].Failure, " on "+node1
			if f.Node == "" {
				where = ""
			}
			if want := "worker-1" + where + " " + loss.text; f.Reason != loss.reason || failure.Describe(f) != want {
				t.Errorf("%s: reason %s, %q, want %s, %q", loss.name, f.Reason, failure.Describe(f), loss.reason, want)
			}
		}
	}
}

func TestWhatIsNoLoss(t *testing.T) {
	job := builder.Job("j", pytorch, builder.Workers(2))
	running := seen(builder.Running("worker", 0), builder.Running("worker", 1))
	checkRestarts(t, []restartCase{
		{"a pod that has failed did not lose its node", job,
			seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(1)), builder.NodeLost(node1, 30*second)), "worker-1 Retryable Job charged"},
		{"a broken device is no failure while the container runs", job,
			seen(builder.Running("worker", 0), builder.Running("worker", 1, builder.Unhealthy("nvidia.com/gpu", "GPU-7"))), ""},
		{"another node's trouble is not the job's", job, append(running, builder.NodeLost("elsewhere", 10*second)), ""},
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
	const own, free = "worker-1 Retryable Job charged", "worker-1 Infrastructure Replica free"
	checkRestarts(t, []restartCase{
		{"its own storage, while its container seems to run", job, failed(evicted, builder.StillRunning()), ""},
		{"its own storage, while its container is not found", job, failed(evicted, builder.RanBefore()), ""},
		{"its own storage", job, failed(evicted, builder.Exit(143), builder.At(30*second)), own},
		{"its own storage, and its end is not known", job, failed(evicted, builder.ExitSaying(137, "ContainerStatusUnknown", ""), builder.At(30*second)), own},
		{"its node's, while its container seems to run", job, failed(evicted, forNode, builder.StillRunning()), ""},
		{"its node's", job, failed(evicted, forNode, builder.Exit(137), builder.At(30*second)), "worker-1 Infrastructure Job free"},
		{"before it ran", job, failed(evicted), free},
		{"turned away before it ran", job, failed(builder.Rejected("OutOfcpu", "")), free},
		{"turned away after a reboot", builder.Job("j", pytorch, builder.Workers(2), builder.StartedAt(0), ran), failed(builder.Rejected("OutOfcpu", "")), "worker-1 Infrastructure Job free"},
		{"failed a preflight check before it ran", job, failed(builder.FailedInit("preflight-dcgm-diag", 1)), free},
		{"ended by Kueue before it had a node", job, failed(builder.On(""), builder.ByKueue(30*second)), free},
		{"ended by Kueue after it ran", job, failed(builder.Exit(143), builder.At(30*second), builder.ByKueue(29*second)), "worker-1 Infrastructure Job free"},
	})
}

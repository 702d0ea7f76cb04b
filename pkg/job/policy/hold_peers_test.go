package policy_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// seenAt says when the operator first saw the exits of all pods.
func seenAt(d time.Duration) builder.SnapshotOption {
	return func(o *state.Observed) {
		for i := range o.Pods {
			o.Pods[i].EndSeen = builder.Epoch.Add(d)
		}
	}
}

// All ranks of a collective end when one does, and their kubelets report it in any order, within a second or so.
func TestAnExitThatMayBeAFollowersIsNotActedOnAtOnce(t *testing.T) {
	job := builder.Job("j", pytorch, builder.Workers(3), builder.RunsSince(0))
	early := func(options ...builder.PodOption) builder.SnapshotOption {
		return builder.Failed("worker", 1, append([]builder.PodOption{builder.Exit(1), builder.At(60 * second)}, options...)...)
	}
	two := seen(builder.Running("worker", 0), builder.Running("worker", 2))
	now := func(d time.Duration, more ...builder.SnapshotOption) []builder.SnapshotOption {
		return append(append(more, builder.Now(d)), two...)
	}
	held := func(wake time.Duration) judged {
		return judged{Ruling: policy.Hold, Reason: v1alpha1.ReasonRestartHeld, Wake: wake}
	}
	goes := restart(0, "worker-1 Retryable Job charged")
	check(t, []judgeCase{
		{"it waits", job, now(60*second+300*time.Millisecond, early()), held(62*second + 500*time.Millisecond)},
		{"not longer than two seconds and a half", job, now(63*second, early()), goes},
		{"by a clock that is far behind it waits from when the operator saw the exit", job, append(now(3600*second, early()), seenAt(3599*second)), held(3601*second + 500*time.Millisecond)},
		{"and not longer", job, append(now(3602*second, early()), seenAt(3599*second)), goes},
		{"by a clock that is far ahead as well", job, append(now(20*second, early()), seenAt(19*second)), held(21*second + 500*time.Millisecond)},
		{"and not longer either", job, append(now(22*second, early()), seenAt(19*second)), goes},
		{"all ranks have ended", job, seen(early(), builder.Failed("worker", 0, builder.Exit(1), builder.At(60*second)), builder.Now(60*second),
			builder.Failed("worker", 2, builder.Exit(42), builder.At(60*second))), restart(0, "worker-2 Retryable Job charged")},
		{"a rank that was killed is no follower", job, now(60*second, builder.Failed("worker", 1, builder.Exit(137), builder.At(60*second))), goes},
		{"nor is one that ran out of memory", job, now(60*second, builder.Failed("worker", 1, builder.ExitSaying(137, "OOMKilled", ""), builder.At(60*second))),
			judged{Ruling: policy.Restart, Reason: v1alpha1.ReasonOutOfMemory, Restarts: []string{"worker-1 OOM Job charged"}}},
		{"nor one that was lost", job, now(60*second, builder.Deleted("worker", 1, builder.DeletedAt(60*second))), lost(0, "worker-1 Infrastructure Job free")},
		{"but it waits after a rank that is done, as programs crash at teardown", job, seen(builder.Running("worker", 0), builder.Succeeded("worker", 2),
			builder.Failed("worker", 1, builder.Exit(139), builder.At(60*second)), builder.Now(60*second)), held(62*second + 500*time.Millisecond)},
		{"not if it was lost", job, seen(builder.Running("worker", 0), builder.Succeeded("worker", 2),
			builder.Deleted("worker", 1, builder.DeletedAt(60*second)), builder.Now(60*second)), lost(0, "worker-1 Infrastructure Job free")},
		{"nor if the leader succeeds", job, seen(builder.Succeeded("worker", 0), builder.Succeeded("worker", 2),
			builder.Failed("worker", 1, builder.Exit(139), builder.At(60*second)), builder.Now(60*second)), leader},
		{"a collective of the user's own waits as well", builder.Job("j", builder.Workers(3, builder.Scope(v1alpha1.ScopeJob)), builder.RunsSince(0)),
			now(60*second, early()), held(62*second + 500*time.Millisecond)},
		{"replicas that do not need each other do not wait", builder.Job("j", builder.Workers(3), builder.RunsSince(0)), now(60*second, early()), restart(0, "worker-1 Retryable Replica charged")},
		{"a job does not fail on a follower's word either", builder.Job("j", pytorch, builder.Workers(3), builder.RunsSince(0), builder.MaxRestarts(0)), now(60*second, early()),
			held(62*second + 500*time.Millisecond)},
		{"nor before a rank is heard whose container may have ended while its pod still starts, as of a hook",
			builder.Job("j", pytorch, builder.Workers(2), builder.StartedAt(0), builder.MaxRestarts(0)),
			seen(builder.Pending("worker", 0, builder.Waiting("ContainerCreating", "")), builder.Now(60*second), early()), held(62*second + 500*time.Millisecond)},
	})
}

// A job that has failed stays so, and the loss of a node shows later than what its peers did.
func TestAJobDoesNotFailByWhatALostNodeMayExplain(t *testing.T) {
	const lostPeer, other = "RuntimeError: Connection closed by peer [10.0.0.3]:2993", "ValueError: batch 17 is empty"
	exit := func(rank int, code int32, words string) builder.SnapshotOption {
		return builder.Failed("worker", rank, builder.ExitSaying(code, "Error", words), builder.At(60*second))
	}
	job := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("j", append([]builder.JobOption{pytorch, builder.Workers(3), builder.RunsSince(0), builder.MaxRestarts(0)}, options...)...)
	}
	at := func(d time.Duration, more ...builder.SnapshotOption) []builder.SnapshotOption {
		return append(more, builder.Running("worker", 0), builder.Now(d))
	}
	held := judged{Ruling: policy.Hold, Reason: v1alpha1.ReasonRestartHeld, Wake: timesSecond(120)}
	fails := func(reason string) judged { return judged{Ruling: policy.Fail, Reason: reason} }
	never := job(builder.EveryRole(builder.Policy(v1alpha1.RestartNever)))
	fatal := job(builder.Rules(v1alpha1.RecoveryRule{ExitCodes: []int32{1}, Cause: v1alpha1.CauseFatal}))
	check(t, []judgeCase{
		{"a rank that lost a peer", job(), at(70*second, exit(1, 1, lostPeer), exit(2, 1, lostPeer)), held},
		{"under restartPolicy Never", never, at(70*second, exit(1, 1, lostPeer), exit(2, 1, lostPeer)), held},
		{"or by a rule", fatal, at(70*second, exit(1, 1, lostPeer), exit(2, 1, lostPeer)), held},
		{"or that a watchdog ended", job(), at(70*second, exit(1, 134, ""), exit(2, 134, "")), held},
		{"not longer than the incident window", job(), at(121*second, exit(1, 1, lostPeer), exit(2, 1, lostPeer)), fails(v1alpha1.ReasonMaxRestartsExceeded)},
		{"not if a rank shows an error of its own", job(), at(70*second, exit(1, 1, lostPeer), exit(2, 1, other)), fails(v1alpha1.ReasonMaxRestartsExceeded)},
		{"nor if all have ended", job(), seen(exit(0, 1, lostPeer), exit(1, 1, lostPeer), exit(2, 1, lostPeer), builder.Now(70*second)), fails(v1alpha1.ReasonMaxRestartsExceeded)},
	})
}

// The workers of a lost parameter server lose their connections and end before Kubernetes shows what broke.
func TestTheExitOfAWorkerWaitsForTheParameterServers(t *testing.T) {
	job := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("j", append([]builder.JobOption{tensorflow, builder.Workers(2), builder.PS(1), builder.RunsSince(0)}, options...)...)
	}
	now := func(d time.Duration, more ...builder.SnapshotOption) []builder.SnapshotOption {
		return append(more, builder.Failed("worker", 0, builder.Exit(1)), builder.Failed("worker", 1, builder.Exit(1)), builder.Now(d))
	}
	held := judged{Ruling: policy.Hold, Reason: v1alpha1.ReasonRestartHeld, Wake: 32*second + 500*time.Millisecond}
	check(t, []judgeCase{
		{"it waits", job(), now(30*second, builder.Running("ps", 0)), held},
		{"and does not fail the job meanwhile", job(builder.MaxRestarts(0)), now(30*second, builder.Running("ps", 0)), held},
		{"the server ended as well", job(), now(30*second, builder.Failed("ps", 0, builder.Exit(137))), restart(0, "ps-0 Retryable Job charged")},
		{"the server runs", job(), now(33*second, builder.Running("ps", 0)),
			restart(0, "worker-0 Retryable Replica charged", "worker-1 Retryable Replica joins")},
		{"a worker that was killed did not follow", job(), seen(builder.Running("ps", 0), builder.Failed("worker", 0, builder.Exit(137)), builder.Now(30*second)), restart(0, "worker-0 Retryable Replica charged")},
		{"a lost server explains its workers", job(), now(60*second, builder.Running("ps", 0), builder.NodeLost("node-ps-0", 29*second)), lost(0, "ps-0 Infrastructure Job free")},
	})
}

// A kubelet reports an end in two versions. The first of an eviction does not show how the containers ended, and the first of a kubelet that starts
// under pressure shows SIGTERM without a reason. A deleted pod has no second version.
func TestAPodIsNotDeletedWhileItsKubeletOwesTheRestOfItsEnd(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), builder.RunsSince(0))
	asked := func(phase corev1.PodPhase, options ...builder.PodOption) builder.SnapshotOption {
		return builder.Failed("worker", 1, append(options, builder.Exit(143), builder.At(60*second), builder.Edit(func(pod *corev1.Pod) { pod.Status.Phase = phase }))...)
	}
	running := builder.Running("worker", 0)
	held := judged{Ruling: policy.Hold, Reason: v1alpha1.ReasonRestartHeld, Wake: timesSecond(65)}
	goes := restart(0, "worker-1 Retryable Replica charged")
	loss := judged{Ruling: policy.Restart, Reason: v1alpha1.ReasonReplicaLost, Restarts: []string{"worker-1 Infrastructure Replica free"}}
	check(t, []judgeCase{
		{"SIGTERM without a deletion", job, seen(running, asked(corev1.PodRunning), builder.Now(62*second), seenAt(61*second)), held},
		{"not for ever", job, seen(running, asked(corev1.PodRunning), builder.Now(66*second), seenAt(61*second)), goes},
		{"the phase is the last word", job, seen(running, asked(corev1.PodFailed), builder.Now(62*second), seenAt(61*second)), goes},
		{"a deletion explains it", job, seen(running, asked(corev1.PodRunning, builder.DeletedAt(60*second)), builder.Now(62*second), seenAt(61*second)), loss},
		{"and a kill is acted on at once", job, seen(running, builder.Failed("worker", 1, builder.Exit(137), builder.At(60*second)), builder.Now(62*second), seenAt(61*second)), goes},
		{"a job does not fail by a rule either", builder.Job("j", builder.Workers(2), builder.RunsSince(0), builder.Rules(v1alpha1.RecoveryRule{ExitCodes: []int32{143}, Cause: v1alpha1.CauseFatal})),
			seen(running, asked(corev1.PodRunning), builder.Now(62*second), seenAt(61*second)), held},
		{"an eviction whose containers have yet to end", builder.Job("j", pytorch, builder.Workers(2), builder.RunsSince(0)), seen(
			builder.Failed("worker", 0, builder.Exit(1), builder.At(60*second), builder.Edit(func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })),
			builder.Failed("worker", 1, builder.Rejected("Evicted", "too much"), builder.StillRunning()), builder.Now(64*second), seenAt(61*second)), held},
	})
}

package policy_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/pkg/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

var exitCodes = []int32{0, 1, 2, 93, 126, 127, 128, 130, 137, 138, 139, 143, 255}

// TestExitCodes is restartPolicy x exit code -> result: "." done, "r" restarted and charged, "a" run again, "F" fails the job.
// The replica is a worker whose success the job does not need.
func TestExitCodes(t *testing.T) {
	want := map[v1alpha1.RestartPolicy]string{
		//                         0   1   2  93 126 127 128 130 137 138 139 143 255
		v1alpha1.RestartNever:     ".  F   F   F   F   F   F   F   F   F   F   F   F",
		v1alpha1.RestartOnFailure: ".  r   r   F   F   F   r   r   r   r   r   r   r",
		v1alpha1.RestartAlways:    "a  r   r   F   F   F   r   r   r   r   r   r   r",
		v1alpha1.RestartExitCode:  ".  F   F   F   F   F   F   r   r   r   F   r   F",
	}
	for restartPolicy, row := range want {
		job := builder.Job("j", builder.Workers(2, builder.Policy(restartPolicy)))
		var got []string
		for _, code := range exitCodes {
			got = append(got, outcome(job, code))
		}
		if diff := cmp.Diff(strings.Fields(row), got); diff != "" {
			t.Errorf("restartPolicy %s, exit codes %v (-want +got):\n%s", restartPolicy, exitCodes, diff)
		}
	}
}

func outcome(job *v1alpha1.TrainingJob, code int32) string {
	end := builder.Failed("worker", 1, builder.Exit(code))
	if code == 0 {
		end = builder.Succeeded("worker", 1)
	}
	switch got := judge(builder.Snapshot(job, builder.Running("worker", 0), end)); {
	case got.Ruling == policy.Continue:
		return "."
	case cmp.Equal(got, restart(0, "worker-1 Retryable Replica charged")):
		return "r"
	case cmp.Equal(got, judged{Ruling: policy.Restart, Reason: v1alpha1.ReasonReplicaCompleted, Restarts: []string{"worker-1 Completed Replica free"}}):
		return "a"
	case cmp.Equal(got, fatal):
		return "F"
	default:
		return got.Reason
	}
}

func TestCauses(t *testing.T) {
	job := builder.Job("j", builder.Workers(2))
	own := restart(0, "worker-1 Retryable Replica charged")
	preempted := judged{Ruling: policy.Restart, Reason: v1alpha1.ReasonReplicaPreempted, Restarts: []string{"worker-1 Preempted Replica free"}}
	outOfMemory := judged{Ruling: policy.Restart, Reason: v1alpha1.ReasonOutOfMemory, Restarts: []string{"worker-1 OOM Replica charged"}}
	twoContainers := builder.Edit(func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: "logs", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})
	})
	policyOf := func(p v1alpha1.RestartPolicy) *v1alpha1.TrainingJob {
		return builder.Job("j", builder.Workers(2, builder.Policy(p)))
	}
	check(t, []judgeCase{
		{"out of memory is the job's own failure, with a budget of its own", job,
			seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.ExitSaying(137, "OOMKilled", ""))), outOfMemory},
		{"a pod that made way for another is lost", job, seen(builder.Running("worker", 0),
			builder.Failed("worker", 1, builder.Exit(137), builder.Disrupted("PreemptionByScheduler", 29*second))), preempted},
		{"the pod's own deadline is the job's own failure", job,
			seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.Rejected("DeadlineExceeded", ""))), own},
		{"a terminating pod did not fail by itself, whatever its times are", job,
			seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(1), builder.At(20*second), builder.DeletedAt(30*second))),
			lost(0, "worker-1 Infrastructure Replica free")},
		{"a rebooted node cannot report how the container ended", policyOf(v1alpha1.RestartExitCode),
			seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.ExitSaying(255, "Unknown", ""))), lost(0, "worker-1 Infrastructure Replica free")},
		{"a kubelet cannot report how the container ended", policyOf(v1alpha1.RestartNever),
			seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.ExitSaying(137, "ContainerStatusUnknown", "gone"))), lost(0, "worker-1 Infrastructure Replica free")},
		{"a kubelet turned one pod of a collective away before it ran: the others have lost nothing", builder.Job("j", pytorch, builder.Workers(2)),
			seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.Rejected("TopologyAffinityError", "no"))), lost(0, "worker-1 Infrastructure Replica free")},
		{"one container has failed while another still runs", job,
			seen(builder.Running("worker", 0), builder.Running("worker", 1, builder.Exit(1), twoContainers)), own},
		{"one container is done, another still runs, and the pod is deleted from outside", job,
			seen(builder.Running("worker", 0), builder.Running("worker", 1, builder.Exit(0), builder.At(20*second), twoContainers, builder.DeletedAt(30*second))),
			lost(0, "worker-1 Infrastructure Replica free")},
		{"one container has failed, another still runs, and the pod is deleted from outside", job,
			seen(builder.Running("worker", 0), builder.Running("worker", 1, builder.Exit(127), builder.At(20*second), twoContainers, builder.DeletedAt(30*second))),
			lost(0, "worker-1 Infrastructure Replica free")},
		{"a pod that is deleted before it ran has lost nothing", job,
			seen(builder.Running("worker", 0), builder.Pending("worker", 1, builder.DeletedAt(30*second))), judged{}},
		{"a pod that never ran and is gone has lost nothing", job, seen(builder.Running("worker", 0)), judged{}},
		{"a pod that waits for its image is no failure", job,
			seen(builder.Running("worker", 0), builder.Pending("worker", 1, builder.Waiting("ImagePullBackOff", "no such image"))), judged{}},
		{"failures of past lives are over", builder.Job("j", builder.Workers(2), builder.Attempt(1)),
			seen(builder.Failed("worker", 1, builder.Exit(1), builder.Life(0, 3))), judged{}},
		{"failures of replicas that scaling took away are over", builder.Job("j", builder.Workers(2), builder.Elastic(1, 4)),
			seen(builder.Running("worker", 0), builder.Failed("worker", 3, builder.Exit(127))), judged{}},
	})
}

// fails is the failure of a verdict.
func fails(t *testing.T, options ...builder.SnapshotOption) (*v1alpha1.Failure, string) {
	t.Helper()
	v := policy.Judge(builder.Snapshot(builder.Job("j", pytorch, builder.Workers(2)), options...))
	if v.Failure == nil {
		t.Fatal("no failure")
	}
	return v.Failure, v.Message
}

func TestFailureSaysWhichReplicaWhereAndHow(t *testing.T) {
	ptr := func(n int32) *int32 { return &n }
	got, message := fails(t, builder.Failed("worker", 1, builder.ExitSaying(137, "OOMKilled", "killed"), builder.On("gpu-3")))
	want := &v1alpha1.Failure{
		Role: v1alpha1.Worker, Index: 1, Cause: v1alpha1.CauseOOM, Pod: "j-worker-1", Node: "gpu-3",
		ExitCode: ptr(137), Reason: "OOMKilled", Message: "killed", Time: builder.Time(30 * time.Second),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("failure (-want +got):\n%s", diff)
	}
	if want := "worker-1 on gpu-3 exited with code 137 (OOMKilled): the whole job restarts as attempt 1, 1 more follow, restart 1 of 3. Last words: killed"; message != want {
		t.Errorf("message %q, want %q", message, want)
	}
	got, message = fails(t, builder.Gone("worker", 0))
	want = &v1alpha1.Failure{
		Role: v1alpha1.Worker, Cause: v1alpha1.CauseInfrastructure, Pod: "j-worker-0", Reason: "Vanished",
		Message: "its pod is gone without a trace", Time: builder.Time(time.Minute),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("failure (-want +got):\n%s", diff)
	}
	if want := "worker-0 was lost (Vanished: its pod is gone without a trace): the whole job restarts as attempt 1, 1 more follow, not charged."; message != want {
		t.Errorf("message %q, want %q", message, want)
	}
}

// A pod that can restart in place keeps the name of an earlier attempt. A pod that was never observed is not named.
func TestAVanishedPodIsNamedWhereItsNameIsKnown(t *testing.T) {
	for _, c := range []struct {
		life     state.Life
		replaced string
		restart  v1alpha1.RestartMethod
		want     string
	}{
		{state.Life{Attempt: 1}, "", v1alpha1.RestartRecreate, "j-worker-0-a1r0"},
		{state.Life{}, "", v1alpha1.RestartInPlace, "j-worker-0"},
		{state.Life{Attempt: 1}, "", v1alpha1.RestartInPlace, ""},
		{state.Life{Attempt: 1, Replacement: 1}, "0:1", v1alpha1.RestartInPlace, "j-worker-0-a1r1"},
	} {
		job := builder.Job("j", builder.Workers(2), builder.StartedAt(0), builder.Attempt(int32(c.life.Attempt)), builder.Recovery(func(r *v1alpha1.Recovery) { r.RestartMethod = c.restart }),
			builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Started: "0-1", Replacements: c.replaced}))
		s := builder.Snapshot(job, builder.Running("worker", 1, builder.Life(c.life.Attempt, 0)))
		v := policy.Judge(s)
		if v.Failure == nil || v.Failure.Pod != c.want {
			t.Errorf("%v, %s: failure %+v, want pod %q", c.life, c.restart, v.Failure, c.want)
		}
	}
}

func TestALongTerminationMessageKeepsItsEndAndWholeCharacters(t *testing.T) {
	for _, filler := range []string{"x", "é", "世", "🙂"} {
		got, _ := fails(t, builder.Failed("worker", 1, builder.ExitSaying(1, "Error", strings.Repeat(filler, 4000)+"the end")))
		if len(got.Message) > 1024 || len(got.Message) < 1020 || !utf8.ValidString(got.Message) || !strings.HasSuffix(got.Message, "the end") {
			t.Errorf("a message of %q became %d bytes, valid: %t, ending in %q",
				filler, len(got.Message), utf8.ValidString(got.Message), got.Message[len(got.Message)-7:])
		}
	}
}

// Kubernetes' times have whole seconds: if ranks end in one second in the same way, the first of them is unknown.
func TestAFailureSaysWhenItMayNotHaveBeenTheFirst(t *testing.T) {
	exit := func(index int, code int32, at time.Duration) builder.SnapshotOption {
		return builder.Failed("worker", index, builder.Exit(code), builder.At(at))
	}
	for name, c := range map[string]struct {
		seen []builder.SnapshotOption
		want int32
	}{
		"alone":                                   {seen(exit(0, 1, 30*second)), 0},
		"with another in its second":              {seen(exit(0, 1, 30*second), exit(1, 1, 30*second)), 1},
		"a second before the other":               {seen(exit(0, 1, 30*second), exit(1, 1, 31*second)), 0},
		"with another that has a code of its own": {seen(exit(0, 1, 30*second), exit(1, 42, 30*second)), 0},
	} {
		if got, message := fails(t, c.seen...); got.Alike != c.want {
			t.Errorf("%s: %d alike, want %d: %s", name, got.Alike, c.want, message)
		}
	}
	_, message := fails(t, exit(0, 1, 30*second), exit(1, 1, 30*second))
	if want := "worker-0 on node-worker-0 exited with code 1 (Error), and 1 more did in the same second: " +
		"the whole job restarts as attempt 1, 1 more follow, restart 1 of 10. Likewise ended worker-1: the logs of all are kept."; message != want {
		t.Errorf("%q, want %q", message, want)
	}
}

package failure_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

// TestExitCodes is restartPolicy x exit code -> result: "." no failure, "r" restarted and charged, "a" run again, "F" fails the job. The
// replica is a worker whose success the job does not need.
func TestExitCodes(t *testing.T) {
	codes := []int32{0, 1, 2, 93, 126, 127, 128, 130, 137, 138, 139, 143, 255}
	results := map[string]string{
		"": ".", "worker-1 Retryable Replica charged": "r", "worker-1 Completed Replica free": "a", "worker-1 Fatal": "F",
	}
	for policy, want := range map[v1alpha1.RestartPolicy]string{
		//                         0   1   2  93 126 127 128 130 137 138 139 143 255
		v1alpha1.RestartNever:     ".  F   F   F   F   F   F   F   F   F   F   F   F",
		v1alpha1.RestartOnFailure: ".  r   r   F   F   F   r   r   r   r   r   r   r",
		v1alpha1.RestartAlways:    "a  r   r   F   F   F   r   r   r   r   r   r   r",
		v1alpha1.RestartExitCode:  ".  F   F   F   F   F   F   r   r   r   F   r   F",
	} {
		var got []string
		for _, code := range codes {
			end := builder.Failed("worker", 1, builder.Exit(code))
			if code == 0 {
				end = builder.Succeeded("worker", 1)
			}
			job := builder.Job("j", builder.Workers(2, builder.Policy(policy)))
			got = append(got, results[restarts(builder.Snapshot(job, builder.Running("worker", 0), end))])
		}
		if diff := cmp.Diff(strings.Fields(want), got); diff != "" {
			t.Errorf("restartPolicy %s, exit codes %v (-want +got):\n%s", policy, codes, diff)
		}
	}
}

// The same for other ways to fail. loss_test.go has the losses.
func TestOwnFailures(t *testing.T) {
	const fatal, startup, preempted = "worker-1 Fatal", "worker-1 Startup Replica charged", "worker-1 Preempted Replica free"
	for name, c := range map[string]struct {
		pod           builder.SnapshotOption
		never, others string
	}{
		"OOM":                {builder.Failed("worker", 1, builder.ExitSaying(137, "OOMKilled", "")), fatal, "worker-1 OOM Replica charged"},
		"StartError":         {builder.Failed("worker", 1, builder.ExitSaying(128, "StartError", "no such file")), fatal, startup},
		"no such program":    {builder.Failed("worker", 1, builder.ExitSaying(128, "StartError", builder.NoProgram)), fatal, fatal},
		"ContainerCannotRun": {builder.Failed("worker", 1, builder.ExitSaying(127, "ContainerCannotRun", "")), fatal, startup},
		"DeadlineExceeded":   {builder.Failed("worker", 1, builder.Rejected("DeadlineExceeded", "")), fatal, "worker-1 Retryable Replica charged"},
		"preempted":          {builder.Deleted("worker", 1, builder.Disrupted("PreemptionByScheduler", 29*second)), preempted, preempted},
		"preempted and OOM": {builder.Failed("worker", 1, builder.ExitSaying(137, "OOMKilled", ""), builder.Disrupted("PreemptionByScheduler", 29*second)),
			preempted, preempted},
		"a misconfigured preflight check": {builder.Failed("worker", 1, builder.FailedInit("preflight-dcgm-diag", 2)), fatal, startup},
		"another init container":          {builder.Failed("worker", 1, builder.FailedInit("setup", 1)), fatal, "worker-1 Retryable Replica charged"},
		"a preflight check out of time":   {builder.Failed("worker", 1, builder.FailedInit("preflight-dcgm-diag", 124)), fatal, "worker-1 Retryable Replica charged"},
	} {
		for _, policy := range policies {
			want := c.others
			if policy == v1alpha1.RestartNever {
				want = c.never
			}
			job := builder.Job("j", builder.Workers(2, builder.Policy(policy)))
			if got := restarts(builder.Snapshot(job, builder.Running("worker", 0), c.pod)); got != want {
				t.Errorf("restartPolicy %s, %s: %s, want %s", policy, name, got, want)
			}
		}
	}
}

func TestWhatBreaksAReplica(t *testing.T) {
	job := builder.Job("j", builder.Workers(2))
	const own, lost = "worker-1 Retryable Replica charged", "worker-1 Infrastructure Replica free"
	twoContainers := builder.Edit(func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: "logs", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})
	})
	checkRestarts(t, []restartCase{
		{"one container has failed while another still runs", job,
			seen(builder.Running("worker", 0), builder.Running("worker", 1, builder.Exit(1), twoContainers)), own},
		{"one container is done, another still runs, and the pod is deleted from outside", job,
			seen(builder.Running("worker", 0), builder.Running("worker", 1, builder.Exit(0), builder.At(20*second), twoContainers, builder.DeletedAt(30*second))), lost},
		{"one container has failed, another still runs, and the pod is deleted from outside", job,
			seen(builder.Running("worker", 0), builder.Running("worker", 1, builder.Exit(127), builder.At(20*second), twoContainers, builder.DeletedAt(30*second))), lost},
		{"failures of replicas that scaling took away are over", builder.Job("j", builder.Workers(2), builder.Elastic(1, 4)),
			seen(builder.Running("worker", 0), builder.Failed("worker", 3, builder.Exit(127))), ""},
	})
}

// A rank that missed a peer exits with a code of its own, which shows nothing about the fault. Its words do.
func TestAFollowersCodeIsNotPermanent(t *testing.T) {
	const lost = "RuntimeError: Connection closed by peer [10.0.0.3]:2993"
	exit := func(code int32, words string) []builder.SnapshotOption {
		return seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.ExitSaying(code, "Error", words)))
	}
	collective := builder.Job("j", pytorch, builder.Workers(2, builder.Policy(v1alpha1.RestartExitCode)))
	checkRestarts(t, []restartCase{
		{"of a collective", collective, exit(1, lost), "worker-1 Retryable Job charged"},
		{"an error of its own", collective, exit(1, "ValueError: batch 17 is empty"), "worker-1 Fatal"},
		{"one that waits for its peers", collective, exit(1, "failed to connect to worker-0:29500: Connection refused"), "worker-1 Fatal"},
		{"a code by which a program says what it means", collective, exit(93, lost), "worker-1 Fatal"},
		{"of workers that need a parameter server", builder.Job("j", tensorflow, builder.PS(1), builder.Workers(2, builder.Policy(v1alpha1.RestartExitCode))), exit(1, lost),
			"worker-1 Retryable Replica charged"},
		{"a launcher of Open MPI", builder.Job("j", builder.Framework(v1alpha1.MPI), builder.Leader(v1alpha1.Launcher), builder.Workers(2, builder.Policy(v1alpha1.RestartExitCode))),
			exit(1, "ORTE has lost communication with a remote daemon.\nWe cannot recover from this failure, and therefore will terminate the job."), "worker-1 Retryable Job charged"},
		{"one that lost a peer after all had met", builder.Job("j", pytorch, builder.Workers(2, builder.Policy(v1alpha1.RestartExitCode)), builder.RunsSince(0)),
			exit(1, "failed to connect to worker-0:29500: Connection refused"), "worker-1 Retryable Job charged"},
		{"whose agent of torchrun shows an exception", collective, exit(1, tables(t)["raise-record 2 1"]), "worker-1 Fatal"},
		{"whose agent shows only the code of any exception", collective, exit(1, tables(t)["raise 2 1"]), "worker-1 Retryable Job charged"},
		{"whose agent has all ranks", builder.Job("j", pytorch, builder.Workers(1, builder.Policy(v1alpha1.RestartExitCode))),
			seen(builder.Failed("worker", 0, builder.ExitSaying(1, "Error", tables(t)["raise 2 1"]))), "worker-0 Fatal"},
		{"whose agent shows a code of the rank's own", collective, exit(1, tables(t)["exit3 2 1"]), "worker-1 Fatal"},
		{"where ranks do without each other", builder.Job("j", builder.Workers(2, builder.Policy(v1alpha1.RestartExitCode))), exit(1, lost), "worker-1 Fatal"},
		{"restartPolicy Never", builder.Job("j", pytorch, builder.Workers(2, builder.Policy(v1alpha1.RestartNever))), exit(1, lost), "worker-1 Fatal"},
	})
}

package jobset

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// told is what a TrainingJob shows, in the order in which it may happen.
type told struct {
	condition, reason, message string
	active, ready, succeeded   int32
	attempt, charged           int32
	isSuspended                bool
	failed                     v1alpha1.Role
	at                         int32
}

// after returns the status of the JobSet after its TrainingJob has shown that.
func (is told) after(t *testing.T, set *JobSet) Status {
	t.Helper()
	set.Spec.Suspend = is.isSuspended
	s := served(t, set)
	status := &s.Child.Status
	status.Attempt, status.ChargedRestarts = is.attempt, is.charged
	status.ReplicaStatuses = map[v1alpha1.Role]v1alpha1.ReplicaStatus{"Worker": {Active: is.active, Ready: is.ready, Succeeded: is.succeeded}}
	if is.condition != "" {
		status.Conditions = []metav1.Condition{{Type: is.condition, Status: metav1.ConditionTrue, Reason: is.reason, Message: is.message}}
	}
	if is.failed != "" {
		status.LastFailure = &v1alpha1.Failure{Role: is.failed, Index: is.at}
	}
	set.Status = set.Mirror(start, &part{JobSet: set, served: s, child: s.Child})
	return set.Status
}

// summary returns the conditions, "-" before the type of a False one, and the counts of the first replicated job.
func (s *Status) summary() string {
	var text []string
	for _, c := range s.Conditions {
		sign := ""
		if c.Status == metav1.ConditionFalse {
			sign = "-"
		}
		text = append(text, sign+c.Type+" "+c.Reason+" "+c.Message)
	}
	return strings.Join(text, "\n")
}

// The sentences are from pkg/constants/constants.go of JobSet 0.12. The TrainingJob's own sentence follows after a colon.
func TestAStatusHasJobSetsWords(t *testing.T) {
	set := read(t, changed(t, trained, "  suspend: false", "  failurePolicy: {maxRestarts: 2}\n  suspend: false"))
	set.Status = Status{}
	for _, step := range []struct {
		told
		want string
		jobs ReplicatedJobStatus
	}{
		{told{isSuspended: true}, "Suspended SuspendedJobs jobset is suspended", ReplicatedJobStatus{Suspended: 1}},
		{told{active: 2}, "-Suspended ResumeJobs jobset is resumed", ReplicatedJobStatus{Active: 1}},
		{told{condition: "Running", active: 2, ready: 2}, "-Suspended ResumeJobs jobset is resumed", ReplicatedJobStatus{Active: 1, Ready: 1}},
		{
			told{condition: "Restarting", message: "worker-1 exited with code 1", active: 1, attempt: 1, charged: 1, failed: "Worker"},
			"-Suspended ResumeJobs jobset is resumed\n" +
				"RestartingJobSet DefaultFailurePolicy applying RestartJobSet failure policy action (first failed job: t-node-0): worker-1 exited with code 1",
			ReplicatedJobStatus{Active: 1},
		},
		{
			told{condition: "Running", active: 1, ready: 1, succeeded: 1, attempt: 1, charged: 1, failed: "Worker"},
			"-Suspended ResumeJobs jobset is resumed\n-RestartingJobSet JobsReady all jobs are ready", ReplicatedJobStatus{Active: 1, Ready: 1},
		},
		{
			told{condition: "Succeeded", succeeded: 2, attempt: 1, charged: 1, failed: "Worker"},
			"-Suspended ResumeJobs jobset is resumed\n-RestartingJobSet JobSetCompleted jobset completed successfully\nCompleted AllJobsCompleted jobset completed successfully",
			ReplicatedJobStatus{Succeeded: 1},
		},
	} {
		got := step.after(t, set)
		step.jobs.Name = "node"
		if diff := cmp.Diff(step.want, got.summary()); diff != "" {
			t.Errorf("%+v: %s", step.told, diff)
		}
		if diff := cmp.Diff([]ReplicatedJobStatus{step.jobs}, got.ReplicatedJobsStatus); diff != "" {
			t.Errorf("%+v: %s", step.told, diff)
		}
		if got.Restarts != step.attempt || got.RestartsCountTowardsMax != step.charged {
			t.Errorf("%+v: %d restarts, of which %d count", step.told, got.Restarts, got.RestartsCountTowardsMax)
		}
	}
	if set.Status.TerminalState != "Completed" || !set.IsFinished() || !set.Status.finishTime().Time.Equal(start) {
		t.Errorf("terminal state %q, finished %t at %v", set.Status.TerminalState, set.IsFinished(), set.Status.finishTime())
	}
}

// Three Jobs of two pods: a Job is ready or has succeeded for certain once fewer pods lack than there are others.
func TestJobsAreCountedByTheirPods(t *testing.T) {
	set := read(t, changed(t, trained, "replicas: 1", "replicas: 3"))
	for _, step := range []struct {
		told
		jobs ReplicatedJobStatus
	}{
		{told{isSuspended: true}, ReplicatedJobStatus{Suspended: 3}},
		{told{active: 1}, ReplicatedJobStatus{Active: 1}},
		{told{active: 6, ready: 3}, ReplicatedJobStatus{Active: 3}},
		{told{active: 6, ready: 5}, ReplicatedJobStatus{Active: 3, Ready: 2}},
		{told{active: 6, ready: 6}, ReplicatedJobStatus{Active: 3, Ready: 3}},
		{told{active: 1, ready: 1, succeeded: 5}, ReplicatedJobStatus{Active: 1, Ready: 1, Succeeded: 2}},
		{told{condition: "Failed", reason: "MaxRestartsExceeded", failed: "Worker", at: 4, succeeded: 1}, ReplicatedJobStatus{Failed: 1}},
	} {
		got := step.after(t, set)
		step.jobs.Name = "node"
		if diff := cmp.Diff([]ReplicatedJobStatus{step.jobs}, got.ReplicatedJobsStatus); diff != "" {
			t.Errorf("%+v: %s", step.told, diff)
		}
	}
	if got := set.Status.summary(); !strings.Contains(got, "(first failed job: t-node-2)") {
		t.Errorf("%s, want the Job of the fifth pod", got)
	}
}

func TestAFailedJobSetHasTheReasonOfItsPolicy(t *testing.T) {
	for policy, c := range map[string]struct{ reason, want string }{
		"": {"MaxRestartsExceeded", "Failed FailedJobs jobset failed due to one or more job failures (first failed job: t-node-0): why"},
		"  failurePolicy: {maxRestarts: 1}\n": {
			"MaxRestartsExceeded", "Failed ReachedMaxRestarts jobset failed due to reaching max number of restarts (first failed job: t-node-0): why",
		},
		"  failurePolicy: {maxRestarts: 3}\n": {
			"FailJobRule", "Failed FailJobSetFailurePolicyAction applying FailJobSet failure policy action (first failed job: t-node-0): why",
		},
	} {
		set := read(t, changed(t, trained, "  suspend: false\n", policy))
		got := told{condition: "Failed", reason: c.reason, message: "why", failed: "Worker"}.after(t, set)
		if got.summary() != c.want || got.TerminalState != "Failed" || got.ReplicatedJobsStatus[0].Failed != 1 {
			t.Errorf("%q: %s, %s, %+v, want %s", policy, got.summary(), got.TerminalState, got.ReplicatedJobsStatus, c.want)
		}
	}
}

func TestAStartInOrderIsShown(t *testing.T) {
	set := read(t, changed(t, trained, "AnyOrder", "InOrder"))
	got := told{active: 2}.after(t, set)
	if want := "StartupPolicyInProgress InOrderStartupPolicyInProgress in order startup policy is in progress"; got.summary() != want {
		t.Errorf("%s, want %s", got.summary(), want)
	}
	got = told{condition: "Running", active: 2, ready: 2}.after(t, set)
	want := "-StartupPolicyInProgress InOrderStartupPolicyInProgress in order startup policy is in progress\n" +
		"StartupPolicyCompleted InOrderStartupPolicyCompleted in order startup policy has completed"
	if got.summary() != want {
		t.Errorf("%s, want %s", got.summary(), want)
	}
}

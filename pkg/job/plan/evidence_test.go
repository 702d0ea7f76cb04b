package plan_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/test/sim/builder"
)

// deletes returns the names of the pods that the plan deletes.
func deletes(p *plan.Plan) []string {
	var names []string
	for _, step := range p.Steps {
		if d, is := step.(plan.DeletePod); is {
			names = append(names, d.Name)
		}
	}
	return names
}

// ended is a pod whose containers have all ended, before the kubelet reports that the pod failed.
func ended(options ...builder.PodOption) builder.SnapshotOption {
	return builder.Running("worker", 1, append(options, builder.Exit(1))...)
}

func TestThePodBehindAFailureIsKeptForItsLogBeforeItsPhaseSaysThatItFailed(t *testing.T) {
	behind := builder.Status(func(status *v1alpha1.TrainingJobStatus) {
		status.LastFailure = &v1alpha1.Failure{Role: v1alpha1.Worker, Index: 1, Pod: "j-worker-1"}
	})
	past := builder.Life(0, 0)
	restarted := builder.Job("j", builder.Framework(v1alpha1.PyTorch), builder.Workers(2), builder.Attempt(1), behind)
	p := plan.Make(builder.Snapshot(restarted, builder.Running("worker", 0, past), ended(past)))
	if got := deletes(&p); !slices.Equal(got, []string{"j-worker-0"}) {
		t.Errorf("after a restart these are deleted: %v, not j-worker-0 alone", got)
	}
	finished := builder.Condition(v1alpha1.ConditionFinished, true, v1alpha1.ReasonFatalExit, 0)
	p = plan.Make(builder.Snapshot(builder.Job("j", builder.Workers(2), finished, behind), builder.Running("worker", 0), ended()))
	if got := deletes(&p); !slices.Equal(got, []string{"j-worker-0"}) {
		t.Errorf("after a failure these are deleted: %v, not j-worker-0 alone", got)
	}
	p = plan.Make(builder.Snapshot(restarted, ended(past, builder.On("n")), builder.NodeLost("n", 0)))
	if got := deletes(&p); !slices.Equal(got, []string{"j-worker-1"}) {
		t.Errorf("on a lost node, which never reports that the pod failed, these are deleted: %v, not j-worker-1", got)
	}
}

func TestAResumedCollectiveHasAllItsRanks(t *testing.T) {
	resting := builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 0)
	done := builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Succeeded: "2"})
	for framework, want := range map[v1alpha1.Framework]string{v1alpha1.PyTorch: "", v1alpha1.Custom: "2"} {
		job := builder.Job("j", builder.Framework(framework), builder.Workers(3), builder.StartedAt(0), resting, done)
		p := plan.Make(builder.Snapshot(job))
		if got := p.Status.Memory.Roles[v1alpha1.Worker].Succeeded; got != want || meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionSuspended) {
			t.Errorf("%s: after the resumption %q have succeeded, not %q", framework, got, want)
		}
	}
}

func TestALongQuotationNeverHidesWhatWasDone(t *testing.T) {
	words := strings.Repeat("first ", 150) + strings.Repeat("last ", 150)
	job := builder.Job("j", builder.Framework(v1alpha1.PyTorch), builder.Workers(2))
	p := plan.Make(builder.Snapshot(job, builder.Running("worker", 0), builder.Failed("worker", 1, builder.ExitSaying(1, "Error", words))))
	messages := []string{p.Status.Message}
	for _, e := range p.Events {
		messages = append(messages, e.Message)
	}
	for _, text := range messages {
		for _, part := range []string{"first", "the whole job restarts as attempt 1", "restart 1 of 10"} {
			if !strings.Contains(text, part) {
				t.Errorf("%q is missing in: %s", part, text)
			}
		}
	}
}

func TestAnEvictionForThePodsOwnStorageIsToldInKubernetesWords(t *testing.T) {
	s := builder.Snapshot(builder.Job("j", builder.Workers(2)), builder.Running("worker", 0),
		builder.Failed("worker", 1, builder.Exit(137), builder.Rejected("Evicted", "Usage of EmptyDir volume exceeds the limit.")))
	f := plan.Make(s).Status.LastFailure
	if f == nil || f.Reason != "Evicted" || !strings.Contains(f.Message, "EmptyDir") || f.Cause != v1alpha1.CauseRetryable {
		t.Errorf("the failure is %+v", f)
	}
}

func TestAJobRunsWithoutItsEvaluator(t *testing.T) {
	job := builder.Job("j", builder.Workers(1), builder.Evaluators(1))
	p := plan.Make(builder.Snapshot(job, builder.Running("worker", 0), builder.Pending("evaluator", 0, builder.Unschedulable("no room"))))
	c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionRunning)
	if c == nil || c.Status != "True" || !strings.Contains(c.Message, "evaluator-0") {
		t.Errorf("Running is %+v", c)
	}
}

// The status of a terminating pod may explain the restart. A running pod is deleted only at the version that was read, a pod with
// nothing more to report at any version.
func TestARestartEndsARunningPodOnlyAsItWasRead(t *testing.T) {
	past, job := builder.Life(0, 0), builder.Job("j", builder.Workers(2), builder.Attempt(1))
	read := builder.Edit(func(pod *corev1.Pod) { pod.ResourceVersion = "7" })
	for version, pod := range map[string]builder.SnapshotOption{
		"7": builder.Running("worker", 0, past, read),
		"":  builder.Failed("worker", 0, past, read, builder.Exit(1)),
	} {
		for _, step := range plan.Make(builder.Snapshot(job, pod)).Steps {
			if d, is := step.(plan.DeletePod); is && d.Version != version {
				t.Errorf("%v at version %q, want %q", d, d.Version, version)
			}
		}
	}
}

package policy_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/test/sim/builder"
)

func TestWaitingForNodes(t *testing.T) {
	patience := func(job *v1alpha1.TrainingJob) {
		job.Spec.Scheduling = &v1alpha1.Scheduling{TimeoutSeconds: ptr.To[int32](60)}
	}
	job := func(more ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("j", append([]builder.JobOption{builder.Workers(2), builder.StartedAt(0), patience}, more...)...)
	}
	running := builder.Condition(v1alpha1.ConditionRunning, true, "", 0)
	gated := builder.Edit(func(pod *corev1.Pod) {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated}}
	})
	half := seen(builder.Running("worker", 0), builder.Pending("worker", 1, builder.Unschedulable("no room")))
	early := append(seen(builder.Now(59*second)), half...)
	timedOut := judged{Ruling: policy.Fail, Reason: v1alpha1.ReasonSchedulingTimeout}
	check(t, []judgeCase{
		{"it may wait for so long", job(), early, judged{Wake: 60 * second}},
		{"and then it fails", job(), half, timedOut},
		{"a pod that is not made yet waits too", job(), seen(builder.Running("worker", 0)), timedOut},
		{"a pod with a node waits no longer, although the status still shows it", job(builder.Condition(v1alpha1.ConditionScheduled, false, "", 0)),
			seen(builder.Running("worker", 0), builder.Pending("worker", 1, builder.On("gpu-1"))), judged{}},
		{"a replica of a job that runs may wait for ever", job(running), half, judged{}},
		{"while a quota admits no pod, the time does not run", job(), seen(builder.Refused(v1alpha1.ReasonQuotaExceeded, "used up", 90*second)), judged{}},
		{"an elastic job needs minReplicas only", job(builder.Elastic(1, 4)), half, judged{}},
		{"a restart that is held back does not make it wait any longer", builder.Job("j", pytorch, builder.Workers(3), builder.StartedAt(0), patience),
			seen(builder.Failed("worker", 0, builder.Exit(1)), builder.Pending("worker", 1, builder.Waiting("ImagePullBackOff", "")), builder.Pending("worker", 2, builder.Unschedulable("no room"))), timedOut},
		{"no job waits for an evaluator", job(builder.Evaluators(1)),
			seen(builder.Running("worker", 0), builder.Running("worker", 1), builder.Pending("evaluator", 0, builder.Unschedulable("no room"))), judged{}},
		{"a replica that had a node and waits for its back-off lacks none", job(builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "1:1"})),
			seen(builder.Running("worker", 0)), judged{}},
		{"nor does one that was created a moment ago", job(builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "1:1"})),
			seen(builder.Running("worker", 0), builder.Pending("worker", 1, builder.Life(0, 1))), judged{}},
		{"one that finds no node again does", job(builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "1:1"})),
			seen(builder.Running("worker", 0), builder.Pending("worker", 1, builder.Life(0, 1), builder.Unschedulable("no room"))), timedOut},
		{"after a resumption each replica has another life, and one behind a scheduling gate never had a node", job(builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "0-1:1"})),
			seen(builder.Running("worker", 0, builder.Life(0, 1)), builder.Pending("worker", 1, builder.Life(0, 1), gated)), timedOut},
		{"the successor of a failed one has been behind the gate for a moment", job(builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "1:1", NextStarts: fmt.Sprintf("1:%d", builder.Epoch.Add(80*second).Unix())})),
			seen(builder.Running("worker", 0), builder.Pending("worker", 1, builder.Life(0, 1), gated)), judged{}},
		{"without a timeout it waits for ever", builder.Job("j", builder.Workers(2), builder.StartedAt(0)), half, judged{}},
	})
}

// A deadline's message must show the user what to change: a quota, if a quota refuses the pods.
func TestADeadlineNamesTheQuotaThatRefusedAPod(t *testing.T) {
	seen := seen(builder.Running("worker", 0), builder.Refused(v1alpha1.ReasonQuotaExceeded, "exceeded quota: team-a", 90*second))
	for name, option := range map[string]builder.JobOption{"startup": builder.StartupDeadline(60), "scheduling": builder.SchedulingTimeout(60)} {
		v := policy.Judge(builder.Snapshot(builder.Job("j", builder.Workers(2), builder.StartedAt(0), option), seen...))
		if v.Failure == nil || !strings.Contains(v.Message, "QuotaExceeded: exceeded quota: team-a") {
			t.Errorf("%s: %q", name, v.Message)
		}
	}
}

package plan_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/test/builder"
)

func TestAPodThatDoesNotEndIsNamedAndStallsTheJob(t *testing.T) {
	past := builder.Life(0, 0)
	ending := builder.Deleted("worker", 1, past, builder.DeletedAt(30*second)) // its grace period ends at 60 s
	whole := builder.Job("j", builder.Framework(v1alpha1.PyTorch), builder.Workers(2), builder.Attempt(1))
	alone := builder.Job("j", builder.Workers(2), builder.Condition(v1alpha1.ConditionRunning, true, "", 0),
		builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "1:1"}))
	for _, job := range []*v1alpha1.TrainingJob{whole, alone} {
		for _, c := range []struct {
			at             time.Duration
			named, stalled bool
		}{{40 * second, false, false}, {50 * second, true, false}, {90 * second, true, true}} {
			p := plan.Make(builder.Snapshot(job, builder.Running("worker", 0, builder.Life(int(job.Status.Attempt), 0)), ending, builder.Now(c.at)))
			stalled := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionStalled)
			told := slices.ContainsFunc(p.Events, func(e plan.Event) bool { return strings.HasPrefix(e.Message, v1alpha1.ReasonPodNotEnding) })
			if got := stalled != nil && stalled.Status == "True" && stalled.Reason == v1alpha1.ReasonPodNotEnding; got != c.stalled || told != c.stalled {
				t.Errorf("at %v the job is stalled: %v, an Event says so: %t", c.at, stalled, told)
			}
			if got := strings.Contains(p.Status.Message, "j-worker-1 on node-worker-1"); got != c.named {
				t.Errorf("at %v the message is %q", c.at, p.Status.Message)
			}
		}
	}
}

func TestAPodThatDoesNotEndIsDeletedByForceIfTheUserSaysSo(t *testing.T) {
	impatient := builder.Recovery(func(r *v1alpha1.Recovery) { r.ForceAfterSeconds = ptr.To[int32](20) })
	job := builder.Job("j", builder.Workers(2), impatient, builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "1:1"}))
	ending := builder.Deleted("worker", 1, builder.Life(0, 0), builder.DeletedAt(30*second))
	force := []string{"delete by force j-worker-1: its life is past"}
	checkSteps(t, []stepCase{
		{"not before", job, seen(builder.Running("worker", 0), ending, builder.Now(79*second)), nil, 80 * second},
		{"then", job, seen(builder.Running("worker", 0), ending, builder.Now(80*second)), force, 0},
		{"never while it holds a volume", job, seen(builder.Running("worker", 0), builder.Deleted("worker", 1, builder.Life(0, 0), builder.DeletedAt(30*second),
			builder.Claiming()), builder.Now(100*second)), nil, 0},
	})
}

func TestAFailedPodThatIsNotRemovedIsDeletedAgain(t *testing.T) {
	suspended := builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 0)
	failed := builder.Failed("worker", 0, builder.Exit(1), builder.DeletedAt(20*second))
	checkSteps(t, []stepCase{{"30 s later", builder.Job("j", builder.Workers(1), builder.Suspended(), suspended), seen(failed),
		[]string{"delete by force j-worker-0: the job is suspended"}, 0}})
}

func TestAFormerJobsPodOnALostNodeGivesItsNameFree(t *testing.T) {
	job := builder.Job("j", builder.Workers(2))
	onLost := []builder.PodOption{builder.On("n"), builder.DeletedAt(20 * second)}
	lost := builder.NodeLost("n", 30*second) // from 45 s on
	checkSteps(t, []stepCase{
		{"it is deleted by force, as its job is gone", job, seen(builder.FormerJobPod(onLost...), lost),
			[]string{"delete by force j-worker-1: it is of an earlier job of the same name, on a lost node"}, 80 * second},
		{"before the node is lost it is waited for", job, seen(builder.FormerJobPod(onLost...), lost, builder.Now(44*second)), nil, 45 * second},
		{"one that holds a volume is waited for", job, seen(builder.FormerJobPod(append(onLost, builder.Claiming())...), lost), nil, 80 * second},
	})
	p := plan.Make(builder.Snapshot(job, builder.FormerJobPod(onLost...)))
	if !strings.Contains(p.Status.Message, "j-worker-1 on n was told to end") {
		t.Errorf("the message is %q", p.Status.Message)
	}
}

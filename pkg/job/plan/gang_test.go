package plan_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// ganged adds these groups to the snapshot. They are native ones by default.
func ganged(groups ...state.Group) builder.SnapshotOption {
	for i := range groups {
		if groups[i].Scheduler == "" {
			groups[i].Scheduler = v1alpha1.GangNative
		}
	}
	return func(s *state.Observed) { s.Gang = state.Gang{Scheduler: v1alpha1.GangNative, Groups: groups} }
}

func withGPUs(template *corev1.PodTemplateSpec) {
	template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}
}

func gangJob(t *testing.T, options ...builder.JobOption) *v1alpha1.TrainingJob {
	return takenOn(t, append([]builder.JobOption{pytorch, builder.Workers(2, builder.Template(withGPUs))}, options...)...)
}

func TestAGroupComesBeforeItsPods(t *testing.T) {
	s := builder.Snapshot(gangJob(t), ganged())
	steps := plan.Make(s).Steps
	if len(steps) != 3 {
		t.Fatalf("steps %v, want a group and two pods", steps)
	}
	group, isGroup := steps[0].(plan.CreateGroup)
	if !isGroup || group.Group.GetName() != "j-0" || group.Group.(*schedulingv1beta1.PodGroup).Spec.SchedulingPolicy.Gang.MinCount != 2 {
		t.Errorf("first step %v, want the group j-0 of two", steps[0])
	}
	for _, step := range steps[1:] {
		if pod := plan.Pods(s.Job)(step.(plan.CreatePod)); *pod.Spec.SchedulingGroup.PodGroupName != "j-0" {
			t.Errorf("%s joins %v", pod.Name, pod.Spec.SchedulingGroup)
		}
	}
}

// The cache may be old: a write of the unchanged minimum shows whether the API server still has the group.
func TestPodsJoinAGroupThatTheAPIServerHas(t *testing.T) {
	steps := plan.Make(builder.Snapshot(gangJob(t), ganged(state.Group{Name: "j-0", UID: "u", Minimum: 2}))).Steps
	if len(steps) != 3 {
		t.Fatalf("steps %v, want the group confirmed and two pods", steps)
	}
	if g, isResize := steps[0].(plan.ResizeGroup); !isResize || g.Name != "j-0" || g.UID != "u" {
		t.Errorf("first step %v, want the group j-0 confirmed", steps[0])
	}
}

func TestAGroupIsKeptRightWhilePodsWaitForNodes(t *testing.T) {
	job := gangJob(t, builder.AllWorkers(), builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Started: "0", Succeeded: "0"}))
	for name, c := range map[string]struct {
		groups []state.Group
		pod    builder.SnapshotOption
		want   string
	}{
		"one has finished while the other waits": {[]state.Group{{Name: "j-0", Minimum: 2}}, builder.Pending("worker", 1), "plan.ResizeGroup"},
		"the group is right":                     {[]state.Group{{Name: "j-0", Minimum: 1}}, builder.Pending("worker", 1), ""},
		"the group is gone":                      {nil, builder.Pending("worker", 1), "plan.CreateGroup"},
		"no pod waits":                           {[]state.Group{{Name: "j-0", Minimum: 2}}, builder.Running("worker", 1, builder.On("n1")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, step := range plan.Make(builder.Snapshot(job, c.pod, ganged(c.groups...))).Steps {
				got += fmt.Sprintf("%T", step)
			}
			if got != c.want {
				t.Errorf("steps %q, want %q", got, c.want)
			}
		})
	}
}

func TestSomebodySeesWhetherAGroupHasGone(t *testing.T) {
	job := gangJob(t)
	job.Status.Attempt = 1
	p := plan.Make(builder.Snapshot(job, builder.Running("worker", 0, builder.On("n1")), builder.Running("worker", 1, builder.On("n1")), ganged(state.Group{Name: "j-0"}, state.Group{Name: "j-1", Minimum: 2})))
	if want := builder.Epoch.Add(time.Minute + 5*time.Second); p.Wake.After(want) || p.Wake.IsZero() {
		t.Errorf("looks again at %v, want %v", p.Wake, want)
	}
}

func TestNoPodIsMadeWhileItsGroupCannotBe(t *testing.T) {
	for name, g := range map[string]state.Gang{
		"the API is missing":  {Scheduler: v1alpha1.GangVolcano, Unavailable: "no such thing"},
		"the group is ending": {Scheduler: v1alpha1.GangNative, Groups: []state.Group{{Scheduler: v1alpha1.GangNative, Name: "j-0", Minimum: 2, Deleted: builder.Epoch}}},
	} {
		p := plan.Make(builder.Snapshot(gangJob(t), func(s *state.Observed) { s.Gang = g }))
		if len(p.Steps) != 0 || p.Wake.IsZero() {
			t.Errorf("%s: steps %v, looks again at %v", name, p.Steps, p.Wake)
		}
	}
}

func TestTheGroupOfAPastAttemptGoes(t *testing.T) {
	job := gangJob(t)
	job.Status.Attempt = 1
	var gone []string
	for _, step := range plan.Make(builder.Snapshot(job, ganged(state.Group{Name: "j-0", UID: "old"}, state.Group{Name: "j-1", Minimum: 2}))).Steps {
		if d, isDelete := step.(plan.DeleteGroup); isDelete {
			gone = append(gone, d.Name+" "+string(d.UID))
		}
	}
	if len(gone) != 1 || gone[0] != "j-0 old" {
		t.Errorf("deleted groups %v, want j-0", gone)
	}
}

// scheduling.gang changed while the job was suspended, or the operator restarted with another --gang.
func TestTheGroupOfAnotherSchedulerGoes(t *testing.T) {
	left := state.Group{Scheduler: v1alpha1.GangVolcano, Name: "j-0", UID: "left"}
	own := state.Group{Name: "j-0", UID: "own", Minimum: 2}
	for name, c := range map[string]struct {
		job  *v1alpha1.TrainingJob
		want []string
	}{
		"beside the job's own":          {gangJob(t), []string{"*v1beta1.PodGroup left"}},
		"with it when the job suspends": {takenOn(t, pytorch, builder.Workers(2), builder.Suspended(), builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 0)), []string{"*v1beta1.PodGroup left", "*v1beta1.PodGroup own"}},
	} {
		var gone []string
		for _, step := range plan.Make(builder.Snapshot(c.job, ganged(left, own))).Steps {
			if d, isDelete := step.(plan.DeleteGroup); isDelete {
				gone = append(gone, fmt.Sprintf("%T %s", d.Empty, d.UID))
			}
		}
		if diff := cmp.Diff(c.want, gone); diff != "" {
			t.Errorf("%s: deleted groups (-want +got):\n%s", name, diff)
		}
	}
}

// The operator restarted with another default while the job ran.
func TestAnAttemptKeepsTheSchedulerThatHasItsGroup(t *testing.T) {
	s := builder.Snapshot(gangJob(t), func(s *state.Observed) {
		s.Gang = state.Gang{Scheduler: v1alpha1.GangVolcano, Unavailable: "no such thing", Groups: []state.Group{{Scheduler: v1alpha1.GangNative, Name: "j-0", Minimum: 2}}}
	})
	for _, step := range plan.Make(s).Steps {
		if _, isResize := step.(plan.ResizeGroup); isResize {
			continue
		}
		create, isPod := step.(plan.CreatePod)
		if !isPod {
			t.Fatalf("step %+v, want pods of the native group", step)
		}
		if pod := plan.Pods(s.Job)(create); pod.Spec.SchedulingGroup == nil || pod.Spec.SchedulerName != "" {
			t.Errorf("step %+v, want pods of the native group", step)
		}
	}
}

func TestWhyAGangWaits(t *testing.T) {
	inQueue := func(job *v1alpha1.TrainingJob) {
		job.Spec.Scheduling = &v1alpha1.Scheduling{Gang: v1alpha1.GangVolcano, Queue: "team-a"}
	}
	pending := []builder.SnapshotOption{builder.Pending("worker", 0), builder.Pending("worker", 1)}
	for name, c := range map[string]struct {
		scheduler v1alpha1.Gang
		job       *v1alpha1.TrainingJob
		want      string
	}{
		"all of it":            {v1alpha1.GangNative, gangJob(t), "The gang needs 2 x 8 nvidia.com/gpu at once: one of two fits"},
		"what is elastic less": {v1alpha1.GangNative, gangJob(t, builder.Elastic(1, 4)), "The gang needs 1 x 8 nvidia.com/gpu at once: one of two fits"},
		"in Volcano's queue":   {v1alpha1.GangVolcano, gangJob(t, inQueue), "The gang needs 2 x 8 nvidia.com/gpu at once in queue team-a: one of two fits"},
		"no other queue":       {v1alpha1.GangNative, gangJob(t, inQueue), "The gang needs 2 x 8 nvidia.com/gpu at once: one of two fits"},
	} {
		waits := state.Group{Scheduler: c.scheduler, Name: "j-0", Minimum: 2, Waiting: state.Trouble{Reason: "Unschedulable", Message: "one of two fits"}}
		by := func(s *state.Observed) { s.Gang.Scheduler = c.scheduler }
		status := plan.Make(builder.Snapshot(c.job, append(pending, ganged(waits), by)...)).Status
		scheduled := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionScheduled)
		if scheduled == nil || scheduled.Reason != v1alpha1.ReasonGangWaiting || scheduled.Message != c.want || status.Message != c.want {
			t.Errorf("%s: condition %v, message %q, want %q", name, scheduled, status.Message, c.want)
		}
		placed := []builder.SnapshotOption{builder.Running("worker", 0), builder.Running("worker", 1), ganged(waits), by}
		status = plan.Make(builder.Snapshot(c.job, placed...)).Status
		if !meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionScheduled) {
			t.Errorf("%s: every pod has a node, and the message is %q", name, status.Message)
		}
	}
}

// A member that waits while others run is no waiting gang. While they are bound one by one, the gang still waits.
func TestAMemberThatWaitsBesideOthers(t *testing.T) {
	runs := builder.Condition(v1alpha1.ConditionRunning, true, v1alpha1.ReasonAllReplicasRunning, 0)
	for name, c := range map[string]struct {
		options []builder.JobOption
		reason  string
		message string
	}{
		"was replaced":                    {[]builder.JobOption{runs}, v1alpha1.ReasonUnschedulable, "worker-1: no room"},
		"is one more than the gang needs": {[]builder.JobOption{builder.Elastic(1, 2)}, v1alpha1.ReasonUnschedulable, "worker-1: no room"},
		"is about to be bound":            {nil, v1alpha1.ReasonGangWaiting, "The gang needs 2 x 8 nvidia.com/gpu at once: worker-1: no room"},
	} {
		beside := seen(builder.Running("worker", 0), builder.Pending("worker", 1, builder.Unschedulable("no room")), ganged(state.Group{Name: "j-0", Minimum: 2}))
		scheduled := meta.FindStatusCondition(plan.Make(builder.Snapshot(gangJob(t, c.options...), beside...)).Status.Conditions, v1alpha1.ConditionScheduled)
		if scheduled == nil || scheduled.Reason != c.reason || scheduled.Message != c.message {
			t.Errorf("%s: condition %v, want %s: %s", name, scheduled, c.reason, c.message)
		}
	}
}

// A group in deletion waits for the pods that can run, and pods without a node wait for the group: they are recreated after it.
func TestPodsDoNotWaitForAGroupThatIsGoing(t *testing.T) {
	going := ganged(state.Group{Scheduler: v1alpha1.GangNative, Name: "j-0", Minimum: 2, Deleted: builder.Epoch})
	p := plan.Make(builder.Snapshot(gangJob(t), builder.Pending("worker", 0), builder.Pending("worker", 1, builder.On("n1")), going))
	if diff := cmp.Diff([]string{"delete j-worker-0: its pod group is being deleted"}, lines(p.Steps)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// A running pod keeps its deleted group, and the scheduler accepts others into it. A replica that is replaced alone joins it: it
// would wait for ever otherwise.
func TestAReplicaJoinsAGroupThatIsGoingAndHeld(t *testing.T) {
	going := ganged(state.Group{Name: "j-0", Minimum: 2, UID: "u", Deleted: builder.Epoch.Add(50 * second)})
	job := builder.Job("j", builder.Workers(2), builder.Gang(v1alpha1.GangNative), builder.StartedAt(0), builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "1:1"}))
	p := plan.Make(builder.Snapshot(job, builder.Running("worker", 0), going))
	if diff := cmp.Diff([]string{"create j-worker-1-a0r1"}, lines(p.Steps)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if resize, is := p.Steps[0].(plan.ResizeGroup); !is || !resize.Going {
		t.Errorf("first step %v, want the group confirmed as it is, on its way out", p.Steps[0])
	}
	evicted := builder.Failed("worker", 0, builder.Rejected("Evicted", "The node was low on resource: memory."), builder.StillRunning())
	if p := plan.Make(builder.Snapshot(job, evicted, going)); len(p.Steps) != 0 {
		t.Errorf("steps %v, want none: an evicted pod holds no group", lines(p.Steps))
	}
	waits := plan.Make(builder.Snapshot(job, builder.Running("worker", 0), builder.Pending("worker", 1, builder.Life(0, 1)), going))
	if len(waits.Steps) != 0 {
		t.Errorf("steps %v, want the pod to stay", lines(waits.Steps))
	}
}

// A group that a finalizer keeps is named once no pod can keep it.
func TestAGroupThatDoesNotGoIsNamed(t *testing.T) {
	going := func(s *state.Observed) { ganged(state.Group{Name: "j-0", Minimum: 2, Deleted: builder.Epoch})(s) }
	resting := builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 0)
	for name, c := range map[string]struct {
		options []builder.JobOption
		at      time.Duration
		pods    []builder.SnapshotOption
		want    string
	}{
		"before its next pods":         {nil, 60 * second, nil, v1alpha1.ReasonPodNotEnding},
		"before the job can resume":    {[]builder.JobOption{resting}, 60 * second, nil, v1alpha1.ReasonPodNotEnding},
		"not at once":                  {nil, 20 * second, nil, ""},
		"not while a pod can hold it":  {nil, 60 * second, []builder.SnapshotOption{builder.Running("worker", 0)}, ""},
		"not of an attempt that ended": {[]builder.JobOption{builder.Attempt(1)}, 60 * second, nil, ""},
	} {
		p := plan.Make(builder.Snapshot(gangJob(t, c.options...), append(c.pods, going, builder.Now(c.at))...))
		got := ""
		if stalled := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionStalled); stalled != nil && stalled.Status == metav1.ConditionTrue {
			got = stalled.Reason
		}
		if got != c.want {
			t.Errorf("%s: stalled %q, want %q", name, got, c.want)
		}
	}
}

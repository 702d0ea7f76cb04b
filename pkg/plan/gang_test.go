package plan_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/pkg/state"
	"github.com/trainingjob/operator/test/builder"
)

// ganged says which groups there are.
func ganged(groups ...state.Group) builder.SnapshotOption {
	return func(s *state.Snapshot) { s.Gang = state.Gang{Scheduler: v1alpha1.GangNative, Groups: groups} }
}

func withGPUs(template *corev1.PodTemplateSpec) {
	template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}
}

func gangJob(t *testing.T, options ...builder.JobOption) *v1alpha1.TrainingJob {
	return takenOn(t, append([]builder.JobOption{pytorch, builder.Workers(2), builder.Template(v1alpha1.Worker, withGPUs)}, options...)...)
}

func TestAGroupComesBeforeItsPods(t *testing.T) {
	steps := plan.Make(builder.Snapshot(gangJob(t), ganged())).Steps
	if len(steps) != 3 {
		t.Fatalf("steps %v, want a group and two pods", steps)
	}
	group, isGroup := steps[0].(plan.CreateGroup)
	if !isGroup || group.Group.GetName() != "j-0" || group.Group.(*schedulingv1beta1.PodGroup).Spec.SchedulingPolicy.Gang.MinCount != 2 {
		t.Errorf("first step %v, want the group j-0 of two", steps[0])
	}
	for _, step := range steps[1:] {
		if pod := step.(plan.CreatePod).Pod; *pod.Spec.SchedulingGroup.PodGroupName != "j-0" {
			t.Errorf("%s joins %v", pod.Name, pod.Spec.SchedulingGroup)
		}
	}
}

// The cache may be old: setting the minimum to what it is asks the API server whether the group is still there.
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
	job := gangJob(t, builder.AllWorkers(), builder.Remember(v1alpha1.Worker, v1alpha1.ReplicaStatus{StartedIndexes: "0", SucceededIndexes: "0"}))
	for name, c := range map[string]struct {
		groups []state.Group
		pod    builder.SnapshotOption
		want   string
	}{
		"one has finished while the other waits": {[]state.Group{{Name: "j-0", Minimum: 2}}, builder.Pending("worker", 1), "plan.ResizeGroup"},
		"the group is right":                     {[]state.Group{{Name: "j-0", Minimum: 1}}, builder.Pending("worker", 1), ""},
		"the group is gone":                      {nil, builder.Pending("worker", 1), "plan.CreateGroup"},
		"nobody waits":                           {[]state.Group{{Name: "j-0", Minimum: 2}}, builder.Running("worker", 1, builder.On("n1")), ""},
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
		"the group is ending": {Scheduler: v1alpha1.GangNative, Groups: []state.Group{{Name: "j-0", Minimum: 2, Deleted: true}}},
	} {
		p := plan.Make(builder.Snapshot(gangJob(t), func(s *state.Snapshot) { s.Gang = g }))
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

func TestWhyAGangWaits(t *testing.T) {
	waits := state.Group{Name: "j-0", Minimum: 2, Waiting: state.Trouble{Reason: "Unschedulable", Message: "one of two fits"}}
	pending := []builder.SnapshotOption{builder.Pending("worker", 0), builder.Pending("worker", 1)}
	status := plan.Make(builder.Snapshot(gangJob(t), append(pending, ganged(waits))...)).Status
	c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionScheduled)
	if want := "The gang needs 2 x 8 nvidia.com/gpu at once: one of two fits"; c == nil || c.Reason != v1alpha1.ReasonGangWaiting || c.Message != want || status.Message != want {
		t.Errorf("condition %v, message %q, want %q", c, status.Message, want)
	}
	placed := []builder.SnapshotOption{builder.Running("worker", 0), builder.Running("worker", 1)}
	status = plan.Make(builder.Snapshot(gangJob(t), append(placed, ganged(waits))...)).Status
	if !meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionScheduled) {
		t.Errorf("every pod has a node, and the job says %q", status.Message)
	}
}

// One that waits beside the others is no gang that waits.
func TestAReplacedMemberWaitsByItself(t *testing.T) {
	beside := seen(builder.Running("worker", 0), builder.Pending("worker", 1, builder.Unschedulable("no room")), ganged(state.Group{Name: "j-0", Minimum: 2}))
	c := meta.FindStatusCondition(plan.Make(builder.Snapshot(gangJob(t), beside...)).Status.Conditions, v1alpha1.ConditionScheduled)
	if c == nil || c.Reason != v1alpha1.ReasonUnschedulable || c.Message != "worker-1: no room" {
		t.Errorf("condition %v, want Unschedulable", c)
	}
}

func TestTheMinimumOfAGang(t *testing.T) {
	succeeded := builder.Remember(v1alpha1.Worker, v1alpha1.ReplicaStatus{SucceededIndexes: "0"})
	minAvailable := func(job *v1alpha1.TrainingJob) {
		job.Spec.Scheduling = &v1alpha1.Scheduling{MinAvailable: ptr.To[int32](3)}
	}
	for name, c := range map[string]struct {
		options []builder.JobOption
		want    int32
	}{
		"all replicas":                      {[]builder.JobOption{builder.Workers(4), builder.PS(2)}, 6},
		"of elastic workers minReplicas":    {[]builder.JobOption{builder.Workers(4), builder.PS(2), builder.Elastic(1, 8)}, 3},
		"minAvailable":                      {[]builder.JobOption{builder.Workers(4), minAvailable}, 3},
		"fewer when a replica has finished": {[]builder.JobOption{builder.Workers(4), builder.AllWorkers(), succeeded}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			for _, step := range plan.Make(builder.Snapshot(takenOn(t, c.options...), ganged())).Steps {
				if g, isGroup := step.(plan.CreateGroup); isGroup {
					if got := g.Group.(*schedulingv1beta1.PodGroup).Spec.SchedulingPolicy.Gang.MinCount; got != c.want {
						t.Errorf("minimum %d, want %d", got, c.want)
					}
					return
				}
			}
			t.Error("no group")
		})
	}
}

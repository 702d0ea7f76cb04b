package plan_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/gang"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// Pods that must share a domain continue together or not at all: the pods that stay would hold a domain that may have no room for
// the one that leaves.
func TestADomainIsKeptWholeOrLeft(t *testing.T) {
	inPlace := builder.Recovery(func(r *v1alpha1.Recovery) { r.RestartMethod = v1alpha1.RestartInPlace })
	job := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		runs := builder.Condition(v1alpha1.ConditionRunning, true, "", 0)
		return builder.Job("j", append([]builder.JobOption{pytorch, builder.Workers(3), builder.StartedAt(0), builder.Gang(v1alpha1.GangNative), inPlace, runs}, options...)...)
	}
	asked := func(job *v1alpha1.TrainingJob) {
		job.Annotations = map[string]string{v1alpha1.AnnotationRestart: "now"}
	}
	all := []builder.SnapshotOption{restartable(0, "", "a"), restartable(1, "", "b"), restartable(2, "", "c"), ganged(state.Group{Name: "j-0", Minimum: 3})}
	lostNode := slices.Concat(all, []builder.SnapshotOption{builder.NodeLost("node-worker-1", 0)})
	for name, c := range map[string]struct {
		job  *v1alpha1.TrainingJob
		seen []builder.SnapshotOption
		want *int32
	}{
		"all go on":                                  {job(builder.InDomain(), asked), all, ptr.To[int32](0)},
		"one must leave, so all do":                  {job(builder.InDomain()), lostNode, nil},
		"one may be anywhere":                        {job(builder.InDomain(v1alpha1.Master), builder.Leader(v1alpha1.Master), asked), all, nil},
		"one must leave, and the others may as well": {job(), lostNode, ptr.To[int32](0)},
	} {
		p := plan.Make(builder.Snapshot(c.job, append(c.seen, builder.Now(40*second))...))
		if diff := cmp.Diff(c.want, p.Status.Memory.GroupAttempt); diff != "" || p.Status.Attempt != 1 {
			t.Errorf("%s: attempt %d, of the group (-want +got):\n%s", name, p.Status.Attempt, diff)
		}
	}
}

// The pods that are bound to the domain. Neither the group nor an affinity draws the others there.
func TestWhichPodsAreInTheDomain(t *testing.T) {
	for name, c := range map[string]struct {
		options []builder.JobOption
		gang    v1alpha1.Gang
		// inside are the pods that the group or an affinity keeps in the domain; counted are the pods that must fit at once.
		inside  []string
		counted int32
	}{
		"all but evaluators, by the group":      {[]builder.JobOption{builder.PS(1), builder.InDomain()}, v1alpha1.GangNative, []string{"ps-0", "worker-0", "worker-1"}, 3},
		"those that the job names":              {[]builder.JobOption{builder.PS(1), builder.InDomain(v1alpha1.Worker)}, v1alpha1.GangNative, []string{"worker-0", "worker-1"}, 2},
		"all but launchers, by affinity":        {[]builder.JobOption{builder.Leader(v1alpha1.Launcher), builder.InDomain()}, v1alpha1.GangCoscheduling, []string{"worker-0", "worker-1"}, 3},
		"elastic workers, two of them required": {[]builder.JobOption{builder.Workers(4), builder.Elastic(2, 4), builder.InDomain()}, v1alpha1.GangNative, []string{"worker-0", "worker-1"}, 2},
	} {
		job := builder.Job("j", append([]builder.JobOption{builder.Workers(2), builder.Evaluators(1), builder.StartedAt(0), builder.Gang(c.gang)}, c.options...)...)
		var inside []string
		var counted int32
		for _, step := range plan.Make(builder.Snapshot(job, func(s *state.Observed) { s.Gang.Scheduler = c.gang })).Steps {
			switch step := step.(type) {
			case plan.CreatePod:
				if isInDomain(plan.Pods(job)(step)) {
					inside = append(inside, step.Slot.String())
				}
			case plan.CreateGroup:
				counted, _ = gang.For(c.gang).Read(step.Group)
			}
		}
		slices.Sort(inside)
		if diff := cmp.Diff(c.inside, inside); diff != "" || counted != c.counted {
			t.Errorf("%s: %d must fit at once, want %d; inside (-want +got):\n%s", name, counted, c.counted, diff)
		}
	}
}

// isInDomain reports whether the group or an affinity draws the pod into the domain.
func isInDomain(pod *corev1.Pod) bool {
	return pod.Spec.SchedulingGroup != nil || pod.Spec.Affinity != nil && pod.Spec.Affinity.PodAffinity != nil
}

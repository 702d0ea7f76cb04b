package state_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// How worker 1 of two is, by what is remembered and what is seen of it.
func TestCondition(t *testing.T) {
	on := builder.On("n")
	remember := func(m v1alpha1.RoleMemory) builder.JobOption { return builder.Remember(v1alpha1.Worker, m) }
	always := func(job *v1alpha1.TrainingJob) {
		spec := job.Spec.ReplicaSpecs[v1alpha1.Worker]
		spec.RestartPolicy = v1alpha1.RestartAlways
		job.Spec.ReplicaSpecs[v1alpha1.Worker] = spec
	}
	aside := builder.Edit(func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: "logs", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", FinishedAt: builder.Time(0)}}})
	})
	ruled := func(rule v1alpha1.RecoveryRule) []builder.JobOption {
		return []builder.JobOption{func(job *v1alpha1.TrainingJob) { job.Spec.Recovery.Rules = []v1alpha1.RecoveryRule{rule} }}
	}
	finished := builder.Condition(v1alpha1.ConditionFinished, true, "", 0)
	past := builder.Life(0, 0)
	cases := []struct {
		name    string
		options []builder.JobOption
		seen    []builder.SnapshotOption
		want    state.State
	}{
		{"without a pod", nil, nil, state.Missing},
		{"without a pod of this life", []builder.JobOption{remember(v1alpha1.RoleMemory{Replacements: "1:1"})}, seen(builder.Failed("worker", 1, past)), state.Missing},
		{"a pod that ran and is gone", []builder.JobOption{remember(v1alpha1.RoleMemory{Started: "1"})}, nil, state.Vanished},
		{"gone after the job has finished", []builder.JobOption{remember(v1alpha1.RoleMemory{Started: "1"}), finished}, nil, state.Missing},
		{"recorded as succeeded, and gone", []builder.JobOption{remember(v1alpha1.RoleMemory{Started: "1", Succeeded: "1"})}, nil, state.Succeeded},
		{"recorded as succeeded, and its pod on a lost node", []builder.JobOption{remember(v1alpha1.RoleMemory{Succeeded: "1"})},
			seen(builder.Running("worker", 1, on), builder.NodeLost("n", 0)), state.Succeeded},
		{"given up, and its pod failed", []builder.JobOption{remember(v1alpha1.RoleMemory{GivenUp: "1"})}, seen(builder.Failed("worker", 1)), state.GivenUp},
		{"a pod without a node", nil, seen(builder.Pending("worker", 1)), state.Pending},
		{"a pod on a node that does not run yet", nil, seen(builder.Pending("worker", 1, on)), state.Starting},
		{"a pod that was deleted before it ran", nil, seen(builder.Pending("worker", 1, on, builder.DeletedAt(0))), state.Ending},
		{"a second pod of a life that ran, deleted before it ran", []builder.JobOption{remember(v1alpha1.RoleMemory{Started: "1"})},
			seen(builder.Pending("worker", 1, on, builder.DeletedAt(0))), state.Failed},
		{"a pod that runs", nil, seen(builder.Running("worker", 1, on)), state.Running},
		{"a pod that was deleted while it ran", nil, seen(builder.Deleted("worker", 1)), state.Failed},
		{"a pod that succeeded", nil, seen(builder.Succeeded("worker", 1)), state.Succeeded},
		{"a pod that exited with code 0 after it was told to end", nil, seen(builder.Succeeded("worker", 1, builder.DeletedAt(0))), state.Failed},
		{"a pod that succeeded where that does not count", []builder.JobOption{always}, seen(builder.Succeeded("worker", 1)), state.Failed},
		{"a pod that failed", nil, seen(builder.Failed("worker", 1, builder.Exit(1))), state.Failed},
		{"a container that failed in a pod that runs", nil, seen(builder.Running("worker", 1, builder.Exit(1))), state.Failed},
		{"a side-car that failed in a pod that runs", nil, seen(builder.Running("worker", 1, aside)), state.Running},
		{"a pod that failed for its side-car's sake", nil, seen(builder.Failed("worker", 1, builder.Exit(0), aside)), state.Succeeded},
		{"such a pod, evicted", nil, seen(builder.Failed("worker", 1, builder.Exit(0), aside, builder.Rejected("Evicted", ""))), state.Failed},
		{"a side-car that a rule names", ruled(v1alpha1.RecoveryRule{ContainerName: "logs"}), seen(builder.Running("worker", 1, aside)), state.Failed},
		{"such a side-car beside a main container that exited with 0", ruled(v1alpha1.RecoveryRule{ContainerName: "logs"}),
			seen(builder.Failed("worker", 1, builder.Exit(0), aside)), state.Succeeded},
		{"a side-car that a rule names for another code", ruled(v1alpha1.RecoveryRule{ContainerName: "logs", ExitCodes: []int32{2}}), seen(builder.Running("worker", 1, aside)), state.Running},
		{"a side-car that no rule names", ruled(v1alpha1.RecoveryRule{ExitCodes: []int32{1}}), seen(builder.Running("worker", 1, aside)), state.Running},
		{"a pod that runs on a lost node", nil, seen(builder.Running("worker", 1, on), builder.NodeLost("n", 0)), state.Lost},
		{"a pod that was to start on a lost node", nil, seen(builder.Pending("worker", 1, on), builder.NodeLost("n", 0)), state.Lost},
		{"a pod that failed on a node that is lost now", nil, seen(builder.Failed("worker", 1, on, builder.Exit(1)), builder.NodeLost("n", 0)), state.Failed},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := builder.Snapshot(builder.Job("j", append(c.options, builder.Workers(2), builder.StartedAt(0))...), c.seen...)
			r := s.Replica(state.Slot{Role: v1alpha1.Worker, Index: 1})
			if r.State != c.want {
				t.Errorf("%s, want %s", r.State, c.want)
			}
			broken := c.want == state.Failed || c.want == state.Lost || c.want == state.Vanished
			idle := c.want == state.Succeeded || c.want == state.GivenUp
			if r.IsBroken() != broken || r.NeedsPod() == idle {
				t.Errorf("%s: broken %t, needs a pod %t", r.State, r.IsBroken(), r.NeedsPod())
			}
		})
	}
}

// A life begins when no pod of a former one can act any more.
func TestFormerCanAct(t *testing.T) {
	replaced := builder.Job("j", builder.Workers(2), builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "1:1"}))
	past, on := builder.Life(0, 0), builder.On("n")
	for name, c := range map[string]struct {
		seen []builder.SnapshotOption
		want bool
	}{
		"there is none":                        {nil, false},
		"it runs":                              {seen(builder.Running("worker", 1, past)), true},
		"it is ending":                         {seen(builder.Deleted("worker", 1, past)), true},
		"it has failed":                        {seen(builder.Failed("worker", 1, past)), false},
		"its node is lost":                     {seen(builder.Running("worker", 1, past, on), builder.NodeLost("n", 0)), true},
		"its node is lost and it is fenced":    {seen(builder.Running("worker", 1, past, on, builder.Fenced()), builder.NodeLost("n", 0)), false},
		"the pod of the present life runs":     {seen(builder.Running("worker", 1, builder.Life(0, 1))), false},
		"that of another slot's former life":   {seen(builder.Running("worker", 0)), false},
		"of two, the one before the last runs": {seen(builder.Failed("worker", 1, past), builder.Running("worker", 1, past)), true},
	} {
		if got := builder.Snapshot(replaced, c.seen...).Replica(state.Slot{Role: v1alpha1.Worker, Index: 1}).FormerCanAct; got != c.want {
			t.Errorf("%s: a former pod can act: %t, want %t", name, got, c.want)
		}
	}
}

func TestNodesOfReplicas(t *testing.T) {
	unschedulable := builder.Unschedulable("no room")
	s := builder.Snapshot(builder.Job("j", builder.Workers(5), builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Succeeded: "4"})),
		builder.Running("worker", 0, builder.On("n")), builder.Pending("worker", 1, unschedulable), builder.Pending("worker", 2),
		builder.Pending("worker", 3, unschedulable, builder.DeletedAt(time.Second)))
	for i, want := range []struct{ hasNode, lacksNode, fitsNowhere bool }{
		{true, false, false}, {false, true, true}, {false, true, false}, {false, true, false}, {false, false, false},
	} {
		r := s.Replica(state.Slot{Role: v1alpha1.Worker, Index: i})
		if r.HasNode() != want.hasNode || r.LacksNode() != want.lacksNode || r.FitsNowhere() != want.fitsNowhere {
			t.Errorf("%s, %s: has a node %t, lacks one %t, fits nowhere %t, want %v", r.Slot, r.State, r.HasNode(), r.LacksNode(), r.FitsNowhere(), want)
		}
	}
	if r := s.Replica(state.Slot{Role: v1alpha1.Worker, Index: 5}); r != nil {
		t.Errorf("a slot that the job does not have: %+v", r)
	}
}

func seen(options ...builder.SnapshotOption) []builder.SnapshotOption { return options }

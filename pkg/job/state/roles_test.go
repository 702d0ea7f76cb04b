package state_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

func TestLeader(t *testing.T) {
	for role, want := range map[v1alpha1.Role]string{
		v1alpha1.Chief: "chief-0", v1alpha1.Master: "master-0", v1alpha1.Launcher: "launcher-0", v1alpha1.PS: "worker-0",
	} {
		job := builder.Job("j", builder.Workers(2), builder.Replicas(role, 1))
		if got := state.Leader(&job.Spec).String(); got != want {
			t.Errorf("with a %s the leader is %s, want %s", role, got, want)
		}
	}
	none := builder.Job("j", builder.Workers(2), builder.Replicas(v1alpha1.Chief, 0))
	if got := state.Leader(&none.Spec).String(); got != "worker-0" {
		t.Errorf("with 0 chiefs the leader is %s, want worker-0", got)
	}
}

// everyShape calls check with a job of each combination of roles.
func everyShape(t *testing.T, check func(t *testing.T, job *v1alpha1.TrainingJob)) {
	for _, leader := range []v1alpha1.Role{"", v1alpha1.Chief, v1alpha1.Master, v1alpha1.Launcher} {
		for workers := range 4 {
			for ps := range 3 {
				options := []builder.JobOption{builder.Workers(workers), builder.PS(ps), builder.Evaluators(2)}
				if leader != "" {
					options = append(options, builder.Leader(leader))
				}
				check(t, builder.Job("j", options...))
			}
		}
	}
}

func TestRanksAreUniqueAndDense(t *testing.T) {
	everyShape(t, func(t *testing.T, job *v1alpha1.TrainingJob) {
		want := 0
		for r := range builder.Snapshot(job).Replicas() {
			if got := state.Rank(&job.Spec, r.Slot); got != want {
				t.Errorf("rank of %s is %d, want %d", r.Slot, got, want)
			}
			want++
		}
		if got := state.Total(&job.Spec); got != want {
			t.Errorf("total %d of %d replicas", got, want)
		}
	})
}

// The roles of a Custom job's own come after those that the operator knows, by name.
func TestRolesOfTheJobsOwnHaveTheLastRanks(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), builder.Replicas("learner", 1), builder.Evaluators(1), builder.Replicas("actor", 2))
	var got []string
	for r := range builder.Snapshot(job).Replicas() {
		slot := r.Slot
		got = append(got, fmt.Sprint(state.Rank(&job.Spec, slot), " ", slot))
	}
	want := []string{"0 worker-0", "1 worker-1", "2 evaluator-0", "3 actor-0", "4 actor-1", "5 learner-0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ranks (-want +got):\n%s", diff)
	}
}

func TestTheCollectiveHasTheRanksBelowItsWorldSize(t *testing.T) {
	everyShape(t, func(t *testing.T, job *v1alpha1.TrainingJob) {
		for r := range builder.Snapshot(job).Replicas() {
			slot := r.Slot
			member := slot.Role.IsLeader() || slot.Role == v1alpha1.Worker
			if below := state.Rank(&job.Spec, slot) < state.WorldSize(&job.Spec); below != member {
				t.Errorf("%s has rank %d in a world of %d", slot, state.Rank(&job.Spec, slot), state.WorldSize(&job.Spec))
			}
		}
	})
}

func TestElasticScalingMovesNobodysRank(t *testing.T) {
	ranks := map[state.Slot]int{}
	taken := map[int]state.Slot{}
	for workers := 1; workers <= 5; workers++ {
		job := builder.Job("j", builder.Leader(v1alpha1.Master), builder.Workers(workers), builder.PS(2), builder.Evaluators(1), builder.Elastic(1, 5))
		for r := range builder.Snapshot(job).Replicas() {
			slot := r.Slot
			rank := state.Rank(&job.Spec, slot)
			if was, known := ranks[slot]; known && was != rank {
				t.Errorf("with %d workers the rank of %s is %d, before it was %d", workers, slot, rank, was)
			}
			if other, known := taken[rank]; known && other != slot {
				t.Errorf("%s and %s have the rank %d", slot, other, rank)
			}
			ranks[slot], taken[rank] = rank, slot
		}
		if got := state.WorldSize(&job.Spec); got != workers+1 {
			t.Errorf("world size %d with a master and %d workers", got, workers)
		}
	}
}

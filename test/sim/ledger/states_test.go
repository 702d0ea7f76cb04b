package ledger

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

func TestAnArrowOfTheDiagramIsAnEdge(t *testing.T) {
	got := read("the text --> is none\n    [*] --> Created\n    Created --> Running: all run\n    Failed --> [*]\n")
	want := map[Edge]bool{{Start, v1alpha1.PhaseCreated}: true, {v1alpha1.PhaseCreated, v1alpha1.PhaseRunning}: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("edges (-want +got):\n%s", diff)
	}
}

// A document that is read wrong would forbid everything, or nothing.
func TestTheDocumentIsAGraphOfPhasesWithTwoEnds(t *testing.T) {
	from, to := map[v1alpha1.Phase]bool{}, map[v1alpha1.Phase]bool{}
	for edge := range graph() {
		from[edge.From], to[edge.To] = true, true
	}
	phases := []v1alpha1.Phase{
		v1alpha1.PhaseCreated, v1alpha1.PhaseFailed, v1alpha1.PhasePending, v1alpha1.PhaseQueued,
		v1alpha1.PhaseRestarting, v1alpha1.PhaseRunning, v1alpha1.PhaseSucceeded, v1alpha1.PhaseSuspended,
	}
	if diff := cmp.Diff(phases, slices.Sorted(maps.Keys(to))); diff != "" {
		t.Errorf("phases that can be reached (-want +got):\n%s", diff)
	}
	for _, phase := range phases {
		if ends := phase == v1alpha1.PhaseSucceeded || phase == v1alpha1.PhaseFailed; from[phase] == ends {
			t.Errorf("%s has edges that lead on: %v", phase, from[phase])
		}
	}
}

func TestAStepIsPublishedIfTheDocumentDrawsIt(t *testing.T) {
	for edge, want := range map[Edge]bool{
		Step("", v1alpha1.PhasePending):                                 true,
		Step("", ""):                                                    true,
		Step(v1alpha1.PhaseRunning, ""):                                 false,
		Step("", v1alpha1.PhaseRunning):                                 false,
		Step(v1alpha1.PhaseSuspended, v1alpha1.PhaseRunning):            true,
		Step(v1alpha1.PhaseRunning, v1alpha1.PhaseRunning):              true,
		Step(v1alpha1.PhaseSucceeded, v1alpha1.PhaseRunning):            false,
		Step(v1alpha1.PhaseRunning, v1alpha1.PhaseCreated):              false,
		Step(v1alpha1.PhaseQueued, v1alpha1.PhaseRestarting):            true,
		Step(v1alpha1.PhaseRestarting, v1alpha1.Phase("no such phase")): false,
	} {
		if got := edge.Published(); got != want {
			t.Errorf("%s --> %s: published %v, want %v", edge.From, edge.To, got, want)
		}
	}
}

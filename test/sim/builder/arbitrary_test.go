package builder_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/test/sim/builder"
)

// undrawn are the fields of a spec that arbitrary jobs never have, because no rule reads them: they shape what pods are made of, or who
// makes them.
var undrawn = []string{
	"elastic.rendezvous.backend", "elastic.rendezvous.conf", "elastic.rendezvous.endpoint", "managedBy", "mpi.launchAgent", "mpi.slotsPerWorker",
	"network.dnsNames", "recovery.rules.name",
	"scheduling.priorityClassName", "scheduling.schedulerName", "scheduling.topology.tier",
}

// A law that is held against jobs that never have a field says nothing of that field.
func TestArbitraryJobsHaveEveryField(t *testing.T) {
	declared, drawn := builder.Fields(), map[string]bool{}
	for seed := range 500 {
		builder.NoteFields(&builder.ArbitraryJob().Example(seed).Spec, drawn)
	}
	maps.DeleteFunc(declared, func(path string, _ bool) bool { return drawn[path] })
	if diff := cmp.Diff(undrawn, slices.Sorted(maps.Keys(declared))); diff != "" {
		t.Errorf("fields that no arbitrary job has (-want +got):\n%s", diff)
	}
}

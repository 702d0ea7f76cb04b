package state

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Memory is what the status remembers of each role's slots.
type Memory map[v1alpha1.Role]*RoleMemory

// RoleMemory is what the status remembers of one role's slots.
type RoleMemory struct {
	Started      IndexSet
	Succeeded    IndexSet
	GivenUp      IndexSet
	Replacements Counts
	// RestartsInRow are the restarts that each slot has gone through in a row.
	RestartsInRow Counts
	// NextStarts are the times, in Unix seconds, before which the present lives of restarted slots may not begin.
	NextStarts Counts
}

// ReadMemory decodes the memory of a status, with an entry for each role in the spec or in the status. It returns an error for a text
// that the operator does not write.
func ReadMemory(job *v1alpha1.TrainingJob) (Memory, error) {
	memory := Memory{}
	for role := range job.Spec.ReplicaSpecs {
		memory[role] = &RoleMemory{Replacements: Counts{}, RestartsInRow: Counts{}, NextStarts: Counts{}}
	}
	for role, text := range job.Status.Memory.Roles {
		m, err := readRole(text)
		if err != nil {
			return nil, fmt.Errorf("reading status.memory of %s: %w", role, err)
		}
		memory[role] = m
	}
	return memory, nil
}

func readRole(text v1alpha1.RoleMemory) (*RoleMemory, error) {
	m := &RoleMemory{}
	for _, set := range []struct {
		field, text string
		to          *IndexSet
	}{
		{"started", text.Started, &m.Started}, {"succeeded", text.Succeeded, &m.Succeeded},
		{"givenUp", text.GivenUp, &m.GivenUp},
	} {
		var err error
		if *set.to, err = ParseIndexSet(set.text); err != nil {
			return nil, fmt.Errorf("%s: %w", set.field, err)
		}
	}
	for _, counts := range []struct {
		field, text string
		to          *Counts
	}{
		{"replacements", text.Replacements, &m.Replacements}, {"restartsInRow", text.RestartsInRow, &m.RestartsInRow},
		{"nextStarts", text.NextStarts, &m.NextStarts},
	} {
		var err error
		if *counts.to, err = ParseCounts(counts.text); err != nil {
			return nil, fmt.Errorf("%s: %w", counts.field, err)
		}
	}
	return m, nil
}

// Write encodes the memory for a status, without empty roles.
func (m Memory) Write() map[v1alpha1.Role]v1alpha1.RoleMemory {
	roles := map[v1alpha1.Role]v1alpha1.RoleMemory{}
	for role, r := range m {
		text := v1alpha1.RoleMemory{
			Started: r.Started.String(), Succeeded: r.Succeeded.String(), GivenUp: r.GivenUp.String(),
			Replacements: r.Replacements.String(), RestartsInRow: r.RestartsInRow.String(), NextStarts: r.NextStarts.String(),
		}
		if text != (v1alpha1.RoleMemory{}) {
			roles[role] = text
		}
	}
	if len(roles) == 0 {
		return nil
	}
	return roles
}

// Clone returns a copy that shares nothing with m.
func (m Memory) Clone() Memory {
	clone := Memory{}
	for role, r := range m {
		clone[role] = &RoleMemory{
			Started:       IndexSet{slices.Clone(r.Started.words)},
			Succeeded:     IndexSet{slices.Clone(r.Succeeded.words)},
			GivenUp:       IndexSet{slices.Clone(r.GivenUp.words)},
			Replacements:  maps.Clone(r.Replacements),
			RestartsInRow: maps.Clone(r.RestartsInRow),
			NextStarts:    maps.Clone(r.NextStarts),
		}
	}
	return clone
}

// Replace gives the slot its next life, which has neither started nor been given up.
func (m *RoleMemory) Replace(index int) {
	m.Replacements[index]++
	m.Started.Remove(index)
	m.GivenUp.Remove(index)
}

// HoldBack remembers of the slot's next life that it is the n-th restart in a row, and may not begin before next.
func (m *RoleMemory) HoldBack(index, n int, next time.Time) {
	m.RestartsInRow[index] = max(m.RestartsInRow[index], n)
	m.NextStarts[index] = max(m.NextStarts[index], int(next.Unix()))
}

// ForgetBackOff forgets what holds back the role's slots.
func (m *RoleMemory) ForgetBackOff() { m.RestartsInRow, m.NextStarts = Counts{}, Counts{} }

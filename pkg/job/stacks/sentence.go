package stacks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/trainingjob/operator/pkg/job/state"
)

const (
	// maxRanks is how many ranks of a group a sentence names. It counts the ranks of a larger group, and of more than half of all.
	maxRanks = 3
	// maxSentence is the longest sentence in bytes, without the number of places that it leaves out. A sentence about an incident quotes it
	// as a whole.
	maxSentence = 330
)

// Group are ranks that are at one place.
type Group struct {
	// Names are the processes, in the order of the ranks.
	Names []string
	// First is the first of them: it is where the others are.
	First *state.Stack
}

// Groups returns the groups of the stacks, the largest first.
func Groups(list []state.Stack) []Group {
	at := map[state.Stack]int{}
	var groups []Group
	for i := range list {
		place := state.Stack{Where: list[i].Where, IsSilent: list[i].IsSilent}
		n, known := at[place]
		if !known {
			n = len(groups)
			at[place], groups = n, append(groups, Group{First: &list[i]})
		}
		groups[n].Names = append(groups[n].Names, list[i].Name())
	}
	slices.SortStableFunc(groups, func(a, b Group) int { return cmp.Compare(len(b.Names), len(a.Names)) })
	return groups
}

// Sentence returns where the ranks are: "3 of 4 ranks wait in all_reduce (train.py:41); worker-2 is in read (dataset.py:88)". It is empty
// if no rank shows its stack.
func Sentence(s *state.Stacks) string {
	if !slices.ContainsFunc(s.List, func(stack state.Stack) bool { return stack.Where != "" }) {
		return ""
	}
	text := ""
	groups := Groups(s.List)
	for n := range groups {
		part := groups[n].Text(len(s.List))
		if n > 0 && len(text)+len(part) > maxSentence {
			text += fmt.Sprintf("; the others are at %d more places", len(groups)-n)
			break
		}
		text += "; " + part
	}
	if s.Unasked > 0 {
		text += fmt.Sprintf("; %d more were not asked", s.Unasked)
	}
	return strings.TrimPrefix(text, "; ")
}

// Text returns the clause about the group, of so many ranks in all.
func (g *Group) Text(all int) string {
	who, isOne := strings.Join(g.Names, ", "), len(g.Names) == 1
	if isMost := 2*len(g.Names) > all; len(g.Names) > maxRanks || isMost && !isOne {
		who = fmt.Sprintf("%d of %d ranks", len(g.Names), all)
	}
	verb := func(one, many string) string {
		if isOne {
			return who + " " + one
		}
		return who + " " + many
	}
	switch {
	case g.First.IsSilent:
		return verb("does not answer", "do not answer")
	case g.First.Where == "":
		return verb("shows no stack", "show no stack")
	case g.First.Waits:
		return verb("waits in ", "wait in ") + g.First.Where
	default:
		return verb("is in ", "are in ") + g.First.Where
	}
}

package stacks

import "github.com/trainingjob/operator/pkg/job/state"

// Suspect returns the process for which the others wait; nil if the stacks do not show one. The first question that separates a minority
// answers:
//
//	which do not answer?                              a stopped process, a thread with Python's lock, a dead node
//	which do not wait for other ranks, as others do?  a rank that reads data, or waits for a lock
//	which are not where more than half of them are?
//
// Of several the first is the suspect, as of several ranks that end at once. Two ranks can separate only by the first two questions.
func Suspect(list []state.Stack) *state.Stack {
	var silent, waiting, busy []*state.Stack
	for i := range list {
		switch s := &list[i]; {
		case s.IsSilent:
			silent = append(silent, s)
		case s.Where == "":
		case s.Waits:
			waiting = append(waiting, s)
		default:
			busy = append(busy, s)
		}
	}
	switch {
	case len(silent) > 0:
		return firstOfMinority(silent, len(waiting)+len(busy))
	case len(waiting) > 0 && len(busy) > 0:
		return firstOfMinority(busy, len(waiting))
	default:
		return firstElsewhere(append(waiting, busy...))
	}
}

// firstOfMinority returns the first of some if the others are at least as many.
func firstOfMinority(some []*state.Stack, others int) *state.Stack {
	if len(some) > others {
		return nil
	}
	return some[0]
}

// firstElsewhere returns the first that is not where more than half of them are.
func firstElsewhere(list []*state.Stack) *state.Stack {
	count := map[string]int{}
	for _, s := range list {
		count[s.Where]++
	}
	for place, n := range count {
		if 2*n <= len(list) {
			continue
		}
		for _, s := range list {
			if s.Where != place {
				return s
			}
		}
	}
	return nil
}

package story

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/trainingjob/operator/pkg/job/state"
)

// Line is a row of the table of replicas: one replica, or a run of them that are alike.
type Line struct {
	// Ranks and Names are the ranks and names of the replicas: "3" and "worker-2", or "1-8" and "worker-0-7".
	Ranks, Names string
	// State is how they are, in the operator's words.
	State string
	// Node that the pod is on; of a run of replicas on how many nodes.
	Node string
	// Starts counts the replica's starts in this attempt, in new pods or in its own. A resumption is a start, too.
	Starts int
	// Age of the pod's life, or of the youngest.
	Age string
	// Why is what the replica waits for or how it ended.
	Why string
}

// Replicas returns the table of the job's replicas in the order of their ranks. With more than most rows, runs of replicas that
// are alike become one row.
func Replicas(v *View, most int) ([]Line, error) {
	s, err := v.Snapshot()
	if err != nil {
		return nil, err
	}
	var lines []Line
	for r := range s.Replicas() {
		lines = append(lines, lineOf(v, s, r))
	}
	if len(lines) > most {
		return gather(s, lines), nil
	}
	return lines, nil
}

func lineOf(v *View, s *state.Snapshot, r *state.Replica) Line {
	line := Line{
		Ranks: strconv.Itoa(state.Rank(&v.Job.Spec, r.Slot)), Names: r.Slot.String(), State: r.State.String(),
		Starts: r.Life.Replacement, Why: state.Printable(why(v, s, r)),
	}
	if r.State == state.Missing && v.Job.Spec.IsSuspended() {
		line.State = "Suspended"
		if v.Job.Status.StartTime != nil { // its next life begins with the resumption
			line.Starts++
		}
	}
	if r.State == state.Failed && !r.Pod.Deleted.IsZero() && r.Pod.CanRun() {
		line.State = state.Ending.String()
	}
	if r.Pod != nil {
		line.Starts++
		line.Node, line.Age = state.Printable(r.Pod.Node), v.ago(r.Pod.Created)
	}
	return line
}

// why returns what a replica waits for or how it ended.
func why(v *View, s *state.Snapshot, r *state.Replica) string {
	if at := s.NextStart(r.Slot); r.Pod == nil && s.Now.Before(at) {
		return "created again at " + at.UTC().Format("15:04:05 UTC")
	}
	switch p := r.Pod; {
	case p == nil:
		return ""
	case !p.Deleted.IsZero():
		return "ending"
	case p.Exit != nil:
		return v.ended(p)
	case p.Rejected.Reason != "":
		return p.Rejected.Reason + ": " + p.Rejected.Message
	case r.State == state.Running && !p.Ready:
		return "not ready"
	default:
		return waitsFor(r)
	}
}

// gather makes one row of each run of replicas of a role that are alike.
func gather(s *state.Snapshot, lines []Line) []Line {
	var runs []Line
	i, n, first := 0, 0, state.Slot{}
	for r := range s.Replicas() {
		line, last := lines[i], max(len(runs)-1, 0)
		i++
		if n == 0 || first.Role != r.Slot.Role || runs[last].State != line.State || runs[last].Why != line.Why || runs[last].Starts != line.Starts {
			runs, first, n = append(runs, line), r.Slot, 1
			continue
		}
		n++
		runs[last].Names = fmt.Sprintf("%s-%d-%d", strings.ToLower(string(first.Role)), first.Index, r.Slot.Index)
		runs[last].Ranks = fmt.Sprintf("%s-%s", strings.Split(runs[last].Ranks, "-")[0], line.Ranks)
		runs[last].Node, runs[last].Age = fmt.Sprintf("%d pods", n), line.Age
	}
	return runs
}

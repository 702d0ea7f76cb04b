package report

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/story"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
)

// State is how a replica was for a while.
type State string

// The states, the less good first: of replicas that share a row the first of these is shown.
const (
	Failed     State = "failed"
	Restarting State = "restarting"
	Waiting    State = "waiting"
	Suspended  State = "suspended"
	Starting   State = "starting"
	Unknown    State = "unknown"
	Running    State = "running"
	Succeeded  State = "succeeded"
)

// States are all states, the less good first.
var States = []State{Failed, Restarting, Waiting, Suspended, Starting, Unknown, Running, Succeeded}

// Segment is a while in which a replica was in one state.
type Segment struct {
	State State `json:"state"`
	Interval
}

// Replicas are the replicas of a role, from one index to another, that were alike.
type Replicas struct {
	Role  v1alpha1.Role `json:"role"`
	First int           `json:"first"`
	Last  int           `json:"last"`
	// Rank is the rank of the first.
	Rank     int       `json:"rank"`
	Segments []Segment `json:"segments"`
}

// Name returns the replicas as people write them: "worker-3", "worker-0 to 63".
func (r *Replicas) Name() string {
	name := state.Slot{Role: r.Role, Index: r.First}.String()
	if r.Last > r.First {
		name += fmt.Sprintf(" to %d", r.Last)
	}
	return name
}

// replicas returns how each replica was.
func replicas(v *story.View, r *Report) []Replicas {
	common := ofParts(r.parts, Restarting) // until a failure is shown at its replica, all wait for the restart
	rows := &picture{common: common, own: map[state.Slot][]Segment{}}
	rows.paintIncidents(v, r.Incidents)
	rows.paintPods(v, r)
	var list []Replicas
	rank := 0
	for _, role := range v.Job.Spec.Roles() {
		for i := range int(v.Job.Spec.Replicas(role)) {
			segments := rows.of(state.Slot{Role: role, Index: i})
			if n := len(list) - 1; n >= 0 && list[n].Role == role && slices.Equal(list[n].Segments, segments) {
				list[n].Last = i
			} else {
				list = append(list, Replicas{Role: role, First: i, Last: i, Rank: rank, Segments: segments})
			}
			rank++
		}
	}
	return list
}

// picture has the rows of replicas: their own, or the common one.
type picture struct {
	common []Segment
	own    map[state.Slot][]Segment
}

func (p *picture) of(slot state.Slot) []Segment {
	if row, isOwn := p.own[slot]; isOwn {
		return row
	}
	return p.common
}

// ofParts returns the parts of the job as segments; lost is how time is drawn that a failure cost before the decision to restart.
func ofParts(parts []story.Part, lost State) []Segment {
	states := map[story.PartState]State{
		story.Suspended: Suspended, story.Starting: Starting, story.Running: Running, story.Restarting: Restarting, story.Lost: lost, story.Unknown: Unknown,
	}
	var row []Segment
	for _, p := range parts {
		row = append(row, Segment{states[p.State], p.Interval})
	}
	return tidy(row)
}

// paintIncidents shows, on the row of the failed replica, the time from its failure until its next life.
func (p *picture) paintIncidents(v *story.View, incidents []Incident) {
	for i := range slices.Backward(incidents) {
		f := &incidents[i]
		if began(f) == "" {
			continue
		}
		down := Segment{Failed, Interval{From: f.Time.Time, To: f.RestartTime.Time}}
		if !failure.IsFailure(f.Cause) {
			down.State = Restarting
		}
		if !down.To.After(down.From) {
			down.To = down.From.Add(time.Second) // the status has whole seconds
		}
		slot := failure.SlotOf(&f.Failure)
		p.own[slot] = paint(p.of(slot), down)
	}
	if f := v.Job.Status.LastFailure; f != nil && v.Job.Status.Phase == v1alpha1.PhaseFailed {
		slot := failure.SlotOf(f)
		p.own[slot] = paint(p.of(slot), Segment{Failed, Interval{From: story.FailedAt(&v.Job.Status), To: v.Job.Status.CompletionTime.Time}})
	}
}

// paintPods shows what the pods say that are there, earlier lives first.
func (p *picture) paintPods(v *story.View, r *Report) {
	var lives []life
	for i := range v.Pods {
		if is, ok := state.PodOf(v.Job.Name, &v.Pods[i]); ok {
			lives = append(lives, life{&v.Pods[i], is})
		}
	}
	slices.SortStableFunc(lives, func(a, b life) int { return a.is.Life.Compare(b.is.Life) })
	for _, l := range lives {
		row := p.of(l.is.Slot)
		for _, s := range l.segments(r) {
			row = paint(row, s)
		}
		p.own[l.is.Slot] = tidy(row)
	}
}

// life is the present life of a pod. The attempts show the time before a restart in place.
type life struct {
	pod *corev1.Pod
	is  state.Pod
}

// noWait is how soon a pod has a node that has not waited for one.
const noWait = 3 * time.Second

// segments returns the state of the replica by its pod.
func (l life) segments(r *Report) []Segment {
	pod, created := l.pod, l.is.Created
	scheduled, ran, over := r.End, r.End, r.End
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			scheduled = c.LastTransitionTime.Time
		}
	}
	if at := started(pod); at != nil && !l.is.Restarting {
		scheduled, ran = state.Earliest(scheduled, *at), state.Latest(created, *at)
	}
	after := Succeeded
	for i := range pod.Status.ContainerStatuses {
		if t := pod.Status.ContainerStatuses[i].State.Terminated; t != nil && pod.Status.Phase != corev1.PodRunning {
			over = t.FinishedAt.Time
			if t.ExitCode != 0 {
				after = Failed
			}
		}
	}
	if scheduled.Sub(created) < noWait {
		scheduled = created
	}
	begin, end := beginAndEnd(r, l.is.Life)
	var list []Segment
	for _, s := range []Segment{{Waiting, Interval{From: created, To: scheduled}}, {begin, Interval{From: scheduled, To: ran}}, {Running, Interval{From: ran, To: over}}, {after, Interval{From: over, To: end}}} {
		s.To = state.Earliest(s.To, end)
		if s.To.After(s.From) {
			list = append(list, s)
		}
	}
	return list
}

// beginAndEnd returns the state at the start of the pod, and the time until which the pod shows the state of its replica: later times
// belong to the next attempt.
func beginAndEnd(r *Report, life state.Life) (State, time.Time) {
	if life == (state.Life{}) && r.Status.Attempt == 0 {
		return Starting, r.End
	}
	begin, end := Restarting, r.End
	if life == (state.Life{}) {
		begin = Starting
	}
	for i := range r.Attempts {
		if a := &r.Attempts[i]; life.Attempt < int(r.Status.Attempt) && a.First <= int32(life.Attempt) && int32(life.Attempt) <= a.Last {
			end = state.Earliest(end, a.To)
		}
	}
	return begin, end
}

// paint returns the row with the segment over what was there.
func paint(row []Segment, s Segment) []Segment {
	if !s.To.After(s.From) {
		return row
	}
	var painted []Segment
	done := false
	for _, was := range row {
		if before := (Segment{was.State, Interval{From: was.From, To: state.Earliest(was.To, s.From)}}); before.To.After(before.From) {
			painted = append(painted, before)
		}
		if !done && was.To.After(s.From) {
			painted, done = append(painted, s), true
		}
		if after := (Segment{was.State, Interval{From: state.Latest(was.From, s.To), To: was.To}}); after.To.After(after.From) {
			painted = append(painted, after)
		}
	}
	if !done {
		painted = append(painted, s)
	}
	return painted
}

// tidy returns the row without segments that have no length, and with neighbours that are alike as one.
func tidy(row []Segment) []Segment {
	var list []Segment
	for _, s := range row {
		n := len(list) - 1
		switch {
		case !s.To.After(s.From):
		case n >= 0 && list[n].State == s.State && list[n].To.Equal(s.From):
			list[n].To = s.To
		default:
			list = append(list, s)
		}
	}
	return list
}

package plan_test

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/pkg/state"
)

// guards are what pkg/plan's safety rests on; the test of the simulator itself switches them off.
type guards struct {
	lock  bool // a status is written with the resourceVersion it was made from
	uid   bool // a delete names a UID
	stale bool // a pod from the future makes the operator wait
	first bool // a process compares the first pods of the job that it sees with the API server
}

// process is one replica of the operator, with its own two caches, which lag and never go backwards while it lives.
type process struct {
	jobAt, podAt int
	verified     types.UID
	recorded     time.Time
	wake         time.Time
	awake        bool
}

// restart is a new process under the same name: its caches may begin anywhere behind the present.
func (w *world) restart(p *process, lag int) {
	w.say("a process starts anew")
	*p = process{jobAt: w.behind(len(w.jobs), lag), podAt: w.behind(len(w.past), lag), awake: true}
}

func (w *world) behind(length, lag int) int { return max(0, length-1-w.rng.IntN(lag)) }

// catchUp lets the caches see more, all of it if lag is 1, and wakes the process if there is something new or it is time.
func (w *world) catchUp(p *process, lag int) {
	jobAt, podAt := max(p.jobAt, w.behind(len(w.jobs), lag)), max(p.podAt, w.behind(len(w.past), lag))
	p.awake = p.awake || jobAt != p.jobAt || podAt != p.podAt || (!p.wake.IsZero() && !w.now.Before(p.wake))
	p.jobAt, p.podAt = jobAt, podAt
}

// observe does what cluster.Observe does: nil for a conflict.
func (w *world) observe(p *process, g guards) *state.Snapshot {
	s := &state.Snapshot{Now: w.now, Job: w.jobs[p.jobAt], HasService: true, Recorded: p.recorded}
	for _, pod := range w.past[p.podAt] {
		if pod.owner == s.Job.UID {
			s.Pods = append(s.Pods, pod.Pod)
		} else {
			s.FormerJobPods++
		}
	}
	if p.verified != s.Job.UID {
		isOld := s.Job.Status.ObservedGeneration != 0 && s.Job.ResourceVersion != w.job.ResourceVersion
		if isOld || (g.first && p.podAt != len(w.past)-1) {
			return nil
		}
		p.verified = s.Job.UID
	}
	if err := s.Complete(); err != nil {
		panic(err)
	}
	for _, slot := range s.Slots() {
		if live := w.pods[state.PodName(s.Job.Name, slot, s.Life(slot))]; live != nil && live.owner == s.Job.UID && s.HasVanished(slot) {
			s.Pods = append(s.Pods, live.Pod)
		}
	}
	if err := s.Complete(); err != nil {
		panic(err)
	}
	if !g.stale {
		hideFuture(s)
	}
	return s
}

// hideFuture makes a complete snapshot one that does not know what a later life is.
func hideFuture(s *state.Snapshot) {
	for i := range s.Pods {
		if p := &s.Pods[i]; s.Life(p.Slot).Before(p.Life) {
			p.Life = s.Life(p.Slot)
		}
	}
}

// request is a step and the job that it was planned from.
type request struct {
	step plan.Step
	from *v1alpha1.TrainingJob
}

// sim is one run: a world, two processes of which one leads, and what has gone wrong.
type sim struct {
	*world
	guards
	seed      int64
	story     story
	processes [2]process
	leader    int
	calm      bool      // no faults any more
	late      []request // still on their way from a process that is gone
	wrong     string
}

func (s *sim) violate(format string, args ...any) {
	if s.wrong == "" {
		s.wrong = fmt.Sprintf("%v: ", s.now.Sub(s.jobs[0].CreationTimestamp.Time)) + fmt.Sprintf(format, args...)
	}
}

// reconcile is one pass of a process: observe, plan, record, act; it may crash in between.
func (s *sim) reconcile(who int, leads bool) {
	p := &s.processes[who]
	seen := s.observe(p, s.guards)
	if seen == nil {
		return // still awake: it tries again
	}
	p.awake = false
	todo := plan.Make(seen)
	p.wake = todo.Wake
	if !s.calm && s.oneIn(40) {
		s.restart(p, 8) // crashed before it recorded
		return
	}
	if !s.record(p, seen, &todo) {
		p.awake = true
		return
	}
	if !s.calm && s.oneIn(40) {
		s.restart(p, 8) // crashed after it recorded
		return
	}
	s.act(who, seen, todo.Steps, leads)
}

// record writes the status if it has changed; false is a conflict.
func (s *sim) record(p *process, seen *state.Snapshot, todo *plan.Plan) bool {
	if equality.Semantic.DeepEqual(seen.Job.Status, todo.Status) {
		return true
	}
	if s.lock && seen.Job.ResourceVersion != s.job.ResourceVersion {
		return false
	}
	before := s.job
	s.writeStatus(&todo.Status)
	p.jobAt, p.recorded, p.verified, p.awake = len(s.jobs)-1, s.now, s.job.UID, true
	s.checkStatus(before, s.job, todo)
	return true
}

// act takes the steps in any order. It may crash half-way, with a request on its way, and a request may be sent twice.
func (s *sim) act(who int, seen *state.Snapshot, steps []plan.Step, leads bool) {
	p := &s.processes[who]
	steps = slices.Clone(steps)
	s.rng.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	for i, step := range steps {
		if !s.calm && s.oneIn(15) {
			if !s.oneIn(3) {
				s.late = append(s.late, request{steps[i], seen.Job})
			}
			s.restart(p, 8)
			return
		}
		s.take(step, seen.Job, leads)
		if !s.calm && s.oneIn(25) {
			s.take(step, seen.Job, leads)
		}
	}
	if len(steps) > 0 {
		p.podAt, p.awake = len(s.past)-1, true // own writes are seen, and wake
	}
}

func (s *sim) take(step plan.Step, from *v1alpha1.TrainingJob, leads bool) {
	switch step := step.(type) {
	case plan.CreatePod:
		s.checkCreate(step.Pod, from, leads)
		s.createPod(step.Pod.Name, from.UID, !leads)
	case plan.DeletePod:
		live := s.pods[step.Name]
		if live == nil || (s.uid && live.UID != step.UID) {
			return
		}
		s.say("delete %s: %s", step.Name, step.Why)
		s.checkDelete(live, step, from)
		s.deletePod(live)
	}
}

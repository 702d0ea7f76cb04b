package plan

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/pkg/state"
)

// The least time between two writes of a status with no urgent change, and with no change but the training's step. Thousands of
// jobs renew their Leases all the time.
const (
	recordEvery     = 3 * time.Second
	recordStepEvery = time.Minute
)

// maxPodWrites is the most pod writes that a plan holds. A reconcile with more would occupy its worker for minutes, and would not
// see what happens to the existing pods meanwhile.
const maxPodWrites = 2000

// goOnAfter is when the rest of a cut plan follows: the cache needs a moment to show the pods just written.
const goOnAfter = 50 * time.Millisecond

// Plan is what to do for a job, in this order: write Status, emit Events, take Steps, reconcile again at Wake.
type Plan struct {
	Status v1alpha1.TrainingJobStatus
	Events []Event
	Steps  []Step
	// Restarts are the restarts that Status counts and the status as read does not.
	Restarts []failure.Incident
	// Wake is when to reconcile again without another event; zero for never.
	Wake time.Time
}

// stepsInString is how many steps a plan names in its text.
const stepsInString = 8

// String returns the plan in one line: "Running AllReplicasRunning, attempt 0, 1 restarts; 2 steps: create j-worker-0, create
// j-worker-1; 1 Events; again at 12:01:00".
func (p Plan) String() string {
	text := fmt.Sprintf("%s %s, attempt %d, %d restarts", p.Status.Phase, p.Status.Reason, p.Status.Attempt, p.Status.Restarts)
	for i, step := range p.Steps[:min(len(p.Steps), stepsInString)] {
		if i == 0 {
			text += fmt.Sprintf("; %d steps: %s", len(p.Steps), step)
		} else {
			text += ", " + step.String()
		}
	}
	if more := len(p.Steps) - stepsInString; more > 0 {
		text += fmt.Sprintf(", %d more", more)
	}
	if len(p.Events) > 0 {
		text += fmt.Sprintf("; %d Events", len(p.Events))
	}
	if !p.Wake.IsZero() {
		text += "; again at " + p.Wake.UTC().Format(time.TimeOnly)
	}
	return text
}

// Make returns the plan for a snapshot. It plans nothing if another controller manages the job, the garbage collector deletes the
// pods with the job, or the snapshot is too old to decide. A job with a pod of a life that it never had, or with an invalid first
// attempt, only gets a status that shows it.
func Make(s *state.Snapshot) Plan {
	switch {
	case isLeaving(s.Job) && !s.Job.Spec.IsManagedElsewhere() && !s.IsStale():
		return leave(s)
	case s.Job.Spec.IsManagedElsewhere() || !s.Job.DeletionTimestamp.IsZero():
		return Plan{Status: s.Job.Status}
	case s.Foreign != "" && !s.IsFinished():
		return Plan{Status: stalledStatus(s, v1alpha1.ReasonNameConflict, ForeignMessage(s))}
	case s.IsStale():
		return Plan{Status: s.Job.Status}
	}
	begun, err := s.Begin()
	if err != nil {
		return Plan{Status: stalledStatus(s, v1alpha1.ReasonInvalid, err.Error())}
	}
	return makeOn(begun, &s.Job.Status)
}

// makeOn returns the plan for a complete snapshot whose job has the recorded status was.
func makeOn(s *state.Snapshot, was *v1alpha1.TrainingJobStatus) Plan {
	v := policy.Judge(s)
	p := Plan{Status: nextStatus(s, &v), Restarts: v.Restarts, Wake: v.Wake}
	if !changesLives(was, &p.Status) {
		t := converge(s, &v)
		p.Steps, p.Wake = t.steps, state.Earliest(p.Wake, t.wake)
		if steps := firstWrites(p.Steps); len(steps) < len(p.Steps) {
			p.Steps, p.Wake = steps, state.Earliest(p.Wake, goOn(s))
		}
	}
	ofStatus := statusEvents(s, &v, &p)
	due := s.Recorded.Add(recordAfter(&s.Job.Status, &p.Status))
	if s.Now.Before(due) && !equality.Semantic.DeepEqual(&s.Job.Status, &p.Status) && !isUrgent(&s.Job.Status, &p.Status) {
		p.Status, ofStatus = s.Job.Status, nil // the plan that writes this status emits its Events
		p.Wake = state.Earliest(p.Wake, due)
	}
	p.Events = slices.Concat(ofStatus, stepEvents(s, &v, p.Steps))
	return p
}

// firstWrites returns the first steps, with at most maxPodWrites writes to pods. The next plan holds the others. It does not
// count a deletion by force, because a finalizer can bring it back with each plan.
func firstWrites(steps []Step) []Step {
	var first []Step
	writes := 0
	for _, step := range steps {
		if isPodWrite(step) {
			writes++
		}
		if !isPodWrite(step) || writes <= maxPodWrites {
			first = append(first, step)
		}
	}
	return first
}

func isPodWrite(step Step) bool {
	switch step := step.(type) {
	case CreatePod, RestartPod, AskPod, FencePod:
		return true
	case DeletePod:
		return !step.Force
	default:
		return false
	}
}

// goOn returns when the rest of a cut plan follows: with the next try, if the API server refuses the job's pods.
func goOn(s *state.Snapshot) time.Time {
	if s.Refusal.Pends(s.Now) {
		return s.Refusal.Retry
	}
	return s.Now.Add(goOnAfter)
}

// changesLives reports whether next begins or ends a life, a suspension or the job. Its steps must then wait until next is
// written.
func changesLives(was, next *v1alpha1.TrainingJobStatus) bool {
	return beginsLives(was, next) || was.Memory.Lives != next.Memory.Lives ||
		changed(was, next, v1alpha1.ConditionSuspended) || changed(was, next, v1alpha1.ConditionFinished)
}

// beginsLives reports whether next gives a replica, or the job, its next life.
func beginsLives(was, next *v1alpha1.TrainingJobStatus) bool {
	return was.Attempt != next.Attempt || !maps.Equal(livesOf(was), livesOf(next))
}

// livesOf returns, by role, the text that identifies the replicas' lives within an attempt.
func livesOf(status *v1alpha1.TrainingJobStatus) map[v1alpha1.Role]string {
	lives := map[v1alpha1.Role]string{}
	for role, m := range status.Memory.Roles {
		if m.Replacements+m.Parked != "" {
			lives[role] = m.Replacements + " parked " + m.Parked
		}
	}
	return lives
}

// recordAfter returns how long after the last write of the status a next write without urgency may come.
func recordAfter(was, next *v1alpha1.TrainingJobStatus) time.Duration {
	if was.Progress == nil || next.Progress == nil || was.Progress.Step == next.Progress.Step {
		return recordEvery
	}
	same, progress := *next, *next.Progress
	progress.Step, progress.RenewTime = was.Progress.Step, was.Progress.RenewTime
	same.Progress, same.LostSeconds, same.Memory.CountedTime = &progress, was.LostSeconds, was.Memory.CountedTime
	if equality.Semantic.DeepEqual(was, &same) {
		return recordStepEvery
	}
	return recordEvery
}

// isUrgent reports whether next must be written at once: more than progress has changed.
func isUrgent(was, next *v1alpha1.TrainingJobStatus) bool {
	for _, condition := range []string{v1alpha1.ConditionCreated, v1alpha1.ConditionScheduled, v1alpha1.ConditionRunning, v1alpha1.ConditionRestarting, v1alpha1.ConditionProgressing, v1alpha1.ConditionStalled} {
		if changed(was, next, condition) {
			return true
		}
	}
	return stopID(was) != stopID(next) || was.ObservedGeneration != next.ObservedGeneration || !equality.Semantic.DeepEqual(was.Incidents, next.Incidents) || reasonToWait(was) != reasonToWait(next) ||
		startedAmongRunning(was, next) || changesLives(was, next)
}

// startedAmongRunning reports whether a replica has started in a running job. Until that is written, its loss would not be
// counted. While a job starts, a write for each replica would cost too much.
func startedAmongRunning(was, next *v1alpha1.TrainingJobStatus) bool {
	if !meta.IsStatusConditionTrue(next.Conditions, v1alpha1.ConditionRunning) {
		return false
	}
	for role, is := range next.Memory.Roles {
		if is.Started != was.Memory.Roles[role].Started {
			return true
		}
	}
	return false
}

// reasonToWait returns why the job does not run. Users see a new reason at once.
func reasonToWait(status *v1alpha1.TrainingJobStatus) string {
	c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionRunning)
	if c == nil || c.Status == "True" {
		return ""
	}
	return c.Reason
}

// changed reports whether the condition has become true or has stopped being true.
func changed(was, next *v1alpha1.TrainingJobStatus, condition string) bool {
	return meta.IsStatusConditionTrue(was.Conditions, condition) != meta.IsStatusConditionTrue(next.Conditions, condition)
}

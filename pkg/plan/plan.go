package plan

import (
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/pkg/state"
)

// The least time between two writes of a status in which nothing urgent has changed, and in which nothing but the training's step has:
// thousands of jobs renew their Leases all the time.
const (
	recordEvery     = 3 * time.Second
	recordStepEvery = time.Minute
)

// maxPodWrites is how many writes to pods a plan holds at most. A pass with more would keep others from its worker for minutes,
// and would not see meanwhile what becomes of the pods that are there.
const maxPodWrites = 2000

// goOnAfter is when a plan that was cut goes on: the cache needs a moment to show the pods just written.
const goOnAfter = 50 * time.Millisecond

// Plan is the plan for a job, in this order: write Status, emit Events, take Steps, reconcile again at Wake.
type Plan struct {
	Status v1alpha1.TrainingJobStatus
	Events []Event
	Steps  []Step
	// Restarts are the restarts that Status counts and the status as read does not.
	Restarts []failure.Incident
	// Wake is when to look again although nothing else happens; zero for never.
	Wake time.Time
}

// stepsInString is how many steps a plan names in its text.
const stepsInString = 8

// String returns the plan in one line: "Running AllReplicasRunning, attempt 0, 1 restarts; 2 steps: create j-worker-0, create j-worker-1;
// 1 Events; again at 12:01:00".
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

// Make returns the plan for a snapshot. It plans nothing for a job of another controller, a job in deletion, or a job that was read too
// long ago. It plans only a message for a job with a pod of a life that it never had, or without a valid first attempt.
func Make(s *state.Snapshot) Plan {
	switch {
	case s.Job.Spec.IsManagedElsewhere() || !s.Job.DeletionTimestamp.IsZero():
		return Plan{Status: s.Job.Status}
	case s.Foreign != "" && !s.IsFinished():
		return Plan{Status: standStill(s, v1alpha1.ReasonNameConflict, ForeignMessage(s))}
	case s.IsStale():
		return Plan{Status: s.Job.Status}
	}
	begun, err := s.Begin()
	if err != nil {
		return Plan{Status: standStill(s, v1alpha1.ReasonInvalid, err.Error())}
	}
	return makeOn(begun, &s.Job.Status)
}

// makeOn returns the plan for a snapshot from which everything can be decided, and whose status was written as was.
func makeOn(s *state.Snapshot, was *v1alpha1.TrainingJobStatus) Plan {
	v := policy.Judge(s)
	p := Plan{Status: nextStatus(s, &v), Restarts: v.Restarts, Wake: v.Wake}
	if !changesLives(was, &p.Status) {
		var wake time.Time
		p.Steps, wake = converge(s, &v)
		p.Wake = state.Earliest(p.Wake, wake)
		if steps := firstWrites(p.Steps); len(steps) < len(p.Steps) {
			p.Steps, p.Wake = steps, state.Earliest(p.Wake, goOn(s))
		}
	}
	p.Events = events(s, &v, &p)
	due := s.Recorded.Add(recordAfter(&s.Job.Status, &p.Status))
	if s.Now.Before(due) && !equality.Semantic.DeepEqual(&s.Job.Status, &p.Status) && !isUrgent(&s.Job.Status, &p.Status) {
		p.Status, p.Events = s.Job.Status, nil
		p.Wake = state.Earliest(p.Wake, due)
	}
	if v.Expired {
		p.Events = append(p.Events, deletionRefused(s)...)
	}
	if v.GoesOn() {
		p.Events = append(append(p.Events, sparesUsed(s, p.Steps)...), sparesRefused(s)...)
	}
	return p
}

// firstWrites returns the steps, in their order, without those that write more than maxPodWrites pods: the next plan holds them.
// A deletion by force is not counted, as a finalizer can make it come again with each plan.
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

// goOn returns when a shortened plan continues: with the next try if the API server refuses the job's pods.
func goOn(s *state.Snapshot) time.Time {
	if s.Refusal.Pends(s.Now) {
		return s.Refusal.Retry
	}
	return s.Now.Add(goOnAfter)
}

// changesLives reports whether next begins or ends a life, a suspension or the job: then its steps must wait until it is written.
func changesLives(was, next *v1alpha1.TrainingJobStatus) bool {
	return beginsLives(was, next) || was.Memory.Lives != next.Memory.Lives ||
		changed(was, next, v1alpha1.ConditionSuspended) || changed(was, next, v1alpha1.ConditionFinished)
}

// beginsLives reports whether next gives a replica, or the job, its next life.
func beginsLives(was, next *v1alpha1.TrainingJobStatus) bool {
	return was.Attempt != next.Attempt || !maps.Equal(livesOf(was), livesOf(next))
}

// livesOf returns, within an attempt, the lives of each role's replicas.
func livesOf(status *v1alpha1.TrainingJobStatus) map[v1alpha1.Role]string {
	lives := map[v1alpha1.Role]string{}
	for role, m := range status.Memory.Roles {
		if m.Replacements+m.Parked != "" {
			lives[role] = m.Replacements + " parked " + m.Parked
		}
	}
	return lives
}

// recordAfter returns how long after the last write of the status the next may come if it is not urgent.
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

// isUrgent reports whether more than progress has changed.
func isUrgent(was, next *v1alpha1.TrainingJobStatus) bool {
	for _, condition := range []string{v1alpha1.ConditionCreated, v1alpha1.ConditionScheduled, v1alpha1.ConditionRunning, v1alpha1.ConditionRestarting, v1alpha1.ConditionProgressing, v1alpha1.ConditionStalled} {
		if changed(was, next, condition) {
			return true
		}
	}
	return stopID(was) != stopID(next) || was.ObservedGeneration != next.ObservedGeneration || !equality.Semantic.DeepEqual(was.Incidents, next.Incidents) || reasonToWait(was) != reasonToWait(next) ||
		startedAmongRunning(was, next) || changesLives(was, next)
}

// startedAmongRunning reports whether a replica has started in a job that runs: until that is written, its loss would go
// uncounted. While a job comes to run, many start at once, and a write for each would cost more than it is worth.
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

// reasonToWait returns why the job does not run: a user who waits for it should not wait for the reason as well.
func reasonToWait(status *v1alpha1.TrainingJobStatus) string {
	c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionRunning)
	if c == nil || c.Status == "True" {
		return ""
	}
	return c.Reason
}

// changed reports whether the condition has become true or ceased to be.
func changed(was, next *v1alpha1.TrainingJobStatus, condition string) bool {
	return meta.IsStatusConditionTrue(was.Conditions, condition) != meta.IsStatusConditionTrue(next.Conditions, condition)
}

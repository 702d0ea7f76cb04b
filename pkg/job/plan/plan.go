package plan

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/pkg/job/state"
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
	Restarts []failure.Restart
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
	// The garbage collector does not delete the pods of a job with the finalizer: in the background it waits for the job to go first.
	isLeaving := !s.Job.DeletionTimestamp.IsZero() && slices.Contains(s.Job.Finalizers, v1alpha1.FinalizerQuota)
	switch {
	case isLeaving && !s.Job.Spec.IsManagedElsewhere() && !s.IsStale():
		return planOfDeleted(s)
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
	p := Plan{Status: nextStatus(s, &v), Restarts: failure.Begun(v.Restarts), Wake: state.Earliest(v.Wake, v.Accounts.Until)}
	if !changesLives(was, &p.Status) {
		t := converge(s, &v)
		p.Steps, p.Wake = t.steps, state.Earliest(p.Wake, t.wake)
		if steps := firstWrites(p.Steps); len(steps) < len(p.Steps) {
			next := s.Now.Add(goOnAfter)
			if s.Refusal.Pends(s.Now) {
				next = s.Refusal.Retry
			}
			p.Steps, p.Wake = steps, state.Earliest(p.Wake, next)
		}
	}
	ofStatus := statusEvents(s, &v, &p)
	due := s.Recorded.Add(recordAfter(&s.Job.Status, &p.Status))
	if s.Now.Before(due) && !equality.Semantic.DeepEqual(&s.Job.Status, &p.Status) && !isUrgent(&s.Job.Status, &p.Status) {
		p.Status, ofStatus = s.Job.Status, nil // the plan that writes this status emits its Events
		p.Wake = state.Earliest(p.Wake, due)
	}
	p.Events = slices.Concat(ofStatus, deletionRefused(s, &v))
	return p
}

// firstWrites returns the first steps, with at most maxPodWrites writes to pods. The next plan holds the others.
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
	switch step.(type) {
	case CreatePod, RestartPod, AskPod, FencePod, DeletePod:
		return true
	default:
		return false
	}
}

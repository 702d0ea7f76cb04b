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

// goOnAfter is when the rest of a cut plan follows: the cache needs a moment to show the pods just written.
const goOnAfter = 50 * time.Millisecond

// Plan is what to do for a job, in this order: write Status, emit Events, take Steps, make Reads, reconcile again at Wake.
type Plan struct {
	Status v1alpha1.TrainingJobStatus
	Events []Event
	Steps  []Step
	// Restarts are the restarts that Status counts and the status as read does not.
	Restarts []failure.Restart
	// Wake is when to reconcile again without another event; zero for never.
	Wake time.Time
	// Reads are to be made for the next plan.
	Reads state.Reads
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

// Make returns the plan for a snapshot. It plans nothing if another controller manages the job, the garbage collector deletes the pods with the job,
// the snapshot is too old to decide, or it lacks pods that the API server may yet have. A job with a pod of a life that it never had, or with an
// invalid first attempt, only gets a status that shows it.
func Make(s *state.Snapshot) Plan {
	// The garbage collector does not delete the pods of a job with the finalizer: in the background it waits for the job to go first.
	isLeaving := !s.Job.DeletionTimestamp.IsZero() && slices.Contains(s.Job.Finalizers, v1alpha1.FinalizerQuota)
	reads := s.Reads()
	switch {
	case isLeaving && !s.Job.Spec.IsManagedElsewhere() && !s.IsStale():
		return planOfDeleted(s)
	case s.Job.Spec.IsManagedElsewhere() || !s.Job.DeletionTimestamp.IsZero():
		return Plan{Status: s.Job.Status}
	case s.Foreign != "" && !s.IsFinished():
		return Plan{Status: stalledStatus(s, v1alpha1.ReasonNameConflict, ForeignMessage(s, s.Foreign)), Reads: reads}
	case s.IsStale() || len(reads.Confirm) > 0:
		return Plan{Status: s.Job.Status, Reads: reads}
	}
	begun, err := s.Begin()
	if err != nil {
		return Plan{Status: stalledStatus(s, v1alpha1.ReasonInvalid, err.Error()), Reads: reads}
	}
	p := makeOn(begun, &s.Job.Status)
	p.Reads = reads
	return p
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
	ofStatus := statusEvents(s, &v, &p.Status)
	due := s.Recorded.Add(recordAfter(&s.Job.Status, &p.Status))
	if s.Now.Before(due) && !equality.Semantic.DeepEqual(&s.Job.Status, &p.Status) && !isUrgent(&s.Job.Status, &p.Status) {
		p.Status, ofStatus = s.Job.Status, nil // the plan that writes this status emits its Events
		p.Wake = state.Earliest(p.Wake, due)
	}
	p.Events = slices.Concat(ofStatus, deletionRefused(s, &v))
	return p
}

// planOfDeleted returns the plan for a deleted job that exists until its last pod is gone: all pods end, with their own grace periods, and the status counts them.
func planOfDeleted(s *state.Snapshot) Plan {
	p := Plan{Status: *s.Job.Status.DeepCopy()}
	p.Status.ObservedGeneration = s.Job.Generation
	countReplicas(s, &p.Status)
	steps, wake := deletePods(s, func(state.Pod) bool { return true }, WhyJobDeleted)
	p.Steps = firstWrites(steps)
	p.Wake = state.Earliest(wake, policy.NextLoss(s))
	if due := s.Recorded.Add(recordEvery); s.Now.Before(due) && !isUrgent(&s.Job.Status, &p.Status) {
		p.Status, p.Wake = s.Job.Status, state.Earliest(p.Wake, due)
	}
	return p
}

// stalledStatus returns the status of a job that waits until a person acts, and why.
func stalledStatus(s *state.Snapshot, reason, message string) v1alpha1.TrainingJobStatus {
	next := *s.Job.Status.DeepCopy()
	c := conditions{s, &next}
	c.set(v1alpha1.ConditionStalled, true, reason, state.Printable(message))
	slices.SortFunc(next.Conditions, byOrder)
	next.Phase = phaseOf(next.Conditions)
	next.Reason, next.Message = why(&next)
	return next
}

// ForeignMessage explains a pod of a life that the job never had, and how to go on. The operator cannot decide which of the pods
// belong to the job. A job without a status was most likely restored from a backup beside its pods.
func ForeignMessage(s *state.Snapshot, pod string) string {
	job := s.Job
	if job.Status.StartTime != nil {
		return fmt.Sprintf("The operator did not create pod %s, whose life this job never had: another client created it in the job's name. The job waits until the pod is deleted: "+
			"kubectl delete pod %s --namespace %s", pod, pod, job.Namespace)
	}
	latest := 0
	for i := range s.Pods {
		latest = max(latest, s.Pods[i].Life.Attempt)
	}
	return fmt.Sprintf("The job has no status but has pods, such as %s: it was restored without its status, or another client created the pods. The job waits "+
		"until they are deleted: kubectl delete pods --namespace %s --selector %s=%s. To number attempts after their checkpoints, first run: "+
		"kubectl annotate trainingjob %s --namespace %s %s=%d",
		pod, job.Namespace, v1alpha1.LabelJobUID, job.UID, job.Name, job.Namespace, v1alpha1.AnnotationFirstAttempt, latest+1)
}

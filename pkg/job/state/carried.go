package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// CarriedStatus returns the value of AnnotationCarriedStatus for a job that leaves its cluster now: what the job has counted, within the
// bounds that ParseCarried checks. It is the annotation as it is, if the job has not started since that was written. It is empty if the value
// would be too large even without incidents.
func CarriedStatus(job *v1alpha1.TrainingJob, now time.Time) (string, error) {
	text := job.Annotations[v1alpha1.AnnotationCarriedStatus]
	former, err := ParseCarried(text, now)
	if isCarried := err == nil && former != nil && former.Attempt >= job.Status.Attempt; isCarried || job.Status.StartTime == nil {
		return text, nil
	}
	carried := counted(&job.Status)
	carried.RunningSeconds = int64(RunningFor(&job.Status, now).Seconds())
	carried.SuspendedSeconds = int64(SuspendedFor(&job.Status, now).Seconds())
	carried.Memory.CountedTime = &metav1.Time{Time: now.Truncate(time.Second)}
	for _, b := range bounds {
		b.keep(carried, now)
	}
	return write(carried)
}

// write returns the status as JSON of at most MaxCarriedStatus bytes. The oldest incidents go first, then the oldest charges.
func write(carried *v1alpha1.TrainingJobStatus) (string, error) {
	for {
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false) // an annotation is no page
		if err := encoder.Encode(carried); err != nil {
			return "", fmt.Errorf("writing the carried status as JSON: %w", err)
		}
		if text.Len() <= v1alpha1.MaxCarriedStatus {
			return string(bytes.TrimSpace(text.Bytes())), nil
		}
		if !shrink(carried) {
			return "", nil
		}
	}
}

// shrink drops the oldest incident, or without incidents the older half of the most charges. It reports false if there are neither.
func shrink(carried *v1alpha1.TrainingJobStatus) bool {
	if n := len(carried.Incidents); n > 0 {
		carried.Incidents = carried.Incidents[:n-1]
		return true
	}
	var most *v1alpha1.Charges
	for i := range carried.Memory.Charges {
		if c := &carried.Memory.Charges[i]; most == nil || len(c.Times) > len(most.Times) {
			most = c
		}
	}
	if most == nil || len(most.Times) == 0 {
		return false
	}
	most.Times = most.Times[(len(most.Times)+1)/2:]
	return true
}

// counted returns a copy of the part of a status that is true in any cluster. No node of it exists here.
func counted(status *v1alpha1.TrainingJobStatus) *v1alpha1.TrainingJobStatus {
	carried := &v1alpha1.TrainingJobStatus{
		Attempt: status.Attempt, Restarts: status.Restarts, ChargedRestarts: status.ChargedRestarts,
		Budgets: status.Budgets, LastFailure: status.LastFailure, Incidents: status.Incidents,
		StartTime: status.StartTime, RunningTime: status.RunningTime,
		SuspendedSeconds: status.SuspendedSeconds, RunningSeconds: status.RunningSeconds, LostSeconds: status.LostSeconds,
		ReplicaStatuses: map[v1alpha1.Role]v1alpha1.ReplicaStatus{},
		Memory: v1alpha1.Memory{
			RestartRequest: words(status.Memory.RestartRequest, maxRequest), RestartsWithoutProgress: status.Memory.RestartsWithoutProgress,
			RedoStep: status.Memory.RedoStep, Charges: status.Memory.Charges, CountedTime: status.Memory.CountedTime,
		},
	}
	for role, s := range status.ReplicaStatuses {
		carried.ReplicaStatuses[role] = v1alpha1.ReplicaStatus{Restarts: s.Restarts}
	}
	if p := status.Progress; p != nil {
		carried.Progress = &v1alpha1.ProgressStatus{
			Step: p.Step, Checkpoint: words(p.Checkpoint, MaxWords), CheckpointTime: p.CheckpointTime, RenewTime: p.RenewTime, Metrics: p.Metrics,
		}
	}
	carried = carried.DeepCopy()
	if carried.LastFailure != nil {
		leaveNode(carried.LastFailure)
	}
	for i := range carried.Incidents {
		leaveNode(&carried.Incidents[i].Failure)
	}
	return carried
}

// leaveNode makes a failure one of another cluster: without its node, and with words that a status can hold.
func leaveNode(f *v1alpha1.Failure) {
	f.Node = ""
	f.Pod, f.Container = words(f.Pod, maxName), words(f.Container, maxName)
	f.Reason, f.Message = words(f.Reason, maxReason), words(f.Message, MaxWords)
}

// words returns a text whose lines are printable, and at most so many bytes of it.
func words(text string, limit int) string { return PrintableLines(Cut(PrintableLines(text), limit)) }

// Carried returns the carried status that the job begins with, as JSON. It is empty if the job has begun, and if MultiKueue has not made the
// job: a user may write the annotation to any job. A text that is too long is cut behind the limit.
func Carried(job *v1alpha1.TrainingJob) string {
	hasWorkload := job.Labels[v1alpha1.KueuePrebuiltWorkload] != "" || job.Annotations[v1alpha1.KueuePrebuiltWorkload] != ""
	isCopy := hasWorkload && job.Labels[v1alpha1.LabelMultiKueueOrigin] != ""
	if !isCopy || meta.IsStatusConditionTrue(job.Status.Conditions, v1alpha1.ConditionCreated) {
		return ""
	}
	return CutCarried(job.Annotations[v1alpha1.AnnotationCarriedStatus])
}

// CutCarried returns as much of a carried status as its readers need: all of it, or enough to see that it is too long.
func CutCarried(text string) string { return Cut(text, v1alpha1.MaxCarriedStatus+utf8.UTFMax) }

// readCarried returns the status with which a job begins that another cluster has run before: in the next attempt, so that its checkpoints
// are newer, and with the time since then as time in the queue. It returns nil for a job that brings none, and an error with a correction if
// the annotation is not such a status.
func readCarried(job *v1alpha1.TrainingJob, now time.Time) (*v1alpha1.TrainingJobStatus, error) {
	carried, err := ParseCarried(Carried(job), now)
	if carried == nil || err != nil {
		return nil, err
	}
	carried.Attempt++
	if since := carried.Memory.CountedTime; since != nil {
		away := int64(max(0, now.Sub(since.Time)).Seconds())
		carried.SuspendedSeconds += away
		carried.LostSeconds.Queue += away
	}
	carried.Memory.CountedTime = &metav1.Time{Time: now.Truncate(time.Second)}
	return carried, nil
}

// ParseCarried returns what is counted in the value of AnnotationCarriedStatus; nil for an empty one. It returns an error with a correction
// if the value is longer than MaxCarriedStatus, which it does not decode, or outside the bounds that CarriedStatus keeps.
func ParseCarried(text string, now time.Time) (*v1alpha1.TrainingJobStatus, error) {
	if text == "" {
		return nil, nil
	}
	if len(text) > v1alpha1.MaxCarriedStatus {
		return nil, refuseCarried(fmt.Sprintf("it is longer than %d bytes", v1alpha1.MaxCarriedStatus))
	}
	var status v1alpha1.TrainingJobStatus
	var list struct{ Incidents []json.RawMessage }
	switch { // an incident takes a hundred times the bytes of {}
	case json.Unmarshal([]byte(text), &list) == nil && len(list.Incidents) > v1alpha1.MaxIncidents:
		return nil, refuseCarried("no cluster reports such incidents")
	case json.Unmarshal([]byte(text), &status) != nil:
		return nil, refuseCarried("it is not a status in JSON")
	case len(status.Budgets) > len(v1alpha1.BudgetNames), len(status.Memory.Charges) > len(v1alpha1.BudgetNames):
		return nil, refuseCarried("no cluster reports so many budgets or charges")
	}
	carried := counted(&status)
	if part := outside(carried, now.Add(maxSkew)); part != "" {
		return nil, refuseCarried("no cluster reports such " + part)
	}
	return carried, nil
}

func refuseCarried(why string) error {
	return fmt.Errorf("annotation %s: %s. Kueue's adapter writes it: have an administrator remove it, or create the job again", v1alpha1.AnnotationCarriedStatus, why)
}

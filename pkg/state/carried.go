package state

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// maxCarriedBytes bounds the annotation with a carried status. The API server allows 262,144 bytes for all annotations of an object.
const maxCarriedBytes = 128 << 10

// CarriedStatus returns the value of AnnotationCarriedStatus for a job that leaves its cluster now: what the job has counted, and nothing of
// its pods and nodes. It is the annotation as it is, if the job has not started since that was written. Incidents stay behind if the value
// would be too large.
func CarriedStatus(job *v1alpha1.TrainingJob, now time.Time) (string, error) {
	text := job.Annotations[v1alpha1.AnnotationCarriedStatus]
	former, err := ParseCarried(text)
	if isCarried := err == nil && former != nil && former.Attempt >= job.Status.Attempt; isCarried || job.Status.StartTime == nil {
		return text, nil
	}
	carried := counted(&job.Status)
	carried.RunningSeconds = int64(RunningFor(&job.Status, now).Seconds())
	carried.SuspendedSeconds = int64(SuspendedFor(&job.Status, now).Seconds())
	carried.Memory.CountedTime = &metav1.Time{Time: now.Truncate(time.Second)}
	written, err := json.Marshal(carried)
	if err == nil && len(written) > maxCarriedBytes {
		carried.Incidents = nil
		written, err = json.Marshal(carried)
	}
	return string(written), err
}

// counted returns the part of a status that is true in any cluster.
func counted(status *v1alpha1.TrainingJobStatus) *v1alpha1.TrainingJobStatus {
	carried := &v1alpha1.TrainingJobStatus{
		Attempt: status.Attempt, Restarts: status.Restarts, ChargedRestarts: status.ChargedRestarts,
		Budgets: status.Budgets, LastFailure: status.LastFailure, Incidents: status.Incidents, Progress: status.Progress,
		StartTime: status.StartTime, RunningTime: status.RunningTime,
		SuspendedSeconds: status.SuspendedSeconds, RunningSeconds: status.RunningSeconds, LostSeconds: status.LostSeconds,
		ReplicaStatuses: map[v1alpha1.Role]v1alpha1.ReplicaStatus{},
		Memory: v1alpha1.Memory{
			RestartRequest: status.Memory.RestartRequest, RestartsWithoutProgress: status.Memory.RestartsWithoutProgress,
			RedoStep: status.Memory.RedoStep, Charges: status.Memory.Charges, CountedTime: status.Memory.CountedTime,
		},
	}
	for role, s := range status.ReplicaStatuses {
		carried.ReplicaStatuses[role] = v1alpha1.ReplicaStatus{Restarts: s.Restarts}
	}
	return carried
}

// readCarried returns the status with which a job begins that another cluster has run before: in the next attempt, so that its checkpoints
// are newer, and with the time since then as time in the queue. It returns nil without the annotation, and an error with a correction if
// the annotation is not a status.
func readCarried(job *v1alpha1.TrainingJob, now time.Time) (*v1alpha1.TrainingJobStatus, error) {
	status, err := ParseCarried(job.Annotations[v1alpha1.AnnotationCarriedStatus])
	if status == nil || err != nil {
		return nil, err
	}
	carried := counted(status)
	carried.Attempt++
	if since := carried.Memory.CountedTime; since != nil {
		away := int64(max(0, now.Sub(since.Time)).Seconds())
		carried.SuspendedSeconds += away
		carried.LostSeconds.Queue += away
	}
	carried.Memory.CountedTime = &metav1.Time{Time: now.Truncate(time.Second)}
	return carried, nil
}

// ParseCarried returns the status in the value of AnnotationCarriedStatus; nil for an empty one. It returns an error with a correction if
// the value is not a status.
func ParseCarried(text string) (*v1alpha1.TrainingJobStatus, error) {
	if text == "" {
		return nil, nil
	}
	var status v1alpha1.TrainingJobStatus
	if err := json.Unmarshal([]byte(text), &status); err != nil || status.Attempt < 0 || status.Attempt >= v1alpha1.MaxFirstAttempt {
		return nil, fmt.Errorf("annotation %s is not a status with an attempt from 0 to %d: remove it, or leave it to Kueue's adapter",
			v1alpha1.AnnotationCarriedStatus, v1alpha1.MaxFirstAttempt-1)
	}
	return &status, nil
}

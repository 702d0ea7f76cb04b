package state

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Progress is the content of the job's progress Lease.
type Progress struct {
	// Step is the training's step; 0 without a valid number.
	Step       int64
	Checkpoint string
	// Renewed is when the Lease was last renewed; zero if never.
	Renewed time.Time
	// SavedFor is the id of the request to stop that it answers last; empty if none.
	SavedFor string
}

// LeaseName returns the name of the job's progress Lease.
func LeaseName(job string) string { return job + "-progress" }

// Heeds reports whether the progress Lease is about the present: it names the present attempt, and no older life than the leader's pod
// has. A Lease without these names counts too. A rank of an earlier life may still reach the API server from a node that is cut off from
// its peers.
func (o *Observed) Heeds(lease *coordinationv1.Lease) bool {
	attempt, number := lease.Annotations[v1alpha1.AnnotationAttempt], lease.Annotations[v1alpha1.AnnotationLifeNumber]
	if attempt != "" && attempt != strconv.Itoa(int(o.Job.Status.Attempt)) {
		return false
	}
	leader := Leader(&o.Job.Spec)
	return number == "" || !slices.ContainsFunc(o.Pods, func(p Pod) bool { return p.Slot == leader && p.Number > numberOf(number) })
}

// ProgressOf returns the content of a progress Lease.
func ProgressOf(lease *coordinationv1.Lease) Progress {
	p := Progress{
		Checkpoint: Printable(Cut(lease.Annotations[v1alpha1.AnnotationCheckpoint], MaxWords)),
		SavedFor:   Cut(lease.Annotations[v1alpha1.AnnotationSavedFor], MaxWords),
	}
	if step, err := strconv.ParseInt(lease.Annotations[v1alpha1.AnnotationStep], 10, 64); err == nil && step > 0 {
		p.Step = step
	}
	if lease.Spec.RenewTime != nil {
		p.Renewed = lease.Spec.RenewTime.Time
	}
	return p
}

// Reporter returns the replica that renews the progress Lease: rank 0.
func (s *Snapshot) Reporter() *Replica { return s.Replica(Leader(&s.Job.Spec)) }

// HighestStep returns the highest step that the job ever reported.
func (s *Snapshot) HighestStep() int64 { return max(s.RecordedStep(), s.Progress.Step) }

// RecordedStep returns the highest step that the status remembers.
func (s *Snapshot) RecordedStep() int64 {
	if s.Job.Status.Progress == nil {
		return 0
	}
	return s.Job.Status.Progress.Step
}

// NewCheckpointRequest returns the request to save a checkpoint, for that reason, until the deadline at the latest.
func (s *Snapshot) NewCheckpointRequest(reason string, deadline time.Time) *v1alpha1.CheckpointRequest {
	return &v1alpha1.CheckpointRequest{
		ID: fmt.Sprintf("%d-%d", s.Job.Status.Attempt, s.Now.Unix()), Reason: reason,
		Time: metav1.NewTime(s.Now.Truncate(time.Second)), DeadlineTime: metav1.NewTime(deadline),
	}
}

// StopText returns a request to stop as the ranks read it; empty for none.
func StopText(r *v1alpha1.CheckpointRequest) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%s %s %s", r.ID, r.Reason, r.DeadlineTime.UTC().Format(time.RFC3339))
}

// HasAnswered reports whether the ranks have saved a checkpoint for the request.
func (s *Snapshot) HasAnswered(r *v1alpha1.CheckpointRequest) bool {
	return r != nil && s.Progress.SavedFor == r.ID
}

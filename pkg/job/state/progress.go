package state

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Report is what the page of a training shows.
type Report struct {
	// Step is the training's step; 0 without a valid number.
	Step       int64
	Checkpoint string
	// Metrics are numbers by name, as text.
	Metrics map[string]string
	// ID is by what the report differs from others of its process: its own time, by the clock of its node, which may be wrong, and its step.
	ID string
	// SavedFor is the id of the request to stop that it answers last; empty if none.
	SavedFor string
	// Attempt and Number are the attempt and the life of the reporting process, as text; empty if the page does not name them.
	Attempt, Number string
}

// Progress is the latest report of rank 0, and how its page was read.
type Progress struct {
	Report
	// Renewed is when the operator first saw the report; zero if there is none.
	Renewed time.Time
	// Began is when the operator saw the process of rank 0 begin; zero if it ran when the operator first looked.
	Began time.Time
	// Read is when the last read of the page began that the process answered, or failed to answer; zero if there was none. A later report
	// may exist.
	Read time.Time
	// IsSilent is whether the process did not answer then, within ReadWithin.
	IsSilent bool
	// IsLate is whether the page shows no new report for longer than usual.
	IsLate bool
	// Unread is why the operator cannot read the page, if the network or the content of the page is the reason; else it is empty.
	Unread string
}

// ReportsByPage reports whether rank 0 of the job serves a progress page.
func ReportsByPage(spec *v1alpha1.TrainingJobSpec) bool {
	return spec.Progress != nil && spec.Progress.Port > 0
}

// StallAfter returns how long a running job may go without a report.
func StallAfter(p *v1alpha1.Progress) time.Duration {
	return time.Duration(cmp.Or(p.StallAfterSeconds, v1alpha1.DefaultStallAfterSeconds)) * time.Second
}

// readEvery returns how often the page of the job is read: often enough to find a hang in time, and soon after the ranks have answered a
// checkpoint request.
func (s *Snapshot) readEvery() time.Duration {
	if s.Job.Status.CheckpointRequest != nil {
		return readMost
	}
	return min(max(StallAfter(s.Job.Spec.Progress)/20, readMost), readLeast)
}

// ReadWithin is how long one read of a page may take in all.
const ReadWithin = 2 * time.Second

const (
	// readMost and readLeast are the shortest and the longest time between two reads of a page.
	readMost, readLeast = time.Second, 10 * time.Second
)

// IsCurrent reports whether a report is about the present: it names the present attempt, and no older life than the leader's pod
// has. A report without these names counts too. A rank of an earlier life may still reach the API server from a node that is cut off from
// its peers.
func (o *Observed) IsCurrent(attempt, number string) bool {
	if attempt != "" && attempt != strconv.Itoa(int(o.Job.Status.Attempt)) {
		return false
	}
	leader := Leader(&o.Job.Spec)
	return number == "" || !slices.ContainsFunc(o.Pods, func(p Pod) bool { return p.Slot == leader && p.Number > numberOf(number) })
}

// FirstSeen returns when the operator first saw a report that this process of the operator has first seen at that time. The status
// remembers the latest report that was recorded, so that a restart of the operator does not make an old one new.
func (o *Observed) FirstSeen(report string, at time.Time) time.Time {
	was := o.Job.Status.Progress
	if at.IsZero() || was == nil || was.RenewTime == nil || report != o.Job.Status.Memory.Report {
		return at
	}
	return Earliest(at, was.RenewTime.Add(time.Second)) // the status has whole seconds
}

// Reporter returns the replica that reports: rank 0.
func (s *Snapshot) Reporter() *Replica { return s.Replica(Leader(&s.Job.Spec)) }

// HighestStep returns the highest step that the job has reported since it was created, or resumed.
func (s *Snapshot) HighestStep() int64 { return max(s.RecordedStep(), s.Progress.Step) }

// RecordedStep returns the highest step that the status remembers.
func (s *Snapshot) RecordedStep() int64 {
	return ptr.Deref(s.Job.Status.Progress, v1alpha1.ProgressStatus{}).Step
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

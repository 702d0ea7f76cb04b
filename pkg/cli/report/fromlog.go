package report

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/journal"
)

// Of returns the lines about one job, oldest first and each once, as two logs may overlap: of the UID, or, if it is empty, of the
// latest job of that name. others is how many jobs of the name there were before that one.
func Of(lines []journal.Line, namespace, name string, uid types.UID) (about []journal.Line, others int) {
	named := slices.DeleteFunc(slices.Clone(lines), func(l journal.Line) bool { return l.Job != name || l.Namespace != namespace })
	slices.SortStableFunc(named, func(a, b journal.Line) int { return a.Time.Compare(b.Time) })
	uids := map[types.UID]bool{}
	for i := range named {
		uids[named[i].UID] = true
	}
	if uid == "" && len(named) > 0 {
		uid = named[len(named)-1].UID
	}
	delete(uids, uid)
	about = slices.DeleteFunc(named, func(l journal.Line) bool { return l.UID != uid })
	return slices.CompactFunc(about, func(a, b journal.Line) bool {
		return a.Message == b.Message && a.Number == b.Number && a.Attempt == b.Attempt && a.Time.Equal(b.Time)
	}), len(uids)
}

// JobOf returns the job in the lines, as far as they describe it, and when they end. There is at least one line, and all are about that
// job.
func JobOf(lines []journal.Line) (*v1alpha1.TrainingJob, time.Time) {
	last := &lines[len(lines)-1]
	job := &v1alpha1.TrainingJob{}
	job.Name, job.Namespace, job.UID, job.Spec.Framework = last.Job, last.Namespace, last.UID, last.Framework
	job.Spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{}
	for role, n := range last.Replicas {
		job.Spec.ReplicaSpecs[role] = v1alpha1.ReplicaSpec{Replicas: &n}
	}
	status := &job.Status
	for i := range lines {
		l := &lines[i]
		if l.Status != nil {
			job.Status = *l.Status.DeepCopy()
			return job, l.Time
		}
		tell(status, l)
	}
	return job, last.Time
}

// tell copies the facts of a line for a job whose last status is unknown.
func tell(status *v1alpha1.TrainingJobStatus, l *journal.Line) {
	status.StartTime = l.StartTime
	status.Message = "The log ends here, and the job had not finished."
	switch l.Message {
	case journal.MessageRuns:
		status.Phase, status.Attempt = v1alpha1.PhaseRunning, l.Attempt
		if status.RunningTime == nil {
			status.RunningTime = l.RunningTime
		}
	case journal.MessageIncident:
		status.Restarts = max(status.Restarts, l.Number)
		if l.Incident.Charged {
			status.ChargedRestarts++
		}
		status.Phase = cmp.Or(status.Phase, v1alpha1.PhasePending)
		if l.Incident.Scope == v1alpha1.ScopeJob {
			status.Phase, status.Attempt = v1alpha1.PhaseRestarting, l.Attempt+1
		}
	}
}

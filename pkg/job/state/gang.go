package state

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Gang is what the operator knows of the job's pod groups.
type Gang struct {
	// Scheduler is the gang scheduler in force: the scheduler of the present attempt's group, or the job's, or the operator's; GangNone
	// for none.
	Scheduler v1alpha1.Gang
	// Unavailable is why the cluster has no such groups; empty if it has them.
	Unavailable string
	// Groups are the job's pod groups, of every attempt and scheduler.
	Groups []Group
}

// Group is one pod group of the job.
type Group struct {
	// Scheduler is whose kind of group it is.
	Scheduler v1alpha1.Gang
	Name      string
	UID       types.UID
	// Minimum is how many pods must fit at once.
	Minimum int32
	// Waiting is why the scheduler does not place the group; the zero value if it does, or has not tried yet.
	Waiting Trouble
	// Deleted is the time of the request to delete it; zero without one.
	Deleted time.Time
}

// IsGoing reports whether the group is being deleted.
func (g *Group) IsGoing() bool { return !g.Deleted.IsZero() }

// GroupNameOf returns the name of the pod group that the job's present pods are of: the one of the present attempt, or of the one in
// which the pods were created that were restarted in place since.
func GroupNameOf(job *v1alpha1.TrainingJob) string {
	return GroupName(job.Name, GroupAttempt(&job.Status))
}

// GroupAttempt returns the attempt whose pod group the present pods are of.
func GroupAttempt(status *v1alpha1.TrainingJobStatus) int32 {
	return ptr.Deref(status.Memory.GroupAttempt, status.Attempt)
}

// GroupName returns the name of the pod group of one attempt.
func GroupName(job string, attempt int32) string { return fmt.Sprintf("%s-%d", job, attempt) }

// PresentGroup returns the pod group of the present attempt, or nil. Of two groups it returns the one for the scheduler in force.
func (s *Snapshot) PresentGroup() *Group {
	var present *Group
	for i := range s.Gang.Groups {
		g := &s.Gang.Groups[i]
		if g.Name == GroupNameOf(s.Job) && (present == nil || g.Scheduler == s.Gang.Scheduler) {
			present = g
		}
	}
	return present
}

// keepScheduler puts the scheduler in force that has the present attempt's group: an operator that comes back with another
// default does not tear a gang apart. To change the scheduler, suspend the job: a suspended job has no group.
func (s *Snapshot) keepScheduler() {
	if group := s.PresentGroup(); group != nil && group.Scheduler != s.Gang.Scheduler {
		s.Gang.Scheduler, s.Gang.Unavailable = group.Scheduler, ""
	}
}

// IsGang reports whether the job's pods are scheduled all at once or not at all.
func (s *Snapshot) IsGang() bool {
	return s.Gang.Scheduler != "" && s.Gang.Scheduler != v1alpha1.GangNone
}

// GangTerms are on which terms a job's gang is scheduled.
type GangTerms struct {
	// Minimum is how many pods must fit at once.
	Minimum int32
	// Together is whether a preemption takes all pods or none: a collective is worth nothing without one of them.
	Together bool
	// Scheduling is the job's scheduling, with the priority class of its pods.
	Scheduling v1alpha1.Scheduling
}

// Object is anything that the API server keeps.
type Object interface {
	metav1.Object
	runtime.Object
}

// ObjectList is a list of such objects.
type ObjectList interface {
	metav1.ListInterface
	runtime.Object
}

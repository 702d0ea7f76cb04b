package state

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pod is what the operator knows of one pod of the job. Each group of its facts is made once, by one function: stayOf, runOf, endOf ...
type Pod struct {
	Name string
	UID  types.UID
	// Version is the pod's resourceVersion.
	Version string
	Slot    Slot
	// Number is the number of the pod's life; 0 if the pod was made by an operator without such numbers.
	Number int64
	Stay

	// Node is the pod's node; empty until it has one. Excludes are the nodes that were lost when the pod was created, and that it excludes.
	Node     string
	Excludes []string
	// Fenced is whether the pod was taken out of the job's Service.
	Fenced bool
	// HoldsVolume is whether the pod mounts a volume that may be writable on one node only: then it is never deleted by force.
	HoldsVolume bool
	// Hears is whether the pod was created with the file for checkpoint requests: spec.progress may change while it runs. Asked is what its
	// containers find in that file; empty for none.
	Hears  bool
	Asked  string
	Page   Page
	Checks Checks
	Run
	Gate
	Deletion
	End
}

// Run is how the pod runs.
type Run struct {
	// Phase is the pod's phase; Running while a container of a pod that is called Failed has yet to end.
	Phase corev1.PodPhase
	// Ready is whether the main container is ready and its node has not taken that back. Side-cars do not count.
	Ready bool
	// Waiting is why the pod does not run yet: Unschedulable, ImagePullBackOff, ...
	Waiting Trouble
	// Unhealthy is the broken device of a container.
	Unhealthy Trouble
	// Conditions are the types of the pod's own conditions that are True: all but those that every pod has.
	Conditions []string
	// Began is when the present process of the main container began, by its node's clock; zero if none runs. Between is whether the kubelet
	// has yet to start one, after one that has ended.
	Began   time.Time
	Between bool
}

// Deletion is the request to delete the pod; the zero value without one.
type Deletion struct {
	// Deleted is the time of the request. The API server moves it on when the kubelet confirms the deletion. EndsBy is the end of the grace period.
	Deleted, EndsBy time.Time
	// Finalizers are the first finalizers of the pod; empty for none.
	Finalizers string
	// ForceNext is the time before which the operator does not delete the pod by force again; zero if it has not done so.
	ForceNext time.Time
}

// CanRun reports whether a process of the pod may still run.
func (p *Pod) CanRun() bool { return !isEnd(p.Phase) }

// HasStarted reports whether the pod's containers have run in its present life.
func (p *Pod) HasStarted() bool {
	return p.Phase == corev1.PodRunning && !p.Restarting || !p.CanRun() && !p.NeverRan
}

// HasSucceeded reports whether the main container has exited with code 0 by itself, even if side-cars still run, or fail the pod. The exit code of a
// deleted pod shows neither success nor failure. The order of exit and deletion is unknown: the API server moves the time of a deletion on when the
// kubelet confirms it, and the clocks of nodes differ. An end before the deletion is already recorded.
func (p *Pod) HasSucceeded() bool {
	byMain := p.MainSucceeded && p.Exit == nil && p.Rejected.Reason == "" && p.Disruption.Reason == ""
	return (p.Phase == corev1.PodSucceeded || byMain) && p.Deleted.IsZero()
}

// RunsSideCars reports whether the main container has succeeded, and others of the pod run on.
func (p *Pod) RunsSideCars() bool { return p.HasSucceeded() && p.CanRun() && !p.Ended }

// HasEndedByItself reports whether the main container has ended for good, and the pod is not being deleted.
func (p *Pod) HasEndedByItself() bool {
	return p.Deleted.IsZero() && p.Scheduled() && (p.HasSucceeded() || !p.CanRun() || p.Exit != nil)
}

// Scheduled reports whether the pod has a node.
func (p *Pod) Scheduled() bool { return p.Node != "" }

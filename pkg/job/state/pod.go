package state

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pod is what the operator knows of one pod of the job.
type Pod struct {
	Name string
	UID  types.UID
	Slot Slot
	Life Life

	Node string
	// Phase is the pod's phase; Running while a container of a pod that is called Failed has yet to end.
	Phase corev1.PodPhase
	// Nominated is whether a node is expected for the pod: an autoscaler makes one, or other pods make way on one.
	Nominated bool
	// Ready is whether the main container is ready and its node has not taken that back. Side-cars do not count.
	Ready bool

	// Created is when the API server accepted the pod, or when the operator started its present life in place.
	Created time.Time
	// Deleted is the time of the request to delete the pod; zero without one. The API server moves it on when the kubelet confirms the
	// deletion.
	Deleted time.Time
	// EndsBy is the end of the grace period of the deletion; zero without one.
	EndsBy time.Time
	// Disruption is the reason of the DisruptionTarget condition, or of Kueue's: PreemptionByScheduler, EvictionByEvictionAPI, ...
	Disruption Trouble
	// Exit is the end of the container that decides, with an exit code other than 0, for good; nil if it has not ended so. That is the
	// main container, and of a pod that fails before it begins the init container that failed.
	Exit *Exit
	// EndSeen is when this process of the operator first saw Exit or Rejected; zero without both.
	EndSeen time.Time
	// SideExits are such ends of the other containers, earliest first. They break the replica only if a rule names the container.
	SideExits []Exit
	// MainSucceeded is whether the main container has exited with code 0.
	MainSucceeded bool
	// Ended is whether every container has ended for good. The kubelet reports this up to two seconds before the phase.
	Ended bool
	// NeverRan is whether the pod failed before any of its containers ran: it was deleted, its kubelet turned it away, or a controller
	// ended it before it had a node.
	NeverRan bool
	// Finished is when the last container ended; zero unless the pod has finished.
	Finished time.Time
	// Rejected is why the pod failed as a whole: Evicted, UnexpectedAdmissionError, ...
	Rejected Trouble
	// Unhealthy is the broken device of a container.
	Unhealthy Trouble
	// Waiting is why the pod does not run yet: Unschedulable, ImagePullBackOff, ...
	Waiting Trouble
	// Conditions are the types of the pod's own conditions that are True: all but those that every pod has.
	Conditions []string
	// Fenced is whether the pod was taken out of the job's Service.
	Fenced bool
	// Number is the number of the pod's life; 0 if the pod was made by an operator without such numbers.
	Number int64
	// Main is the main container's name, Process its id, and Image its image by digest if it can be started again in its pod. All are
	// empty of pods that are not made for it.
	Main, Process, Image string
	// Told is whether the operator has started a life in place, and Former the life before it.
	Told   bool
	Former Life
	// Restarting is whether that life is the present one, and the old process may still run.
	Restarting bool
	// Left is whether the operator has started another life in place, and the pod ended or lost its node without it.
	Left bool
	// RestartRefused is whether the API server has refused to have the pod restarted in place.
	RestartRefused bool
	// Hears is whether the pod was created with the file for checkpoint requests: spec.progress may change while it runs.
	Hears bool
	// Checking is whether a preflight check of the pod runs, Checked whether one has ended, and CheckedFor how long those that ended took.
	Checking, Checked bool
	CheckedFor        time.Duration
	// Page is the port at which the pod was created to serve its progress page; 0 for none. Address is the IP address at which the operator
	// may read it (AddressOf). OnHost is whether the pod is on the network of its node.
	Page    int32
	Address string
	OnHost  bool
	// Began is when the process of the main container began that runs, by its node's clock; zero if none runs. Between is whether the kubelet has
	// yet to start one, after one that has ended.
	Began   time.Time
	Between bool
	// Excludes are the nodes that were lost when the pod was created, and that it excludes.
	Excludes []string
	// Asked is what the pod's containers find in the file of requests to stop; empty for none.
	Asked string
	// ForceNext is the time before which the operator does not delete the pod by force again; zero if it has not done so.
	ForceNext time.Time
	// Finalizers are the first finalizers of a deleted pod; empty for none.
	Finalizers string
	// Version is the pod's resourceVersion.
	Version string
	// HoldsVolume is whether the pod mounts a volume that may be writable on one node only: then it is never
	// deleted by force.
	HoldsVolume bool
}

// Exit is a container's end.
type Exit struct {
	// Container is its name; Main is whether it is the main one, Side whether it is a side-car.
	Container  string
	Main, Side bool
	Code       int32
	Reason     string
	Message    string
	Time       time.Time
	// NeverReady is whether the pod was not ready at any time since the main container began.
	NeverReady bool
}

// CanRun reports whether a process of the pod may still run.
func (p *Pod) CanRun() bool {
	return p.Phase != corev1.PodSucceeded && p.Phase != corev1.PodFailed
}

// HasStarted reports whether the pod's containers have run in its present life.
func (p *Pod) HasStarted() bool {
	return p.Phase == corev1.PodRunning && !p.Restarting || !p.CanRun() && !p.NeverRan
}

// HasSucceeded reports whether the pod has exited with code 0 by itself. The exit code of a deleted pod shows neither success nor failure.
// The order of exit and deletion is unknown: the API server moves the time of a deletion on when the kubelet confirms it, and the clocks of
// nodes differ. An end before the deletion is already recorded.
//
// A pod whose main container exited with code 0 has succeeded, even if its side-cars still run, and even if the kubelet reports it as failed
// because of a side-car.
func (p *Pod) HasSucceeded() bool {
	byMain := p.MainSucceeded && p.Exit == nil && p.Rejected.Reason == "" && p.Disruption.Reason == ""
	return (p.Phase == corev1.PodSucceeded || byMain) && p.Deleted.IsZero()
}

// HasEndedByItself reports whether the main container has ended for good, and the pod is not being deleted.
func (p *Pod) HasEndedByItself() bool {
	return p.Deleted.IsZero() && p.Scheduled() && (p.HasSucceeded() || !p.CanRun() || p.Exit != nil)
}

// Scheduled reports whether the pod has a node.
func (p *Pod) Scheduled() bool { return p.Node != "" }

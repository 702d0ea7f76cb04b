package plan

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Why a pod is deleted: always one of these.
const (
	WhyPastLife     = "its life is past"
	WhySuspended    = "the job is suspended"
	WhyJobDeleted   = "the job is being deleted"
	WhyCleanUp      = "the job has finished"
	WhyDone         = "its main container has succeeded"
	WhyNotRestarted = "it has not restarted in place in time"
	WhyFormerJob    = "it belongs to an earlier job of the same name, on a lost node"
	WhyGroupGoing   = "its pod group is being deleted"
	WhyNodeIsBack   = "the nodes that it excludes are back"
)

// Step is one write to take: a CreateService, CreateSSHKey, CreateGroup, ResizeGroup, DeleteGroup, CreatePod, RestartPod,
// SetGate, EndPod, AskPod, FencePod, DeletePod or DeleteJob.
type Step interface {
	// String describes the step: "create j-worker-0".
	String() string
}

// Stage is when a step is taken. The stages follow each other: Prerequisites, Replicas.
type Stage int

// The stages.
const (
	// Replicas holds the steps on the pods of replicas, in parallel.
	Replicas Stage = iota
	// Prerequisites holds the objects that pods need to find each other and to form a gang, and the one pod that the others need.
	// They are created one after the other.
	Prerequisites
)

// StageOf returns the stage of a step.
func StageOf(step Step) Stage {
	switch step := step.(type) {
	case CreateService, CreateSSHKey, CreateGroup, ResizeGroup:
		return Prerequisites
	case CreatePod:
		return step.Stage
	}
	return Replicas
}

// CreateService creates the job's headless Service.
type CreateService struct{ Service *corev1.Service }

// CreateSSHKey creates the Secret of that name with a new key, unless there is one.
type CreateSSHKey struct{ Name string }

// CreateGroup creates the pod group of an attempt.
type CreateGroup struct{ Group state.Object }

// ResizeGroup patches the spec of the pod group of that kind and name if it still has that UID. It fails for a deleted group
// unless Going is true.
type ResizeGroup struct {
	Empty state.Object
	Name  string
	UID   types.UID
	Spec  map[string]any
	// Going is whether the group may be in deletion: one of its pods runs, and others can join it.
	Going bool
}

// DeleteGroup deletes the pod group of that kind and name if it still has that UID.
type DeleteGroup struct {
	Empty state.Object
	Name  string
	UID   types.UID
}

// FencePod takes the pod of that name out of the job's Service if it still has that UID.
type FencePod struct {
	Name string
	UID  types.UID
}

// AskPod writes the checkpoint request into the pod's annotation, from where its containers read it, if the pod still has that
// UID. Text is empty for no request.
type AskPod struct {
	Name string
	UID  types.UID
	Text string
}

// CreatePod creates the pod of one life of a slot. Pods builds the pod when it is written: all pods of a large job at once take
// gigabytes.
type CreatePod struct {
	Name      string
	Slot      state.Slot
	Life      state.Life
	Stage     Stage
	Placement *Placement
}

// RestartPod restarts the main container in its pod, if the pod still has that UID and resourceVersion. It gives the container
// another name of its image, so that the kubelet restarts it, and assigns the next life to the pod.
type RestartPod struct {
	Name, Version string
	UID           types.UID
	// Container is the main container, Image another name of its image.
	Container, Image string
	// Port is the leader's port in the attempt; 0 if the replicas do not meet at the leader's port.
	Port int32
	// Number is the number of the life.
	Number string
	Told   state.Told
	// OpensGate is whether the pod has a gate, which opens.
	OpensGate bool
}

// SetGate sets the gate of the pod to v1alpha1.GateOpen or v1alpha1.GateClosed, if it still has that UID and, unless Version is empty, that resourceVersion.
type SetGate struct {
	Name, Version, Value string
	UID                  types.UID
}

// EndPod has the kubelet end a pod whose main container has ended, if it still has that UID and resourceVersion: its log stays, and what it holds of the node is
// free.
type EndPod struct {
	Name, Version string
	UID           types.UID
}

// DeletePod deletes the pod of that name if it still has that UID.
type DeletePod struct {
	Name string
	UID  types.UID
	Why  string
	// Version is the resourceVersion that the pod must still have; empty for any.
	Version string
	// Grace is how many seconds the pod has to end; nil for its own grace period.
	Grace *int64
	// Force is whether the object is removed at once, because nothing is left to end the pod.
	Force bool
}

// DeleteJob deletes the job if it still has that UID.
type DeleteJob struct{ UID types.UID }

func (s CreateService) String() string { return "create service " + s.Service.Name }
func (s CreateSSHKey) String() string  { return "create secret " + s.Name }
func (s CreateGroup) String() string   { return "create group " + s.Group.GetName() }
func (s ResizeGroup) String() string   { return "resize group " + s.Name }
func (s DeleteGroup) String() string   { return "delete group " + s.Name }
func (s FencePod) String() string      { return "fence " + s.Name }
func (s AskPod) String() string        { return "set request of " + s.Name + ": " + cmp.Or(s.Text, "none") }
func (s CreatePod) String() string     { return "create " + s.Name }
func (s RestartPod) String() string    { return "restart " + s.Name + " in place" }
func (s SetGate) String() string       { return "set the gate of " + s.Name + " to " + s.Value }
func (s EndPod) String() string        { return "end " + s.Name }
func (s DeleteJob) String() string     { return "delete the job" }

func (s DeletePod) String() string {
	if s.Force {
		return "delete " + s.Name + " by force: " + s.Why
	}
	return "delete " + s.Name + ": " + s.Why
}

// Placement is what the new pods of one plan have in common besides their job.
type Placement struct {
	// Avoided are the nodes to which the pods prefer all others.
	Avoided []string
	// Excluded are the nodes on which they cannot run now.
	Excluded []string
	// Gang is the scheduler of the job's pod group.
	Gang v1alpha1.Gang
	// Gated is whether pods that can restart in place are kept when their process has ended.
	Gated bool
}

// maxPodWrites is the most pod writes that a plan holds. A reconcile with more would occupy its worker for minutes, and would not
// see what happens to the existing pods meanwhile.
const maxPodWrites = 2000

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
	case CreatePod, RestartPod, SetGate, EndPod, AskPod, FencePod, DeletePod:
		return true
	default:
		return false
	}
}

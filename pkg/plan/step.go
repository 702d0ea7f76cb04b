package plan

import (
	"cmp"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/pkg/state"
)

// Why a pod is deleted: one of these, nothing else.
const (
	WhyPastLife     = "its life is past"
	WhySuspended    = "the job is suspended"
	WhyCleanUp      = "the job has finished"
	WhyDone         = "its main container has succeeded"
	WhyNotRestarted = "it has not restarted in place in time"
	WhyFormerJob    = "it is of an earlier job of the same name, on a lost node"
	WhyGroupGoing   = "its pod group is being deleted"
	WhySpare        = "a spare is not needed, or makes way"
)

// Step is one write to take: a CreateService, CreateLease, CreateSSHKey, CreateGroup, ResizeGroup, DeleteGroup, CreatePod, RestartPod,
// AskPod, FencePod, DeletePod or DeleteJob.
type Step interface {
	// String describes the step: "create j-worker-0".
	String() string
}

// Stage is when a step is taken. The steps of a stage wait for the stages before it.
type Stage int

// The stages.
const (
	// Before: what the pods need to find each other and to be a gang, and the pod without which the others could do nothing, one step
	// after the other.
	Before Stage = iota
	// Together: what concerns the replicas, in parallel.
	Together
	// Then: the creation of replicas that take any node beside others that return to theirs, in parallel. A scheduler places first what
	// was there first: so none of them takes the place of one that returns.
	Then
	// After: the creation of spares, in parallel. What is refused of them holds up no replica.
	After
)

// StageOf returns the stage of a step.
func StageOf(step Step) Stage {
	switch step := step.(type) {
	case CreateService, CreateLease, CreateSSHKey, CreateGroup, ResizeGroup:
		return Before
	case CreatePod:
		switch {
		case step.Spare:
			return After
		case step.First:
			return Before
		case step.Last:
			return Then
		}
	}
	return Together
}

// CreateService creates the job's headless Service.
type CreateService struct{ Service *corev1.Service }

// CreateLease creates the job's progress Lease.
type CreateLease struct{ Lease *coordinationv1.Lease }

// CreateSSHKey creates the Secret of that name with a new key, unless there is one.
type CreateSSHKey struct{ Name string }

// CreateGroup creates the pod group of an attempt.
type CreateGroup struct{ Group state.Object }

// ResizeGroup patches the spec of the pod group of that kind and name if it still has that UID, and is not in deletion unless Going is
// true.
type ResizeGroup struct {
	Empty state.Object
	Name  string
	UID   types.UID
	Spec  map[string]any
	// Going is whether the group may be on its way out: a pod of it runs, and others can join it.
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

// AskPod has the containers of the pod find the text in the file of requests to stop, if the pod still has that UID; empty for no request.
type AskPod struct {
	Name string
	UID  types.UID
	Text string
}

// CreatePod creates the pod of one life of a slot, or the role's Index-th spare. Pods builds it when it is written: all pods
// of a large job at once take gigabytes.
type CreatePod struct {
	Name  string
	Slot  state.Slot
	Life  state.Life
	Spare bool
	// First is whether the pod is created before the others: the scheduler then gives it a node first.
	First bool
	// Last is whether it is created after the others.
	Last bool
	// Home is the node of the slot's life before, which the pod takes if it can; empty for none.
	Home      string
	Placement *Placement
}

// RestartPod lets the kubelet start the main container again in the pod, if the pod still has that UID and resourceVersion. It gives the
// container another name of its image, and writes the new life into the pod.
type RestartPod struct {
	Name, Version string
	UID           types.UID
	// Container is the main container, Image another name of its image.
	Container, Image string
	// Port is the leader's in the attempt; 0 if the replicas do not meet at a port of the leader.
	Port int32
	// Number is the number of the life.
	Number string
	Told   state.Told
}

// DeletePod deletes the pod of that name if it still has that UID.
type DeletePod struct {
	Name string
	UID  types.UID
	Why  string
	// Version is the resourceVersion that the pod must still have; empty if any will do.
	Version string
	// Grace is how many seconds the pod has to end; nil for its template's time.
	Grace *int64
	// Force is whether the object must go at once, because no kubelet can end the pod.
	Force bool
}

// DeleteJob deletes the job if it still has that UID.
type DeleteJob struct{ UID types.UID }

func (s CreateService) String() string { return "create service " + s.Service.Name }
func (s CreateLease) String() string   { return "create lease " + s.Lease.Name }
func (s CreateSSHKey) String() string  { return "create secret " + s.Name }
func (s CreateGroup) String() string   { return "create group " + s.Group.GetName() }
func (s ResizeGroup) String() string   { return "resize group " + s.Name }
func (s DeleteGroup) String() string   { return "delete group " + s.Name }
func (s FencePod) String() string      { return "fence " + s.Name }
func (s AskPod) String() string        { return "ask " + s.Name + ": " + cmp.Or(s.Text, "nothing any more") }
func (s CreatePod) String() string     { return "create " + s.Name }
func (s RestartPod) String() string    { return "restart " + s.Name + " in place" }
func (s DeleteJob) String() string     { return "delete the job" }

func (s DeletePod) String() string {
	if s.Force {
		return "delete " + s.Name + " by force: " + s.Why
	}
	return "delete " + s.Name + ": " + s.Why
}

package local

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/kubelet"
)

// Fault is what the user breaks.
type Fault struct {
	// After is how long after all replicas ran for the first time.
	After time.Duration
	// Replica is the replica to break, as "worker-1"; Node the node to lose. One of them is set.
	Replica, Node string
	// Exit is the exit code that the replica's pod shows; nil for a kill. Freeze is whether its processes stop and stay.
	Exit   *int32
	Freeze bool
}

// String returns what happens, in the words of the screen.
func (f *Fault) String() string {
	switch {
	case f.Node != "":
		return "the power of " + f.Node + " is off"
	case f.Freeze:
		return f.Replica + " hangs (SIGSTOP)"
	case f.Exit != nil:
		return fmt.Sprintf("%s exits with code %d", f.Replica, *f.Exit)
	default:
		return f.Replica + " is killed (SIGKILL)"
	}
}

// breakAll makes the faults that are due. A fault whose replica does not run waits until it does.
func (r *run) breakAll() {
	if r.ran.IsZero() && meta.IsStatusConditionTrue(r.job().Status.Conditions, v1alpha1.ConditionRunning) {
		r.ran = time.Now()
	}
	if r.ran.IsZero() {
		return
	}
	var left []Fault
	for _, f := range r.faults {
		if time.Since(r.ran) < f.After || !r.make(&f) {
			left = append(left, f)
		}
	}
	r.faults = left
}

// make makes a fault, and reports whether it could.
func (r *run) make(f *Fault) bool {
	if f.Node != "" {
		r.Screen.Say("you", f.String())
		r.loseNode(f.Node)
		return true
	}
	for _, pod := range r.pods() {
		slot, _, ok := state.ParsePodName(r.Job.Name, pod.Name)
		if !ok || slot.String() != f.Replica || pod.DeletionTimestamp != nil {
			continue
		}
		process, runs := r.kubelet.Process(pod.UID, state.MainContainer(pod))
		if !runs {
			continue
		}
		r.Screen.Say("you", f.String())
		breakProcess(f, process)
		return true
	}
	return false
}

func breakProcess(f *Fault, process kubelet.Fault) {
	switch {
	case f.Freeze:
		process.Freeze()
	case f.Exit != nil:
		process.Exit(ptr.Deref(f.Exit, 0))
	default:
		process.Kill()
	}
}

// nextFault returns the time of the next fault; zero if none is due later.
func (r *run) nextFault() time.Time {
	var next time.Time
	for _, f := range r.faults {
		if at := r.ran.Add(f.After); !r.ran.IsZero() && at.After(time.Now()) {
			next = state.Earliest(next, at)
		}
	}
	return next
}

package logs

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/advice"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Cluster is where the logs are.
type Cluster interface {
	Opener
	// See returns the job and its pods as they are now, and a channel that is closed when that may have changed.
	See() (Scene, <-chan struct{})
	// Pod returns the pod of that name and UID as it is now; nil if it is gone.
	Pod(name string, uid types.UID) *corev1.Pod
}

// Scene is a job and its pods at one moment. Gone is whether the job was deleted.
type Scene struct {
	Job  *v1alpha1.TrainingJob
	Pods []corev1.Pod
	Gone bool
}

// Request is what to read and where it goes.
type Request struct {
	Choice
	// Reader is the job as its user names it.
	Reader advice.Reader
	// Follow goes on until the job has finished.
	Follow bool
	// Tail leaves out all but the last lines of each pod that is there at the beginning; negative for none.
	Tail int64
	// From leaves out what is older; zero for none.
	From time.Time
	// Container is read in each pod; empty for the main one.
	Container string
	// Print prints a line. Its error ends everything.
	Print func(*Source, Line) error
	// Say shows a message to the user that is not a line.
	Say func(string)
}

// isOver reports whether no new pods come.
func isOver(s Scene) bool {
	return s.Gone || state.HasFinished(s.Job)
}

// containerOf returns the name of the container that is read.
func (r *Request) containerOf(pod *corev1.Pod) string {
	return cmp.Or(r.Container, state.MainContainer(pod))
}

// Package ledger holds what must be true of every history of jobs and their pods, whatever a test is about: each version
// that a watch shows is entered in order, and each sentence that does not hold is noted. The numbers in the sentences are
// the invariants': 1 identity, 2 uniqueness, 3 fence, 4 no work without cause, 5 bounds, 8 exactly once, 9 monotone,
// 10 final, 11 phase, 12 earned verdicts, 13 success is not lost, 14 back-off, 15 rendezvous, 21 asked.
//
// The rules of one version, of two versions in a row and of two pods that may meet (First, Statuses, Identity, Meeting) need no
// history: the simulator's checker asks them too.
package ledger

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Observation is one version of a job, a pod or a Workload of Kueue. All kinds live in one etcd, so revisions order them.
type Observation struct {
	Revision uint64
	// At is when the watch brought it; the ledger does not ask for it.
	At    time.Time
	Event watch.EventType
	Job   *v1alpha1.TrainingJob
	Pod   *corev1.Pod
	// Workload is read by Quota alone.
	Workload *unstructured.Unstructured
}

// Violations replays a history and returns every sentence of the ledger that it breaks.
func Violations(seen []Observation) []string {
	l := New()
	for _, o := range seen {
		l.Enter(o)
	}
	return l.Broken
}

// New returns the ledger of a namespace in which nothing has happened yet.
func New() *Ledger {
	return &Ledger{jobs: map[types.UID]*account{}, pods: map[types.UID]*corev1.Pod{}}
}

// Enter enters what happened next.
func (l *Ledger) Enter(o Observation) {
	switch {
	case o.Workload != nil:
	case o.Job != nil:
		l.job(o.Job)
	case o.Event == watch.Deleted:
		delete(l.pods, o.Pod.UID)
	default:
		l.pod(o.Pod, o.Event == watch.Added)
	}
}

// Ledger is the state of a namespace at one revision of its history.
type Ledger struct {
	sentences
	jobs map[types.UID]*account
	pods map[types.UID]*corev1.Pod
}

// sentences are those that did not hold.
type sentences struct {
	// Broken holds every sentence that did not hold, with names.
	Broken []string
}

// account is what the ledger knows of one job.
type account struct {
	now *v1alpha1.TrainingJob
	// suspended says whether the job was suspended at some time: then a life may begin more than once.
	suspended bool
	// mostReplicas is by role the largest number of replicas that the job ever had.
	mostReplicas map[v1alpha1.Role]int32
	// began holds the names of pods that have run; succeeded the slots that have, in the attempt given.
	began     map[string]bool
	succeeded map[string]int
	creations int
	// numbers are by slot the life numbers of its pods that have had a node.
	numbers map[string]map[types.UID]int64
	// rendezvous is by attempt and variable what all pods of the attempt must agree on; ranks is by attempt whose rank it is.
	rendezvous map[string]string
	ranks      map[string]string
}

func (s *sentences) must(holds bool, format string, args ...any) {
	if !holds {
		s.Broken = append(s.Broken, fmt.Sprintf(format, args...))
	}
}

// hasSlot reports whether the job has the place: what scaling takes away and brings back begins anew.
func hasSlot(spec *v1alpha1.TrainingJobSpec, slot string) bool {
	role, index, _ := strings.Cut(slot, "-")
	i, err := strconv.Atoi(index)
	return err == nil && i < int(spec.Replicas(roleOf(role)))
}

// job enters a version of a job.
func (l *Ledger) job(job *v1alpha1.TrainingJob) {
	a := l.jobs[job.UID]
	if a == nil {
		a = &account{now: job, mostReplicas: map[v1alpha1.Role]int32{}, began: map[string]bool{},
			succeeded: map[string]int{}, rendezvous: map[string]string{}, ranks: map[string]string{},
			numbers: map[string]map[types.UID]int64{}}
		l.jobs[job.UID] = a
		l.Broken = append(l.Broken, First(job)...)
	}
	for role := range job.Spec.ReplicaSpecs {
		a.mostReplicas[role] = max(a.mostReplicas[role], job.Spec.Replicas(role))
	}
	maps.DeleteFunc(a.succeeded, func(slot string, _ int) bool { return !hasSlot(&job.Spec, slot) })
	a.suspended = a.suspended || job.Spec.IsSuspended()
	l.Broken = append(l.Broken, Statuses(&a.now.Status, &job.Status, job)...)
	a.now = job
}

package state

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Observed is what was read of a job and its surroundings in one pass. New makes a Snapshot of it.
type Observed struct {
	Now time.Time
	Job *v1alpha1.TrainingJob
	// Pods are the job's pods of every life, by slot and life.
	Pods []Pod
	// Former are the pods of an earlier job of the same name that are not gone yet: they hold the names of the job's own. Their
	// Slot and Life say nothing.
	Former []Pod
	// Found are pods that the API server has and the cache lacks. Absent are the names of pods that neither has.
	Found  []Pod
	Absent map[string]bool
	// Foreign is the pod of a life that the job never had, as the API server confirms: another client created it in the job's name. It is
	// empty if there is none.
	Foreign string
	// Gone are the last versions of pods that had a node and are gone, as far as this process has seen them go.
	Gone []Pod
	// Ended are the versions of pods, by UID, in which they had ended and were not deleted yet, as far as this process has seen them.
	Ended map[types.UID]Pod
	// IsLocal is whether the job runs without a cluster, where no command of kubectl works.
	IsLocal bool
	// KeepsEnded is whether pods that can restart in place are kept when their process has ended.
	KeepsEnded bool
	// FirstLook is whether this process has not written the job's status yet: pods may have come, run and gone that it has not seen.
	FirstLook bool
	// HasService is whether the job's headless Service exists.
	HasService bool
	// Refusal is why the API server would not take a child of the job; nil if it took all of them.
	Refusal *Refusal
	// Crowded is whether a quota that counts pods which have ended has refused a pod in the job's namespace lately, perhaps of another job.
	Crowded bool
	// Nodes are the nodes in trouble that hold pods of the job: those that are lost, or will be, and those that the pods are to leave.
	Nodes []Node
	// NotReady is since when each node of the cluster that is not ready has not been, and AllNodes is how many nodes there are;
	// they are read only if a node that holds pods of the job is not ready.
	NotReady []time.Time
	AllNodes int
	// LostAfter is how long a node must have been not ready for its pods to count as lost.
	LostAfter time.Duration
	// MaxCheckpointWait bounds progress.checkpointGraceSeconds: an administrator wants preempted nodes back.
	MaxCheckpointWait time.Duration
	// UnhealthyNodes are the unhealthy nodes, sorted: 64 at most. They are read only if pods are to be placed.
	UnhealthyNodes []string
	// Seen is what the reads have shown that earlier plans wanted, and Progress the report of it that counts.
	Seen     Seen
	Progress Progress
	// Gang is what is known of the job's pod groups.
	Gang Gang
	// Recorded is when this process last wrote the job's status; zero if it has not.
	Recorded time.Time
}

// Refusal is a permanent error of the API server on a child of the job.
type Refusal struct {
	// Reason is a reason of the condition Stalled; empty if a name is not free yet, which passes by itself.
	Reason string
	// Message is the API server's own sentence.
	Message string
	// Pods are the names of the pods that were refused: only they wait for the next try. It is nil if what all pods need was refused.
	Pods map[string]bool
	// Since is when it was first refused, of refusals in a row.
	Since time.Time
	// Retry is when to try again.
	Retry time.Time
	// Reported is whether an Event was written about it.
	Reported bool
}

// RefusalOf returns why the API server refuses the replica's pod, for example because of a quota; nil if it does not, or if that passes by itself.
func (s *Snapshot) RefusalOf(r *Replica) *Refusal {
	refusal := s.Refusal
	if r.Pod != nil || refusal == nil || refusal.Reason == "" || refusal.Pods != nil && !refusal.Pods[PodName(s.Job.Name, r.Slot, r.Life)] {
		return nil
	}
	return refusal
}

// Delays reports whether the pod of that name has to wait for the next try. Of a nil Refusal it returns false.
func (r *Refusal) Delays(pod string, now time.Time) bool {
	return r.Pends(now) && (r.Pods == nil || r.Pods[pod])
}

// Pends reports whether it is not yet time to try again. Of a nil Refusal it returns false.
func (r *Refusal) Pends(now time.Time) bool { return r != nil && now.Before(r.Retry) }

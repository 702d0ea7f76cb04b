//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// violations replays a history and returns every sentence of the ledger that it breaks.
func violations(seen []observation) []string {
	l := &ledger{jobs: map[types.UID]*account{}, pods: map[types.UID]*corev1.Pod{}}
	for _, o := range seen {
		switch {
		case o.job != nil:
			l.job(o.job)
		case o.event == watch.Deleted:
			delete(l.pods, o.pod.UID)
		default:
			l.pod(o.pod, o.event == watch.Added)
		}
	}
	return l.broken
}

// ledger is the state of a namespace at one revision of its history.
type ledger struct {
	jobs   map[types.UID]*account
	pods   map[types.UID]*corev1.Pod
	broken []string
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
	// rendezvous is by attempt and variable what all pods of the attempt must agree on; ranks is by attempt whose rank it is.
	rendezvous map[string]string
	ranks      map[string]string
}

func (l *ledger) must(holds bool, format string, args ...any) {
	if !holds {
		l.broken = append(l.broken, fmt.Sprintf(format, args...))
	}
}

// job enters a version of a job.
func (l *ledger) job(job *v1alpha1.TrainingJob) {
	a := l.jobs[job.UID]
	if a == nil {
		a = &account{now: job, mostReplicas: map[v1alpha1.Role]int32{}, began: map[string]bool{},
			succeeded: map[string]int{}, rendezvous: map[string]string{}, ranks: map[string]string{}}
		l.jobs[job.UID] = a
		l.must(job.Status.Attempt == 0 && job.Status.Restarts == 0, "9 inheritance: %s began with attempt %d and %d restarts", job.Name, job.Status.Attempt, job.Status.Restarts)
	}
	for role := range job.Spec.ReplicaSpecs {
		a.mostReplicas[role] = max(a.mostReplicas[role], job.Spec.Replicas(role))
	}
	a.suspended = a.suspended || job.Spec.Suspend
	l.monotone(&a.now.Status, &job.Status, job.Name)
	l.final(&a.now.Status, &job.Status, job.Name)
	l.phase(&a.now.Status, &job.Status, job.Name)
	a.now = job
}

// monotone says that what is counted never falls.
func (l *ledger) monotone(was, is *v1alpha1.TrainingJobStatus, name string) {
	for _, c := range []struct {
		counter string
		was, is int64
	}{
		{"attempt", int64(was.Attempt), int64(is.Attempt)},
		{"restarts", int64(was.Restarts), int64(is.Restarts)},
		{"billedRestarts (what was given back included)", int64(was.BilledRestarts), int64(is.BilledRestarts) + givenBack(was, is)},
		{"observedGeneration", was.ObservedGeneration, is.ObservedGeneration},
		{"suspendedSeconds", was.SuspendedSeconds, is.SuspendedSeconds},
	} {
		l.must(c.is >= c.was, "9 monotone: %s of %s fell from %d to %d", c.counter, name, c.was, c.is)
	}
	for role, r := range was.ReplicaStatuses {
		if now, there := is.ReplicaStatuses[role]; there {
			l.must(now.Restarts >= r.Restarts, "9 monotone: restarts of %s of %s fell from %d to %d", role, name, r.Restarts, now.Restarts)
		}
	}
	l.must(is.BilledRestarts <= is.Restarts, "8 exactly once: %s is billed %d of %d restarts", name, is.BilledRestarts, is.Restarts)
	l.must(is.Attempt <= is.Restarts, "8 exactly once: %s is in attempt %d after %d restarts", name, is.Attempt, is.Restarts)
}

// final says that a verdict is one of two, earned, and the last word.
func (l *ledger) final(was, is *v1alpha1.TrainingJobStatus, name string) {
	holds := func(s *v1alpha1.TrainingJobStatus, c string) bool { return meta.IsStatusConditionTrue(s.Conditions, c) }
	succeeded, failed, finished := holds(is, v1alpha1.ConditionSucceeded), holds(is, v1alpha1.ConditionFailed), holds(is, v1alpha1.ConditionFinished)
	l.must(!succeeded || !failed, "10 final: %s has succeeded and failed", name)
	l.must(finished == (succeeded || failed), "10 final: %s is Finished %v, Succeeded %v, Failed %v", name, finished, succeeded, failed)
	l.must(finished == (is.CompletionTime != nil), "10 final: %s is Finished %v with completionTime %v", name, finished, is.CompletionTime)
	if failed && is.Reason != v1alpha1.ReasonDeadlineExceeded {
		l.must(is.FirstFailure != nil, "12 verdicts are earned: %s failed with %s and no firstFailure", name, is.Reason)
	}
	if !holds(was, v1alpha1.ConditionFinished) {
		return
	}
	l.must(succeeded == holds(was, v1alpha1.ConditionSucceeded) && failed == holds(was, v1alpha1.ConditionFailed), "10 final: the verdict on %s changed", name)
	l.must(was.CompletionTime.Equal(is.CompletionTime), "10 final: completionTime of %s changed", name)
	l.must(was.Attempt == is.Attempt && was.Restarts == is.Restarts && was.BilledRestarts == is.BilledRestarts, "10 final: counters of %s changed after its end", name)
}

// nextPhases are the edges of the state graph.
var nextPhases = map[v1alpha1.Phase][]v1alpha1.Phase{
	"":                       {v1alpha1.PhaseCreated, v1alpha1.PhasePending, v1alpha1.PhaseSuspended},
	v1alpha1.PhaseCreated:    {v1alpha1.PhasePending, v1alpha1.PhaseRunning, v1alpha1.PhaseRestarting, v1alpha1.PhaseSuspended, v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed},
	v1alpha1.PhasePending:    {v1alpha1.PhaseRunning, v1alpha1.PhaseRestarting, v1alpha1.PhaseSuspended, v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed},
	v1alpha1.PhaseRunning:    {v1alpha1.PhaseRestarting, v1alpha1.PhaseSuspended, v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed},
	v1alpha1.PhaseRestarting: {v1alpha1.PhaseRunning, v1alpha1.PhaseSuspended, v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed},
	v1alpha1.PhaseSuspended:  {v1alpha1.PhaseCreated, v1alpha1.PhasePending, v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed},
	v1alpha1.PhaseSucceeded:  {},
	v1alpha1.PhaseFailed:     {},
}

// phase says that the phase is what the conditions add up to, and follows the state graph.
func (l *ledger) phase(was, is *v1alpha1.TrainingJobStatus, name string) {
	l.must(is.Phase == was.Phase || slices.Contains(nextPhases[was.Phase], is.Phase), "11 phase: %s went from %q to %q", name, was.Phase, is.Phase)
	for condition, phase := range map[string]v1alpha1.Phase{
		v1alpha1.ConditionSucceeded: v1alpha1.PhaseSucceeded, v1alpha1.ConditionFailed: v1alpha1.PhaseFailed,
		v1alpha1.ConditionSuspended: v1alpha1.PhaseSuspended, v1alpha1.ConditionRunning: v1alpha1.PhaseRunning,
		v1alpha1.ConditionRestarting: v1alpha1.PhaseRestarting,
	} {
		l.must(meta.IsStatusConditionTrue(is.Conditions, condition) == (is.Phase == phase), "11 phase: %s is %q with condition %s %v", name, is.Phase, condition,
			meta.IsStatusConditionTrue(is.Conditions, condition))
	}
	for i := range is.Conditions {
		c := &is.Conditions[i]
		before := meta.FindStatusCondition(was.Conditions, c.Type)
		l.must(before == nil || before.Status != c.Status || before.LastTransitionTime.Equal(&c.LastTransitionTime),
			"11 phase: lastTransitionTime of %s of %s moved without its status", c.Type, name)
	}
}

// pod enters a version of a pod that a job controls or controlled.
func (l *ledger) pod(pod *corev1.Pod, created bool) {
	ref := metav1.GetControllerOf(pod)
	if ref != nil && ref.Kind == v1alpha1.Kind {
		if a, known := l.jobs[ref.UID]; known {
			if isSpare(ref.Name, pod.Name) {
				l.spare(a, pod, created)
				return
			}
			is, named := lifeOf(ref.Name, pod.Name)
			l.must(named, "1 identity: %s is no name of a pod of %s", pod.Name, ref.Name)
			if named && created {
				l.birth(a, pod, is)
			}
			a.began[pod.Name] = a.began[pod.Name] || pod.Status.Phase != corev1.PodPending
			if pod.Status.Phase == corev1.PodSucceeded && pod.DeletionTimestamp == nil {
				a.succeeded[is.slot()] = is.attempt
			}
		} else {
			l.must(false, "1 identity: %s belongs to a job that never was", pod.Name)
		}
	}
	l.pods[pod.UID] = pod
}

func roleOf(lower string) v1alpha1.Role {
	for _, role := range v1alpha1.Roles {
		if string(role[0]|0x20)+string(role[1:]) == lower || (role == v1alpha1.PS && lower == "ps") {
			return role
		}
	}
	return v1alpha1.Role(lower)
}

// isCollective reports whether a whole-job restart runs succeeded ranks again, as the others cannot meet without them.
func isCollective(spec *v1alpha1.TrainingJobSpec) bool {
	_, hasPS := spec.ReplicaSpecs[v1alpha1.PS]
	return spec.Framework != v1alpha1.Custom && !hasPS
}

// givenBack returns how many charged restarts were explained, and so given back, from one version to the next.
func givenBack(was, is *v1alpha1.TrainingJobStatus) int64 {
	var n int64
	for i := range is.Incidents {
		now := &is.Incidents[i]
		charged := slices.ContainsFunc(was.Incidents, func(o v1alpha1.Incident) bool {
			return o.Billed && !o.Explained && o.RestartTime.Equal(&now.RestartTime)
		})
		if now.Explained && !now.Billed && charged {
			n++
		}
	}
	return n
}

// restartsOf returns the sum of what the roles' statuses count.
func restartsOf(status *v1alpha1.TrainingJobStatus) int32 {
	var sum int32
	for role := range maps.Values(status.ReplicaStatuses) {
		sum += role.Restarts
	}
	return sum
}

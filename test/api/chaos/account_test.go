//go:build chaos

package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/ledger"
)

// account is what happened to one job and its pods, by the tape.
type account struct {
	job *v1alpha1.TrainingJob
	// finished says whether the job had its verdict; what its pods do afterwards is nobody's incident.
	finished, deleted bool
	// joined is how many replicas ended as part of another replica's incident.
	joined int32
	pods   []*entry
	byUID  map[types.UID]*entry
}

// entry is what happened to one pod.
type entry struct {
	pod  *corev1.Pod
	life ledger.Life
	gone bool
	fate fate
}

// fate is how a pod ended.
type fate string

const (
	alive     fate = "lives"
	succeeded fate = "succeeded"
	// exited: its container failed.
	exited fate = "failed"
	// removed: deleted before it had ended, by the operator or by somebody else.
	removed fate = "was removed"
	// outlived: the job had finished before.
	outlived fate = "outlived its job"
)

// book enters an observation into the account of its job.
func (t *tape) book(o ledger.Observation) {
	if o.Job != nil {
		a := t.account(o.Job.UID)
		if a.job != nil {
			a.joined += int32(ledger.Joined(&a.job.Status, &o.Job.Status))
		}
		a.job, a.deleted = o.Job, o.Event == watch.Deleted
		a.finished = a.finished || meta.IsStatusConditionTrue(o.Job.Status.Conditions, v1alpha1.ConditionFinished)
		return
	}
	ref := ledger.OwnerOf(o.Pod)
	if ref == nil {
		return
	}
	a := t.account(ref.UID)
	e := a.byUID[o.Pod.UID]
	if e == nil {
		e = &entry{fate: alive}
		e.life, _ = ledger.LifeOf(ref.Name, o.Pod.Name)
		a.pods, a.byUID[o.Pod.UID] = append(a.pods, e), e
	}
	e.pod, e.gone = o.Pod, o.Event == watch.Deleted
	if e.fate == alive {
		e.fate = fateOf(o, a.finished)
	}
}

// fateOf says how the pod has ended. The first version that tells it counts: one that was being deleted before its containers
// had ended was removed, whatever they ended with.
func fateOf(o ledger.Observation, finished bool) fate {
	switch ended := o.Event == watch.Deleted || ledger.HasEnded(o.Pod); {
	case !ended:
		return alive
	case finished:
		return outlived
	case o.Pod.DeletionTimestamp != nil || !ledger.HasEnded(o.Pod):
		return removed
	case hasFailed(o.Pod):
		return exited
	default:
		return succeeded
	}
}

// hasFailed reports whether a pod that has ended did so with another exit code than 0.
func hasFailed(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.State.Terminated != nil && c.State.Terminated.ExitCode != 0
	})
}

func (t *tape) account(job types.UID) *account {
	a := t.accounts[job]
	if a == nil {
		a = &account{byUID: map[types.UID]*entry{}}
		t.accounts[job] = a
	}
	return a
}

// each runs on every account while the tape stands still.
func (t *tape) each(do func(*account)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range t.accounts {
		if a.job != nil {
			do(a)
		}
	}
}

// tally is what a job's status must count.
type tally struct {
	attempt, restarts int32
	// Of an attempt in which one pod failed and another was deleted, either may have been the first: charged or not. Nor is an exit charged that comes
	// before the API server has taken all pods of the attempt: the rank may have waited for its peers in vain.
	leastCharged, mostCharged int32
}

// waitedInVain reports whether a pod of the attempt was made no sooner than in the second in which the first of them failed.
func (a *account) waitedInVain(attempt int) bool {
	var failed, made time.Time
	for _, e := range a.pods {
		if e.life.Attempt != attempt {
			continue
		}
		if at := e.pod.CreationTimestamp.Time; at.After(made) {
			made = at
		}
		for i := range e.pod.Status.ContainerStatuses {
			if end := e.pod.Status.ContainerStatuses[i].State.Terminated; e.fate == exited && end != nil && (failed.IsZero() || end.FinishedAt.Time.Before(failed)) {
				failed = end.FinishedAt.Time
			}
		}
	}
	return !failed.IsZero() && !made.Before(failed)
}

// truth counts what happened to a job's pods. Where replicas are replaced one by one, each that broke is a restart, but for those that failed
// within seconds of another one; where the whole job restarts, each attempt in which any broke.
func (a *account) truth(wasLost func(*corev1.Pod) bool, whole bool) tally {
	var t tally
	exits, losses := map[int]int32{}, map[int]int32{}
	for _, e := range a.pods {
		switch {
		case e.fate == exited:
			exits[e.life.Attempt]++
		case (e.fate == removed || e.fate == alive) && wasLost(e.pod):
			losses[e.life.Attempt]++
		}
		t.attempt = max(t.attempt, int32(e.life.Attempt))
	}
	for attempt := range int(t.attempt) + 1 {
		exit, loss := exits[attempt], losses[attempt]
		if whole {
			exit, loss = min(exit, 1), min(loss, 1)
		}
		switch {
		case whole && exit == 1 && (loss == 1 || a.waitedInVain(attempt)):
			t.restarts, t.mostCharged = t.restarts+1, t.mostCharged+1
		default:
			t.restarts, t.leastCharged, t.mostCharged = t.restarts+exit+loss, t.leastCharged+exit, t.mostCharged+exit
		}
	}
	if !whole {
		t.restarts, t.leastCharged, t.mostCharged = t.restarts-a.joined, t.leastCharged-a.joined, t.mostCharged-a.joined
	}
	return t
}

// stillThere returns the names of the job's pods that have not ended.
func (a *account) stillThere() []string {
	var names []string
	for _, e := range a.pods {
		if !e.gone && ledger.CanRun(e.pod) {
			names = append(names, e.pod.Name)
		}
	}
	return names
}

// twice returns what more than one pod was called, or which lives were left out.
func (a *account) twice() []string {
	var wrong []string
	seen := map[string]bool{}
	for _, e := range a.pods {
		if seen[e.pod.Name] {
			wrong = append(wrong, e.pod.Name+" was made twice")
		}
		seen[e.pod.Name] = true
	}
	return wrong
}

// String tells the account as a story.
func (a *account) String() string {
	var text strings.Builder
	s := &a.job.Status
	fmt.Fprintf(&text, "%s: %s, attempt %d, %d restarts, %d charged (%s: %s)\n", a.job.Name, s.Phase, s.Attempt, s.Restarts, s.ChargedRestarts, s.Reason, s.Message)
	pods := slices.Clone(a.pods)
	slices.SortStableFunc(pods, func(a, b *entry) int { return strings.Compare(a.life.Slot(), b.life.Slot()) })
	for _, e := range pods {
		fmt.Fprintf(&text, "  %s (%s) %s", e.pod.Name, e.pod.UID, e.fate)
		for _, c := range e.pod.Status.ContainerStatuses {
			if c.State.Terminated != nil {
				fmt.Fprintf(&text, " with %d", c.State.Terminated.ExitCode)
			}
		}
		switch {
		case e.gone:
			text.WriteString(", gone")
		case e.pod.DeletionTimestamp != nil:
			text.WriteString(", being deleted")
		}
		text.WriteString("\n")
	}
	return text.String()
}

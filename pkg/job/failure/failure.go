package failure

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Find returns the failures in the job's present lives, the first cause first, each with the cause and scope of its restart.
func Find(s *state.Snapshot) []Restart {
	var found []Restart
	for r := range s.Replicas() {
		if r.IsBroken() {
			found = append(found, RestartOf(s, r))
		}
	}
	inOrder(found)
	return found
}

// causesInOrder lists the causes. Of two failures in one second, the one whose cause comes first here explains the other one.
var causesInOrder = []v1alpha1.Cause{
	v1alpha1.CauseInfrastructure, v1alpha1.CausePreempted, v1alpha1.CauseOOM,
	v1alpha1.CauseRetryable, v1alpha1.CauseHang, v1alpha1.CauseStartup, v1alpha1.CauseFatal, v1alpha1.CauseCompleted,
}

// RestartOf returns the restart for a broken replica.
func RestartOf(s *state.Snapshot, r *state.Replica) Restart {
	scope := ScopeOf(&s.Job.Spec, r.Slot)
	p := cmp.Or(r.Pod, r.Last)
	if p == nil {
		f := At(s, r, v1alpha1.CauseInfrastructure, v1alpha1.ReasonVanished, "its pod is gone without a trace")
		if mayGoOn := state.KeepsPods(s.Job); !mayGoOn || r.Life.Attempt == 0 || r.Life.Replacement > 0 {
			f.Pod = state.PodName(s.Job.Name, r.Slot, r.Life) // else its pod may be from an earlier attempt and have restarted in place
		}
		return NewRestart(s, f, scope, nil)
	}
	f := ofPod(s, p)
	if f.Cause == v1alpha1.CauseCompleted || IsLoss(f.Cause) && !p.CanRun() && !s.HasRun(p) { // its peers have lost nothing
		scope = v1alpha1.ScopeReplica
	}
	return NewRestart(s, f, scope, p)
}

func ofPod(s *state.Snapshot, p *state.Pod) v1alpha1.Failure {
	f := v1alpha1.Failure{
		Role: p.Slot.Role, Index: int32(p.Slot.Index), Attempt: int32(p.Life.Attempt), Replacement: int32(p.Life.Replacement), Pod: p.Name, Node: p.Node,
		Cause: causeOf(s, p), Time: metav1.NewTime(brokeAt(s, p)),
	}
	switch {
	case IsLoss(f.Cause):
		why, _ := takenAway(s, p)
		f.Reason, f.Message = why.Reason, cmp.Or(why.Message, p.Rejected.Message)
	case p.Exit != nil && (p.Rejected.Reason == "" || f.Cause == v1alpha1.CauseOOM):
		f.Reason, f.Message = p.Exit.Reason, p.Exit.Message
	default:
		f.Reason, f.Message = cmp.Or(p.Rejected.Reason, "Completed"), p.Rejected.Message
	}
	if p.Exit != nil {
		f.ExitCode = &p.Exit.Code
		if !p.Exit.Main {
			f.Container = p.Exit.Container
		}
	}
	readTable(&f)
	f.Message = explained(&f)
	return f
}

// Describe returns the failure as a clause: "worker-1 on gpu-3 lost its node (NodeLost: not ready for 15s)". WithMessage adds the program's
// own message.
func Describe(f *v1alpha1.Failure) string {
	if f.Cause == v1alpha1.CauseRequested {
		return describeRequest(f)
	}
	text := SlotOf(f).String()
	if f.Node != "" {
		text += " on " + f.Node
	}
	text += " " + whatHappened(f)
	switch {
	case f.Reason != "" && f.Message != "" && LastWords(f) == "":
		text += fmt.Sprintf(" (%s: %s)", f.Reason, state.Quote(f.Message))
	case f.Reason != "":
		text += fmt.Sprintf(" (%s)", f.Reason)
	}
	if f.Alike > 0 {
		text += fmt.Sprintf(", and %d more did in the same second", f.Alike)
	}
	return text
}

// describeRequest returns the clause for a requested restart: of the replica whose pod the failure names, else of the whole job.
func describeRequest(f *v1alpha1.Failure) string {
	text := "A user requested a restart"
	if f.Pod != "" {
		text += " of " + SlotOf(f).String()
	}
	if f.Message != "" {
		text += fmt.Sprintf(" (%s)", state.Quote(f.Message))
	}
	return text
}

// IsOfProgram reports whether the failure is an exit of the program or the failure of its start.
func IsOfProgram(f *v1alpha1.Failure) bool { return f.ExitCode != nil && !IsLoss(f.Cause) }

// How a sentence quotes the line of a program's output that explains its end.
const (
	lastWords  = " Last words: "
	beforeKill = " The last line before the kill: "
)

// WithoutMessage returns the sentence without what WithMessage has added.
func WithoutMessage(sentence string) string {
	sentence, _, _ = strings.Cut(sentence, beforeKill)
	sentence, _, _ = strings.Cut(sentence, lastWords)
	return sentence
}

// WithMessage returns the sentence, which reports the reaction to the failure, followed by the line that explains it.
func WithMessage(f *v1alpha1.Failure, sentence string) string {
	switch line := Line(f); {
	case line == "":
		return sentence
	case isKill(f):
		return sentence + beforeKill + line
	default:
		return sentence + lastWords + line
	}
}

// IsMisconfiguredCheck reports whether a preflight check ended by its own fault, not by the node's.
func IsMisconfiguredCheck(f *v1alpha1.Failure) bool {
	exit := state.Exit{Container: f.Container, Code: ExitCode(f)}
	return exit.IsMisconfiguredCheck()
}

// whatHappened returns how the replica failed, as the predicate of a sentence.
func whatHappened(f *v1alpha1.Failure) string {
	clause := ReasonOf(f.Reason).clause
	switch {
	case clause != "":
		return clause
	case IsLoss(f.Cause):
		return "was lost"
	case f.Cause == v1alpha1.CauseCompleted:
		return "exited with code 0"
	case f.ExitCode != nil:
		what := fmt.Sprintf("exited with code %d", ExitCode(f))
		if f.Cause == v1alpha1.CauseStartup && state.IsSignal(ExitCode(f)) {
			what += " before its startup probe passed"
		}
		if slices.Contains(cannotStart, f.Reason) {
			what = "could not be started"
		}
		if f.Container != "" {
			what = "failed because its container " + f.Container + " " + what
			if IsMisconfiguredCheck(f) {
				what += ": the check is misconfigured"
			}
		}
		return what
	case f.Cause == v1alpha1.CauseStartup:
		return "did not start"
	case f.Cause == v1alpha1.CauseHang:
		return "hangs"
	default:
		return "ended"
	}
}

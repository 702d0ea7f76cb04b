package failure

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// causeOf returns why the pod broke, before any rule of recovery.rules applies.
func causeOf(s *state.Snapshot, p *state.Pod) v1alpha1.Cause {
	policy := s.Job.Spec.ReplicaSpecs[p.Slot.Role].RestartPolicy
	switch _, wasTakenAway := takenAway(s, p); {
	case p.Disruption.Reason == preempted:
		return v1alpha1.CausePreempted
	case p.HasSucceeded(): // and is to run again
		return v1alpha1.CauseCompleted
	case wasTakenAway:
		return v1alpha1.CauseInfrastructure
	case policy == v1alpha1.RestartNever:
		return v1alpha1.CauseFatal
	case p.Exit != nil && p.Exit.Reason == outOfMemory:
		return v1alpha1.CauseOOM
	case p.Exit != nil && lacksProgram(p.Exit.Reason, p.Exit.Message):
		return v1alpha1.CauseFatal
	case p.Exit != nil && slices.Contains(cannotStart, p.Exit.Reason):
		return v1alpha1.CauseStartup
	case failedToStart(s, p), p.Exit.IsMisconfiguredCheck():
		return v1alpha1.CauseStartup
	case p.Exit != nil && p.Exit.Main && isPermanent(s, p):
		return v1alpha1.CauseFatal
	default: // OnFailure and Always, of any other exit
		return v1alpha1.CauseRetryable
	}
}

// takenAway returns why the pod was lost through no fault of its own, with Kubernetes' reason and message if there are any; was is false if it was not.
// Its node or device broke, it was deleted or evicted, or its kubelet or a controller turned it away before a container ran. Of a pod that the kubelet
// evicts after it ran, the limits of its own template decide.
func takenAway(s *state.Snapshot, p *state.Pod) (why state.Trouble, was bool) {
	switch rejected := p.Rejected; {
	case s.IsLost(p):
		return s.NodeOf(p).Loss, true
	case p.Disruption.Reason != "":
		return p.Disruption, true
	case wasEvictedForNode(p):
		return state.Trouble{Reason: terminated, Message: rejected.Message}, true
	case !p.Deleted.IsZero():
		return state.Trouble{Reason: v1alpha1.ReasonDeleted, Message: rejected.Message}, true
	case p.Unhealthy.Reason != "":
		return p.Unhealthy, true
	case wasForgotten(p) && rejected.Reason == "":
		return state.Trouble{Reason: p.Exit.Reason, Message: p.Exit.Message}, true
	default:
		return rejected, wasForgotten(p) || p.NeverRan && rejected.Reason != "" && rejected.Reason != pastDeadline
	}
}

// wasEvictedForNode reports whether the kubelet evicted the pod for the sake of its node. A kubelet that starts under pressure reports it in these words
// alone ("Pod was rejected: The node had condition: [DiskPressure]."), after it has ended the containers.
// Source: k8s.io/kubernetes/pkg/kubelet/eviction, and kubelet.go.
func wasEvictedForNode(p *state.Pod) bool {
	return wasEvicted(p) && (strings.Contains(p.Rejected.Message, "The node had condition") || strings.Contains(p.Rejected.Message, "The node was low"))
}

// wasEvicted reports whether the kubelet ended the pod because it, or all pods of the node, used too much.
func wasEvicted(p *state.Pod) bool { return p.Rejected.Reason == evicted }

// wasForgotten reports whether the kubelet does not know how the container ended: its node was rebooted, or its runtime lost it. A
// kubelet that evicts a pod knows that it ended it.
func wasForgotten(p *state.Pod) bool {
	return p.Exit != nil && ReasonOf(p.Exit.Reason).IsForgotten && !wasEvicted(p)
}

// isPermanent reports whether a restart cannot mend the exit of the program. It never mends 126 and 127 (the command cannot be run) and 93 (by which
// a program reports that it must not run again). Under ExitCode it mends only signals: 129 to 192, without 139 (segmentation fault). So 1,
// 2, 128 and 255 are permanent there.
// Source: the documentation of RestartPolicyExitCode in the Kubeflow TFJob API, and the shells' 128 + signal.
func isPermanent(s *state.Snapshot, p *state.Pod) bool {
	f := v1alpha1.Failure{Role: p.Slot.Role, ExitCode: &p.Exit.Code, Message: p.Exit.Message, Cause: v1alpha1.CauseRetryable}
	readTable(&f)
	switch code := ExitCode(&f); {
	case code == 126, code == 127, code == 93:
		return true
	case s.Job.Spec.ReplicaSpecs[f.Role].RestartPolicy == v1alpha1.RestartExitCode:
		return (!state.IsSignal(code) || code == 139) && !missedPeer(s, &f)
	default:
		return false
	}
}

// missedPeer reports whether a rank may have followed another rank of its collective, or a parameter server, which may not show yet. Until all ranks have
// met, a peer that does not listen may be one that never will.
func missedPeer(s *state.Snapshot, f *v1alpha1.Failure) bool {
	isPeer := state.IsMember(&s.Job.Spec, f.Role) && state.WorldSize(&s.Job.Spec) > 1 || state.IsRank(f.Role) && s.Job.Spec.Replicas(v1alpha1.PS) > 0
	return isPeer && Followed(f) && (wordsOf(f) != lostEarly || s.Is(v1alpha1.ConditionRunning))
}

// IsFailure reports whether anything went wrong. A requested restart and a completed program that runs again are no failures.
func IsFailure(cause v1alpha1.Cause) bool {
	return cause != v1alpha1.CauseRequested && cause != v1alpha1.CauseCompleted
}

// IsLoss reports whether the cause is the loss of a pod, which is never charged.
func IsLoss(cause v1alpha1.Cause) bool {
	return cause == v1alpha1.CauseInfrastructure || cause == v1alpha1.CausePreempted
}

// MayBeKubelets reports whether the kubelet may have ended the container, because a liveness or startup probe or a postStart hook has failed: by
// SIGTERM without a deletion, or by SIGKILL if its template has such a probe or hook. The kubelet reports this only in the pod's Events, which the
// operator does not read: the exit code looks like the program's own. Such an end is no evidence about the node.
func MayBeKubelets(spec *v1alpha1.TrainingJobSpec, f *v1alpha1.Failure) bool {
	if f.ExitCode == nil || f.Reason != "Error" || f.Container != "" { // whatever a rule makes of it
		return false
	}
	return ExitCode(f) == 128+15 || ExitCode(f) == 128+9 && state.HasMain(spec, f.Role, func(c *corev1.Container) bool {
		return c.LivenessProbe != nil || c.StartupProbe != nil || c.Lifecycle != nil && c.Lifecycle.PostStart != nil
	})
}

// failedToStart reports whether the kubelet ended the pod's main container because its startup probe failed: it has one, and was never ready.
func failedToStart(s *state.Snapshot, p *state.Pod) bool {
	wasTold := p.Exit != nil && p.Exit.Main && p.Exit.Reason == "Error" && (p.Exit.Code == 128+15 || p.Exit.Code == 128+9)
	return wasTold && p.Exit.NeverReady && state.HasMain(&s.Job.Spec, p.Slot.Role, func(c *corev1.Container) bool { return c.StartupProbe != nil })
}

// Hint returns a sentence about where to look if the kubelet may have ended the container; otherwise it is empty.
func Hint(s *state.Snapshot, f *v1alpha1.Failure) string {
	if s.IsLocal || !MayBeKubelets(&s.Job.Spec, f) {
		return ""
	}
	return " This exit code often means that a probe or a postStart hook failed. Check: kubectl describe pod " + f.Pod + "."
}

// cannotStart are the reasons of containers that ended before their process began. The message comes from the container runtime.
var cannotStart = []string{"StartError", "ContainerCannotRun", "CreateContainerError", "RunContainerError"}

// noProgram matches the reports of runc and crun that the command is not in the image, or is not executable.
// Source: os/exec.Error, which runc wraps, and crun's src/libcrun/linux.c and utils.c.
var noProgram = regexp.MustCompile(`(?i)exec: \\?"[^"]*": (stat [^:]*: no such file or directory|executable file not found|permission denied|is a directory)` +
	`|executable file [^:]* not found|open executable: permission denied`)

// lacksProgram reports whether a container could not be started because its command is not there or not executable. No node mends that, as it
// does not mend the exit codes 126 and 127 of a shell.
func lacksProgram(reason, message string) bool {
	return slices.Contains(cannotStart, reason) && noProgram.MatchString(message)
}

// LacksProgram reports whether the failure is that the command is not there or not executable. Such an end is no evidence about the node.
func LacksProgram(f *v1alpha1.Failure) bool { return lacksProgram(f.Reason, f.Message) }

// LastWords returns the end of the output of the program; empty if the message comes from the kubelet, the runtime or a user.
func LastWords(f *v1alpha1.Failure) string {
	if !IsOfProgram(f) || !IsFailure(f.Cause) || slices.Contains(cannotStart, f.Reason) || f.Reason == evicted || f.Reason == pastDeadline {
		return ""
	}
	return f.Message
}

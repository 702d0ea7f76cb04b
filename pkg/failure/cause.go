package failure

import (
	"slices"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// causeOf returns why the pod broke, before any rule of recovery.rules applies.
func causeOf(s *state.Snapshot, p *state.Pod) v1alpha1.Cause {
	policy := s.Job.Spec.ReplicaSpecs[p.Slot.Role].RestartPolicy
	switch {
	case p.Disruption.Reason == preempted:
		return v1alpha1.CausePreempted
	case p.HasSucceeded(): // and is to run again
		return v1alpha1.CauseCompleted
	case wasTakenAway(s, p):
		return v1alpha1.CauseInfrastructure
	case policy == v1alpha1.RestartNever:
		return v1alpha1.CauseFatal
	case p.Exit != nil && p.Exit.Reason == outOfMemory:
		return v1alpha1.CauseOOM
	case p.Exit != nil && lacksProgram(p.Exit.Reason, p.Exit.Message):
		return v1alpha1.CauseFatal
	case p.Exit != nil && slices.Contains(cannotStart, p.Exit.Reason):
		return v1alpha1.CauseStartup
	case failedToStart(s, p):
		return v1alpha1.CauseStartup
	case p.Exit != nil && isPermanent(p.Exit.Code, policy):
		return v1alpha1.CauseFatal
	default:
		return v1alpha1.CauseRetryable
	}
}

// wasTakenAway reports whether the pod was lost through no fault of its own: its node or device broke, it was deleted or
// evicted, or its kubelet or a controller turned it away before a container ran. Of a pod that the kubelet evicts after it ran, the limits
// of its own template decide.
func wasTakenAway(s *state.Snapshot, p *state.Pod) bool {
	wasRejected := p.NeverRan && p.Rejected.Reason != "" && p.Rejected.Reason != pastDeadline
	return s.IsLost(p) || !p.Deleted.IsZero() || p.Disruption.Reason != "" || p.Unhealthy.Reason != "" || wasRejected || wasForgotten(p)
}

// wasForgotten reports whether the kubelet does not know how the container ended: its node was rebooted, or its runtime lost it. A
// kubelet that evicts a pod knows that it ended it.
func wasForgotten(p *state.Pod) bool {
	return p.Exit != nil && ReasonOf(p.Exit.Reason).isForgotten && p.Rejected.Reason != evicted
}

// isPermanent reports whether a restart cannot mend the exit code. It never mends 126 and 127 (the command cannot be run) and 93 (by which
// a program reports that it must not run again). Under ExitCode it mends only signals: 129 to 192, without 139 (segmentation fault). So 1,
// 2, 128 and 255 are permanent there.
// Source: the documentation of RestartPolicyExitCode in the Kubeflow TFJob API, and the shells' 128 + signal.
func isPermanent(code int32, policy v1alpha1.RestartPolicy) bool {
	switch {
	case code == 126, code == 127, code == 93:
		return true
	case policy == v1alpha1.RestartExitCode:
		return !state.IsSignal(code) || code == 139
	default:
		return false
	}
}

// takenAwayBecause returns how the pod was lost, with Kubernetes' reason and message if there are any.
func takenAwayBecause(s *state.Snapshot, p *state.Pod) state.Trouble {
	node, _ := s.NodeTrouble(p)
	switch {
	case s.IsLost(p):
		return node.Lost
	case p.Disruption.Reason != "":
		return p.Disruption
	case !p.Deleted.IsZero():
		return state.Trouble{Reason: v1alpha1.ReasonDeleted, Message: p.Rejected.Message}
	case p.Unhealthy.Reason != "":
		return p.Unhealthy
	case wasForgotten(p) && p.Rejected.Reason == "":
		return state.Trouble{Reason: p.Exit.Reason, Message: p.Exit.Message}
	default:
		return p.Rejected
	}
}

// IsFailure reports whether anything went wrong. A requested restart and a completed program that runs again are no failures.
func IsFailure(cause v1alpha1.Cause) bool {
	return cause != v1alpha1.CauseRequested && cause != v1alpha1.CauseCompleted
}

// IsLoss reports whether the cause is the loss of a pod, which is never charged.
func IsLoss(cause v1alpha1.Cause) bool {
	return cause == v1alpha1.CauseInfrastructure || cause == v1alpha1.CausePreempted
}

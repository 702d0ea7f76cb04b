package policy

import (
	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// causeOf returns why the pod broke, under the restart policy of its role.
func causeOf(p *state.Pod, policy v1alpha1.RestartPolicy) v1alpha1.Cause {
	switch {
	case wasTakenAway(p):
		return v1alpha1.CauseInfrastructure
	case policy == v1alpha1.RestartNever:
		return v1alpha1.CauseFatal
	case p.Exit != nil && isPermanent(p.Exit.Code, policy):
		return v1alpha1.CauseFatal
	default:
		return v1alpha1.CauseRetryable
	}
}

// wasTakenAway reports whether the pod was lost through no fault of its own: deleted, evicted, preempted, or
// turned away by the kubelet before a container ran.
func wasTakenAway(p *state.Pod) bool {
	return endedByDeletion(p) || p.Disruption.Reason != "" ||
		(p.Exit == nil && p.Rejected.Reason != "" && p.Rejected.Reason != "DeadlineExceeded")
}

// isPermanent reports whether an exit code cannot be mended by a restart. 126 and 127 (the command cannot be run) and 93
// (the program's own word for "do not try again") never can. Under ExitCode only signals can: 129 to 192, without
// 139 (segmentation fault), so that 1, 2, 128 and 255 are permanent.
// Source: the documentation of RestartPolicyExitCode in the Kubeflow TFJob API, and the shells' 128 + signal.
func isPermanent(code int32, policy v1alpha1.RestartPolicy) bool {
	switch {
	case code == 126, code == 127, code == 93:
		return true
	case policy == v1alpha1.RestartExitCode:
		return !isSignal(code) || code == 139
	default:
		return false
	}
}

func isSignal(code int32) bool { return code > 128 && code <= 192 }

// takenAwayBecause returns Kubernetes' word for how the pod was lost.
func takenAwayBecause(p *state.Pod) string {
	switch {
	case p.Disruption.Reason != "":
		return p.Disruption.Reason
	case !p.Deleted.IsZero():
		return "Deleted"
	default:
		return p.Rejected.Reason
	}
}

package state

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// A preflight check is an init container named preflight-*. It exits with 0 if the node passed, 1 if the node failed, and 2 if the check
// itself is misconfigured. Every other code counts as the exit of any init container.
// Source: NVIDIA/NVSentinel, ADR-026.
const (
	preflightPrefix        = "preflight-"
	preflightFailed        = 1
	preflightMisconfigured = 2
)

// readPreflight reads when the pod's preflight checks ran. The template may have none of them: admission adds some.
func (p *Pod) readPreflight(pod *corev1.Pod) {
	for i := range pod.Status.InitContainerStatuses {
		c := &pod.Status.InitContainerStatuses[i]
		switch isCheck := strings.HasPrefix(c.Name, preflightPrefix); {
		case isCheck && c.State.Running != nil:
			p.Checking = true
		case isCheck && c.State.Terminated != nil:
			p.Checked = Latest(p.Checked, c.State.Terminated.FinishedAt.Time)
		}
	}
}

// heedPreflight makes a failed preflight check a rejection of the pod by its node: the program has not begun.
func (p *Pod) heedPreflight() {
	if p.Exit.isOfPreflight(preflightFailed) {
		message := strings.TrimSuffix(p.Exit.Container+": "+p.Exit.Message, ": ")
		p.Rejected, p.NeverRan = Trouble{Reason: v1alpha1.ReasonPreflightFailed, Message: message}, true
	}
}

// IsMisconfiguredCheck reports whether a preflight check ended by its own fault, not by the node's. A nil Exit is none.
func (e *Exit) IsMisconfiguredCheck() bool { return e.isOfPreflight(preflightMisconfigured) }

func (e *Exit) isOfPreflight(code int32) bool {
	return e != nil && !e.Main && !e.Side && e.Code == code && strings.HasPrefix(e.Container, preflightPrefix)
}

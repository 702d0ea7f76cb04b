package state

import (
	"slices"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Matches reports whether the rule's matchers about a container fit this end. A rule that names no container does not apply to side-cars, and its codes
// and signals match the main container alone. An init container, and a nil Exit, fit only a rule without them.
func (e *Exit) Matches(r *v1alpha1.RecoveryRule) bool {
	if r.ContainerName == "" && (e == nil || !e.Main && !e.Side) {
		return len(r.ExitCodes) == 0 && len(r.Signals) == 0
	}
	return e != nil && (r.ContainerName == e.Container || r.ContainerName == "" && e.Main) &&
		(len(r.ExitCodes) == 0 || slices.Contains(r.ExitCodes, e.Code)) &&
		(len(r.Signals) == 0 || slices.Contains(r.Signals, e.Signal()))
}

// Signal returns the signal that ended the container, by its exit code; otherwise 0.
func (e *Exit) Signal() int32 {
	if IsSignal(e.Code) {
		return e.Code - 128
	}
	return 0
}

// IsSignal reports whether the exit code is a shell's 128 + signal.
func IsSignal(code int32) bool { return code > 128 && code <= 192 }

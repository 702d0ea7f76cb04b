package policy

import (
	"time"

	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/nodes"
	"github.com/trainingjob/operator/pkg/state"
)

// unhealthy rules because pods of the job must leave unhealthy nodes, where they would fail sooner or later. A failure comes
// first, and its new pods prefer other nodes as well. The restart costs no budget, and recovery.rules do not apply to it.
func unhealthy(s *state.Snapshot) (*Ruling, time.Time) {
	if isResting(s) {
		return nil, time.Time{}
	}
	leaving, _ := nodes.Departures(s)
	incidents := failure.Restarts(s, toRestart(s, leaving))
	if len(incidents) == 0 {
		return nil, time.Time{}
	}
	ruling := restart(s, incidents)
	if held, until := waitForCheckpoint(s, &ruling); held != nil {
		return held, until
	}
	return &ruling, time.Time{}
}

package policy

import (
	"time"

	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/nodes"
	"github.com/trainingjob/operator/pkg/state"
)

// ill rules because pods of the job are on nodes that they are to leave: sooner or later what runs there breaks, or is stopped. What is
// broken comes first, and new pods stay off the node then as well. It costs no budget, and no rule of recovery.rules is asked about it.
func ill(s *state.Snapshot) (*Verdict, time.Time) {
	if isResting(s) {
		return nil, time.Time{}
	}
	leaving, _ := nodes.Departures(s)
	incidents := failure.Restarts(s, toRestart(s, leaving))
	if len(incidents) == 0 {
		return nil, time.Time{}
	}
	verdict := restart(s, incidents)
	if held, until := savingFirst(s, &verdict); held != nil {
		return held, until
	}
	return &verdict, time.Time{}
}

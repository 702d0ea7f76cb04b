package policy

import (
	"time"

	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/state"
)

// failed rules because replicas have broken: either a restart mends it, or the job has failed.
func failed(s *state.Snapshot) (*Ruling, time.Time) {
	if isResting(s) { // old pods from before the suspension, on a lost node, do not delay the next lives
		return nil, time.Time{}
	}
	if fatal := failure.FatalEvidence(s); fatal != nil {
		ruling := failFatally(s, fatal)
		return &ruling, time.Time{}
	}
	incidents := failure.Restarts(s, toRestart(s, failure.Find(s)))
	if len(incidents) == 0 {
		return nil, time.Time{}
	}
	ruling := restart(s, incidents)
	for _, hold := range holds {
		if held, until := hold(s, &ruling); held != nil {
			return held, until
		}
	}
	return &ruling, time.Time{}
}

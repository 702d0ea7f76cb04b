package policy

import (
	"time"

	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/state"
)

// failed rules because replicas have broken: they restart, or the job fails.
func failed(s *state.Snapshot) (*Ruling, time.Time) {
	if isResting(s) { // the remaining pods are from before the suspension, on lost nodes; the next lives replace them
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

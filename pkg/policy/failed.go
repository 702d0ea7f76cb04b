package policy

import (
	"time"

	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/state"
)

// failed rules because replicas have broken: either a restart mends it, or the job has failed.
func failed(s *state.Snapshot) (*Verdict, time.Time) {
	if isResting(s) { // what is left of before the suspension, on a lost node, gives way to the next lives
		return nil, time.Time{}
	}
	if fatal := failure.FatalEvidence(s); fatal != nil {
		verdict := failFatally(s, fatal)
		return &verdict, time.Time{}
	}
	incidents := failure.Restarts(s, toRestart(s, failure.Find(s)))
	if len(incidents) == 0 {
		return nil, time.Time{}
	}
	verdict := restart(s, incidents)
	for _, hold := range []func(*state.Snapshot, *Verdict) (*Verdict, time.Time){heldBack, gathering, savingFirst} {
		if held, until := hold(s, &verdict); held != nil {
			return held, until
		}
	}
	return &verdict, time.Time{}
}

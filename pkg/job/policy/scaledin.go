package policy

import (
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// scaledIn rules because the spec has fewer replicas. The ranks save a checkpoint before some of them are removed.
func scaledIn(s *state.Snapshot) (*Ruling, time.Time) {
	for i := range s.Pods {
		if p := &s.Pods[i]; !s.InRange(p.Slot) && p.Life == s.Life(p.Slot) && p.Deleted.IsZero() && s.MayAct(p) {
			return awaitCheckpoint(s, v1alpha1.ReasonScaledIn, "the job is scaled in")
		}
	}
	return nil, time.Time{}
}

package history

import (
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// restartOf returns the incident that ended an attempt, and its number; nil and 0 if the status does not have it.
func restartOf(status *v1alpha1.TrainingJobStatus, attempt int32) (incident *v1alpha1.Incident, number int32) {
	for i := range status.Incidents {
		if incident := &status.Incidents[i]; incident.Scope == v1alpha1.ScopeJob && incident.Attempt == attempt {
			return incident, status.Restarts - int32(i)
		}
	}
	return nil, 0
}

// explained adds, oldest first, the incidents whose true cause is in the next status. A status lists incidents newest first. The number of
// an incident is the count of restarts up to it.
func (h *History) explained(begun int) {
	for i := len(h.Was.Incidents) - 1; i >= 0; i-- {
		if i+begun >= len(h.Is.Incidents) {
			continue // the status keeps a few, and too many have begun since
		}
		if incident := &h.Is.Incidents[i+begun]; !equality.Semantic.DeepEqual(incident, &h.Was.Incidents[i]) {
			h.add(Transition{
				Kind: Explained, Attempt: incident.Attempt, Begin: incident.Time, End: incident.RestartTime,
				Incident: incident, Number: h.Was.Restarts - int32(i),
			})
		}
	}
}

package invariant

import (
	"slices"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/world"
)

// togetherFor is within which time ends are one incident, by docs/recovery.md.
const togetherFor = 5 * time.Second

// checkFaults checks invariant 22: a fault is charged once, whatever it ends, within seconds.
func (c *Checker) checkFaults(h *history, job *v1alpha1.TrainingJob) {
	charged := map[*world.Fault]*v1alpha1.Incident{}
	for i := range job.Status.Incidents {
		incident := &job.Status.Incidents[i]
		f := c.faultOf(h, job, incident)
		if f == nil || !incident.Charged {
			continue
		}
		if other := charged[f]; other != nil && other.RestartTime.Sub(incident.RestartTime.Time) <= togetherFor {
			c.violate("22 blame is true: one fault, one charge: %s ended %s and %s, and both are charged", f.What, incident.Pod, other.Pod)
		}
		charged[f] = incident
	}
}

// faultOf returns what truly ended the pod that the incident names; nil if nothing is known of it.
func (c *Checker) faultOf(h *history, job *v1alpha1.TrainingJob, i *v1alpha1.Incident) *world.Fault {
	where, named := placeOf(job.Name, &i.Failure)
	for _, f := range slices.Backward(h.fates[where]) {
		if named && f.fault != nil {
			return f.fault
		}
	}
	return nil
}

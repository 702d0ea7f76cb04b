package invariant

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/operator/journal"
	"github.com/trainingjob/operator/test/sim/operator"
)

// restarts is what a job's status said of each of its restarts, by number, and how often the log told of it.
type restarts struct {
	said map[int32][]v1alpha1.Incident
	told map[int32]int
}

// note keeps what a status says of restarts.
func (r *restarts) note(status *v1alpha1.TrainingJobStatus) {
	for i := range status.Incidents {
		number := status.Restarts - int32(i)
		r.said[number] = append(r.said[number], status.Incidents[i])
	}
}

// Line checks a line of the log: a restart that a status tells of, in the same words, and no other line of it.
func (c *Checker) Line(d *operator.Decision, line *journal.Line) {
	if line.Incident == nil {
		return
	}
	r := &c.of(d.UID()).restarts
	isSame := func(said v1alpha1.Incident) bool { return inWords(&said) == inWords(line.Incident) }
	if !slices.ContainsFunc(r.said[line.Number], isSame) {
		c.violate("8 exactly once: the log has restart %d %+v, no status does", line.Number, *line.Incident)
	}
	if line.Message != journal.MessageIncident {
		return
	}
	if r.told[line.Number]++; r.told[line.Number] > 1 {
		c.violate("8 exactly once: the log has restart %d for the %dth time", line.Number, r.told[line.Number])
	}
}

// inWords returns the incident as status and log have it: their times have whole seconds.
func inWords(i *v1alpha1.Incident) string {
	text, err := json.Marshal(i)
	if err != nil {
		return fmt.Sprintf("%+v", i)
	}
	return string(text)
}

// Untold returns of how many restarts no line of the log tells.
func (c *Checker) Untold() int {
	untold := 0
	for _, h := range c.jobs {
		untold += len(h.restarts.said) - len(h.restarts.told)
	}
	return untold
}

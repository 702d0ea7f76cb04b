package invariant

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	statushistory "github.com/trainingjob/operator/pkg/job/history"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/operator/metrics"
	"github.com/trainingjob/operator/test/sim/operator"
)

// heard is what the metrics have counted of one job.
type heard struct {
	once     map[transition]bool
	restarts int32
	// lost are the seconds that the job has lost, by cause.
	lost map[string]float64
	// most is what statuses have said at most: a process that no longer leads may still read an old one, of which it tells nothing.
	most struct {
		restarts       int32
		nodes, restart int64
	}
}

// transition is what a job may go through once: its kind, the attempt, the number of the restart, and when it began.
type transition struct {
	kind            statushistory.Kind
	attempt, number int32
	begin, end      metav1.Time
}

// Told checks what a recorded plan adds to the metrics: nothing twice, nothing that takes longer than the job is old, and no more than
// the status says.
func (c *Checker) Told(d *operator.Decision, job *v1alpha1.TrainingJob, p *plan.Plan) {
	t := c.heardOf(d.UID())
	age := c.world.Clock.Now().Sub(job.CreationTimestamp.Time).Seconds() + 1
	happened := statushistory.Between(job, &p.Status, p.Restarts)
	for _, o := range metrics.Observe(happened) {
		switch {
		case o.Value < 0 || o.Family.Unit == "seconds" && o.Value > age:
			c.violate("8 exactly once: %s is reported as %v %v for a job that is %v s old", o.Family.Name, o.Labels, o.Value, age)
		case o.Family == metrics.Restarts:
			t.restarts++
		case o.Family == metrics.Lost:
			t.lost[o.Labels[1]] += o.Value
		}
	}
	lost := p.Status.LostSeconds
	t.most.restarts, t.most.nodes, t.most.restart = max(t.most.restarts, p.Status.Restarts), max(t.most.nodes, lost.Nodes), max(t.most.restart, lost.Restart)
	if t.restarts > t.most.restarts || t.lost["nodes"] > float64(t.most.nodes) || t.lost["restart"] > float64(t.most.restart) {
		c.violate("8 exactly once: %d restarts and lost time %v are counted, the statuses have at most %+v", t.restarts, t.lost, t.most)
	}
	for i := range happened.List {
		c.transition(t, &happened.List[i], age)
	}
}

// transition checks a transition of a job of that age, in seconds, if it has a time of its own.
func (c *Checker) transition(h *heard, t *statushistory.Transition, age float64) {
	switch t.Kind {
	case statushistory.Queued, statushistory.Scheduled, statushistory.Recovered, statushistory.Finished:
	default:
		return
	}
	key := transition{t.Kind, t.Attempt, t.Number, t.Begin, t.End}
	if h.once[key] {
		c.violate("8 exactly once: %s of attempt %d, restart %d, happens twice: %v to %v", t.Kind, t.Attempt, t.Number, t.Begin, t.End)
	}
	if t.Begin.After(t.End.Time) || t.Begin.IsZero() || t.End.Sub(t.Begin.Time).Seconds() > age {
		c.violate("8 exactly once: %s lasts from %v to %v", t.Kind, t.Begin, t.End)
	}
	h.once[key] = true
}

func (c *Checker) heardOf(uid types.UID) *heard {
	h := c.of(uid)
	if h.heard == nil {
		h.heard = &heard{once: map[transition]bool{}, lost: map[string]float64{}}
	}
	return h.heard
}

package invariant

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	statushistory "github.com/trainingjob/operator/pkg/history"
	"github.com/trainingjob/operator/pkg/metrics"
	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/pkg/trace"
	"github.com/trainingjob/operator/test/sim/operator"
)

// heard is what metrics and traces were told of one job.
type heard struct {
	spans    map[[8]byte]trace.Span
	restarts int32
	// lost are the seconds that the job has lost, by cause.
	lost map[string]float64
	// most is what statuses have said at most: a process that no longer leads may still read an old one, of which it tells nothing.
	most struct {
		restarts       int32
		nodes, restart int64
	}
}

// Told checks what a recorded plan tells metrics and traces: nothing twice, nothing that takes longer than the job is old, and no more than
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
	for _, s := range trace.Spans(happened) {
		c.span(t, &s, age)
	}
}

// span checks a span of a job of that age, in seconds.
func (c *Checker) span(t *heard, s *trace.Span, age float64) {
	if was, is := t.spans[s.ID]; is {
		c.violate("8 exactly once: the span %s is exported twice: %v to %v, %v to %v", s.Name, was.Start, was.End, s.Start, s.End)
	}
	if s.End.Before(s.Start) || s.Start.IsZero() || s.End.Sub(s.Start).Seconds() > age {
		c.violate("8 exactly once: the span %s lasts from %v to %v", s.Name, s.Start, s.End)
	}
	t.spans[s.ID] = *s
}

func (c *Checker) heardOf(uid types.UID) *heard {
	h := c.of(uid)
	if h.heard == nil {
		h.heard = &heard{spans: map[[8]byte]trace.Span{}, lost: map[string]float64{}}
	}
	return h.heard
}

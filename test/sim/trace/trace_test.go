package trace_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/builder"
	"github.com/trainingjob/operator/test/sim/operator"
	"github.com/trainingjob/operator/test/sim/server"
)

var (
	nodes   = flag.Int("trace.nodes", 1000, "how many nodes there are; the job takes all but 2 %")
	days    = flag.Int("trace.days", 1, "how many days the trace is long")
	rate    = flag.Float64("trace.rate", 6.5, "failures per 1,000 node-days")
	seed    = flag.Uint64("trace.seed", 1, "the trace is drawn from it")
	crashes = flag.Float64("trace.crashes", 0.2, "the part of the failures that are the program's own")
)

// calm is a process in a world without faults of its own.
type calm struct{}

func (calm) Write(*operator.Process, *server.Request) operator.Outcome { return operator.Done }
func (calm) Read(*operator.Process, server.Kind, bool) error           { return nil }
func (calm) Later(*server.Request)                                     {}
func (calm) Frozen(*operator.Process)                                  {}
func (calm) Slow(*operator.Process)                                    {}

// newCluster returns a cluster with the job in it, and its failures yet to come.
func newCluster() *cluster {
	c := &cluster{clock: &clock{now: builder.Epoch}, chance: rand.New(rand.NewPCG(*seed, 1)), nodes: *nodes, dead: map[string]bool{}}
	c.Server = server.New(c.clock)
	for i := range *nodes {
		c.writeNode(i, "True")
	}
	job := builder.Job("train", builder.Framework(v1alpha1.PyTorch), builder.Workers(*nodes-max(1, *nodes/50)))
	c.job = client.ObjectKeyFromObject(job)
	c.do(&server.Request{User: "user", Verb: server.Create, Kind: server.Jobs, Key: c.job, Object: job})
	perDay := *rate * float64(*nodes) / 1000
	for at := c.gap(perDay); at < time.Duration(*days)*24*time.Hour; at += c.gap(perDay) {
		if c.chance.Float64() < *crashes {
			c.after(at, c.crash)
			continue
		}
		i := c.unluckyNode()
		c.after(at, func() { c.die(i) })
	}
	return c
}

// gap returns the time to the next failure of a Poisson process.
func (c *cluster) gap(perDay float64) time.Duration {
	return time.Duration(c.chance.ExpFloat64() / perDay * float64(24*time.Hour))
}

// unluckyNode draws the node that dies: one of the lemons, which are every tenth, ten times as likely as another.
func (c *cluster) unluckyNode() int {
	for {
		i := c.chance.IntN(c.nodes)
		if i%lemonShare == 0 || c.chance.IntN(lemonFactor) == 0 {
			return i
		}
	}
}

// live lets the cluster and the operator live until the end, and returns for how long all ranks truly ran.
func (c *cluster) live(p *operator.Process, end time.Time) (ran time.Duration) {
	ranks := *nodes - max(1, *nodes/50)
	for c.clock.now.Before(end) {
		for len(c.events) > 0 && !c.clock.now.Before(c.events[0].at) {
			happens := c.events[0].what
			c.events = c.events[1:]
			happens()
		}
		busy := c.tick()
		for range 20 {
			for _, kind := range server.Kinds {
				p.Cache.Advance(kind, p.Cache.Behind(kind))
			}
			if !p.IsAwake() {
				break
			}
			p.Reconcile()
		}
		step := time.Second
		if !busy && !c.tick() && len(c.events) > 0 { // nothing can happen before the next event or the operator's own time
			step = max(step, min(c.events[0].at.Sub(c.clock.now), time.Minute))
		}
		if len(c.running()) == ranks {
			ran += step
		}
		c.clock.now = c.clock.now.Add(step)
	}
	return ran
}

func TestADayOfFailures(t *testing.T) {
	c := newCluster()
	p := operator.NewProcess("operator", &operator.World{Server: c.Server, Clock: c.clock, Faults: calm{}}, c.job)
	p.Leads = true
	p.Start(func(server.Kind) int { return 0 })
	whole := time.Duration(*days) * 24 * time.Hour
	ran := c.live(p, builder.Epoch.Add(whole+10*time.Minute))
	status := c.status()
	mischarged := int(status.ChargedRestarts) - c.crashes
	fmt.Printf("%d nodes, %d day(s): %d nodes died under the job and its program crashed %d times; %d restarts, %d charged\n"+
		"  effective time ratio %.4f (the status says %s), mis-charged %d, placed on an avoided node %d, ranks alive twice %d\n",
		*nodes, *days, c.losses, c.crashes, status.Restarts, status.ChargedRestarts,
		min(1, ran.Seconds()/(whole+10*time.Minute).Seconds()), status.RunningTimeRatio, mischarged, c.placedOnAvoided, c.doubled)
	if mischarged != 0 || c.placedOnAvoided != 0 || c.doubled != 0 {
		t.Errorf("mis-charged %d, placed on an avoided node %d, ranks alive twice %d: want none", mischarged, c.placedOnAvoided, c.doubled)
	}
	if status.Phase != v1alpha1.PhaseRunning {
		t.Errorf("the job is %s: %s", status.Phase, status.Message)
	}
}

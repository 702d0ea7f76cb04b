package operator

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cluster"
	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/pkg/state"
	"github.com/trainingjob/operator/test/sim/server"
)

// User is the user that operators write as.
const User = "operator"

// options are the operator's defaults, with one request at a time.
var options = cluster.Options{Parallel: 1, WatchNodes: true, LostAfter: LostAfter}

// LostAfter is how long a node may be not ready before its pods count as lost.
const LostAfter = 15 * time.Second

// retry is how long the process waits after an error before it tries again.
const retry = 200 * time.Millisecond

// World is what a process lives in.
type World struct {
	Server *server.Server
	Clock  clock.PassiveClock
	Faults Faults
	// Shuffle puts n things into another order; it stands for the parallelism of the real process. nil keeps the order.
	Shuffle func(n int, swap func(i, j int))
	// Event hears each Event, with the decision that it came from.
	Event func(d *Decision, reason, note string)
	// Say, if set, hears the story.
	Say func(format string, args ...any)
}

// Process is one process of the operator, which looks after one job.
type Process struct {
	Name string
	// Leads is whether the process holds the lease.
	Leads bool
	// Cache is the process's own.
	Cache *server.Cache
	// Reconciles, Reads and Writes count what it has done.
	Reconciles, Reads, Writes int

	world    *World
	key      client.ObjectKey
	life     int
	cluster  *cluster.Cluster
	awaited  map[server.Kind]int // how many changes the cache must show before the next read
	dead     bool
	awake    bool
	wake     time.Time
	decision *Decision
}

// Decision is what a request goes back to.
type Decision struct {
	// Process is who decided, and Life how often it had started before.
	Process *Process
	Life    int
	// From is the job as it was read.
	From *v1alpha1.TrainingJob
	// Recorded is whether the status was written in this pass.
	Recorded bool
	// Step is the step that the request takes, nil for the status.
	Why string
	// Late is whether the request arrives after its process crashed or lost the lease.
	Late bool
}

// Leads reports whether the request comes from the leader, in time.
func (d *Decision) Leads() bool { return d.Process.Leads && !d.Late }

// NewProcess returns a process that has not started.
func NewProcess(name string, w *World, key client.ObjectKey) *Process {
	return &Process{Name: name, world: w, key: key}
}

// Start starts the process anew: its memory is lost and its cache begins as old as age says, in changes.
func (p *Process) Start(age func(server.Kind) int) {
	p.say("starts")
	p.life++
	p.dead, p.awake, p.wake, p.decision = false, true, time.Time{}, nil
	p.awaited = map[server.Kind]int{}
	p.Cache = p.world.Server.NewCache(views, age)
	p.Cache.Heard = p.hear
	p.cluster = cluster.New(p.client(), p.live(), recorder{p}, p.world.Clock, options)
}

// hear does what the watches of the controller do with a change that the cache takes in.
func (p *Process) hear(c *server.Change) {
	switch c.Kind {
	case server.Jobs, server.Pods, server.Services, server.Nodes, server.Leases, server.PodGroups:
		p.awake = true
	}
}

// Dead reports whether the process has crashed.
func (p *Process) Dead() bool { return p.dead }

// Resync wakes the process although nothing has happened.
func (p *Process) Resync() { p.awake = true }

// IsAwake reports whether there is something to do: something was heard, or it is time.
func (p *Process) IsAwake() bool {
	return !p.dead && (p.awake || !p.wake.IsZero() && !p.world.Clock.Now().Before(p.wake))
}

// Reconcile does what controller.Reconcile does: observe, plan, record, act.
func (p *Process) Reconcile() {
	p.Reconciles++
	p.awake, p.wake, p.decision = false, time.Time{}, nil
	err := p.pass(context.Background())
	p.decision = nil
	if err == nil || p.dead {
		return
	}
	p.wake = p.world.Clock.Now().Add(retry)
	if !apierrors.IsConflict(err) {
		p.say("error: %v", err)
	}
}

func (p *Process) pass(ctx context.Context) error {
	s, err := p.cluster.Observe(ctx, p.key)
	if err != nil || s == nil {
		return err
	}
	todo := plan.Make(s)
	p.decision = &Decision{Process: p, Life: p.life, From: s.Job}
	if err := p.cluster.Record(ctx, s.Job, &todo); err != nil {
		return err
	}
	p.wake = todo.Wake
	if err := p.cluster.Act(ctx, s.Job, p.shuffled(todo.Steps)); err != nil {
		return err
	}
	p.wake = state.Earliest(p.wake, p.cluster.Retry(s.Job))
	return nil
}

// shuffled returns the steps in another order; Act itself creates Service and Lease first.
func (p *Process) shuffled(steps []plan.Step) []plan.Step {
	if p.world.Shuffle != nil {
		p.world.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	}
	return steps
}

func (p *Process) say(format string, args ...any) {
	if p.world.Say != nil {
		p.world.Say(p.Name+": "+format, args...)
	}
}

// UID returns the UID of the job that the decision is about.
func (d *Decision) UID() types.UID { return d.From.UID }

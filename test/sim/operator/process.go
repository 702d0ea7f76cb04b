package operator

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/history"
	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/manager"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/pkg/operator/cluster"
	"github.com/trainingjob/operator/pkg/operator/journal"
	"github.com/trainingjob/operator/pkg/operator/reconcile"
)

// User is the user that operators write as.
const User = "operator"

// options are the operator's defaults, with one request at a time.
var options = cluster.Options{Parallel: 1, WatchNodes: true, LostAfter: LostAfter, MaxCheckpointWait: time.Hour, Signals: nodes.Signals{
	{Kind: nodes.ConditionSignal, Name: Breaks}:   state.BlameNode,
	{Kind: nodes.ConditionSignal, Name: StaysOff}: state.AvoidNode,
	{Kind: nodes.CordonSignal}:                    state.AvoidNode,
	{Kind: nodes.ConditionSignal, Name: Loses}:    state.LoseNode,
}}

// The types of node conditions that explain failures there, keep new pods off the node, and lose it.
const (
	Breaks   = "GpuMemWatch"
	StaysOff = "KernelDeadlock"
	Loses    = "MachineGone"
)

// LostAfter is how long a node may be not ready before its pods count as lost.
const LostAfter = 15 * time.Second

// World is what a process lives in.
type World struct {
	Server *server.Server
	Clock  clock.PassiveClock
	Faults Faults
	// KeepsEnded is whether operators keep pods whose process has ended.
	KeepsEnded bool
	// Shuffle puts n things into another order; it stands for the parallelism of the real process. nil keeps the order.
	Shuffle func(n int, swap func(i, j int))
	// Event hears each Event, with the decision that it came from.
	Event func(d *Decision, reason, note string)
	// Line hears each line that the log tells of a job, with the decision that it came from.
	Line func(d *Decision, line *journal.Line)
	// Told, if set, hears of each plan that was recorded, as metrics do, with the decision that it came from.
	Told func(d *Decision, job *v1alpha1.TrainingJob, p *plan.Plan)
	// Page returns what a read of the progress page of a pod shows.
	Page func(pod types.UID) ([]byte, error)
	// Renewals returns when each node has renewed its Lease, by that node's clock; nil if the nodes have none.
	Renewals func() map[string]time.Time
	// Stacks returns what a read of the stacks of a replica shows, and how long that takes.
	Stacks func(replica string) (body []byte, after time.Duration, err error)
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

	world         *World
	key           client.ObjectKey
	life          int
	cluster       *cluster.Cluster
	reads         *wanted
	timers        *timers
	leasesRead    time.Time
	retries       workqueue.TypedRateLimiter[client.ObjectKey]
	pendingWrites map[server.Kind]int // how many changes the cache must show before the next read
	failedAt      time.Time           // when a pass last failed, or could not write because the cache was old
	behindSince   time.Time           // from when on the cache of the leader has had an old job; zero if it has not
	dead          bool
	queue         manager.Queue
	decision      *Decision
}

// Decision is what a request goes back to.
type Decision struct {
	// Process is who decided, and Life how often it had started before.
	Process *Process
	Life    int
	// From is the job as it was read, At the time of that read.
	From *v1alpha1.TrainingJob
	At   time.Time
	// LeasesRead is when the process had last read the Leases of nodes.
	LeasesRead time.Time
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
	p.dead, p.decision = false, nil
	p.pendingWrites = map[server.Kind]int{}
	p.Cache = p.world.Server.NewCache(views, age)
	own := options
	own.KeepsEnded = p.world.KeepsEnded
	p.timers = &timers{PassiveClock: p.world.Clock}
	p.leasesRead = time.Time{}
	p.reads = p.newReads()
	own.Reader = p.reads
	p.cluster = cluster.New(p.client(), p.live(), recorder{p}, p.world.Clock, own)
	p.queue = manager.Queue{Job: p.key, Clock: p.world.Clock, Cluster: p.cluster, Cache: p.Cache}
	p.queue.Now()
	p.Cache.Heard = p.queue.Changed
	p.retries = reconcile.Retries[client.ObjectKey]()
}

// Dead reports whether the process has crashed.
func (p *Process) Dead() bool { return p.dead }

// Resync wakes the process although nothing has happened.
func (p *Process) Resync() { p.queue.Now() }

// IsAwake reports whether there is something to do: something was heard, or it is time.
func (p *Process) IsAwake() bool {
	if !p.dead {
		p.timers.run()
	}
	return !p.dead && (p.queue.IsDue() || p.reads.hasNews())
}

// Wakes returns when the process wakes although nothing is heard; zero for never.
func (p *Process) Wakes() time.Time { return p.queue.At() }

// Reconcile passes the job once, as the controller does. What was to wake the process before is forgotten: each pass has to say by
// itself when the job is to be looked at again.
func (p *Process) Reconcile() {
	p.Reconciles++
	p.queue.Clear()
	p.reads.clear()
	p.decision = nil
	again, err := reconcile.Pass(context.Background(), pass{p.cluster, p}, p.key, p.recorded)
	p.decision = nil
	switch {
	case p.dead:
	case err != nil:
		p.say("error: %v", err)
		p.failedAt = p.world.Clock.Now()
		p.queue.After(p.retries.When(p.key))
	default:
		p.retries.Forget(p.key)
		if again > 0 {
			p.queue.After(again)
		}
	}
}

// recorded tells the log of what was written, as the controller does.
func (p *Process) recorded(job *v1alpha1.TrainingJob, made *plan.Plan) {
	if !p.dead && p.world.Told != nil {
		p.world.Told(p.decision, job, made)
	}
	if p.dead || p.world.Line == nil {
		return
	}
	happened := history.Between(job, &made.Status, made.Restarts)
	for _, line := range journal.Lines(happened) {
		p.world.Line(p.decision, &line)
	}
}

// pass is the cluster in one pass: it notes from which job the pass decides.
type pass struct {
	*cluster.Cluster
	process *Process
}

// Observe returns the snapshot of the job.
func (c pass) Observe(ctx context.Context, key client.ObjectKey) (*state.Snapshot, error) {
	s, err := c.Cluster.Observe(ctx, key)
	if s != nil {
		c.process.decision = &Decision{Process: c.process, Life: c.process.life, From: s.Job, At: s.Now, LeasesRead: c.process.leasesRead}
	}
	return s, err
}

// Act takes the steps in another order than planned; what has to come first Act itself takes first.
func (c pass) Act(ctx context.Context, job *v1alpha1.TrainingJob, steps []plan.Step) error {
	if shuffle := c.process.world.Shuffle; shuffle != nil {
		shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	}
	return c.Cluster.Act(ctx, job, steps)
}

func (p *Process) say(format string, args ...any) {
	if p.world.Say != nil {
		p.world.Say(p.Name+": "+format, args...)
	}
}

// UID returns the UID of the job that the decision is about.
func (d *Decision) UID() types.UID { return d.From.UID }

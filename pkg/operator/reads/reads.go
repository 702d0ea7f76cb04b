package reads

import (
	"context"
	"net/netip"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/operator/progress"
)

// Reader makes the reads of all jobs.
type Reader interface {
	// Want has exactly these reads made for the job from now on.
	Want(job client.ObjectKey, wanted Wanted)
	// Seen returns what the reads of the job have shown.
	Seen(job client.ObjectKey) state.Seen
	// Forget ends the reads of a job that is gone, and drops what they have shown.
	Forget(job client.ObjectKey)
}

// Wanted are the reads of a job.
type Wanted struct {
	// Page is the page to read again and again; nil for none.
	Page *Page
	// Ranks are the pages whose stacks are read once, as long as they are wanted. Unasked is how many more ranks there are.
	Ranks   []RankPage
	Unasked int
	// AwaitedNodes are the nodes whose Leases are read.
	AwaitedNodes []string
}

// Settings are what the reads need.
type Settings struct {
	// Page reads a page over the network.
	Page func(context.Context, netip.AddrPort, progress.Target) ([]byte, error)
	// Leases reads the Leases of all nodes; nil reads none.
	Leases ReadLeases
	Clock  clock.WithDelayedExecution
	// Patience is how long a node may go without renewing its Lease.
	Patience time.Duration
	Log      logr.Logger
	// Changed has a job reconciled.
	Changed func(client.ObjectKey)
}

// New returns the Reader of an operator. The reads of a namespace hold at most its share of all reads.
func New(s *Settings) Reader {
	return &reader{pages: newPages(s), stacks: newStacks(s), silence: NewSilence(s)}
}

type reader struct {
	pages   *pages
	stacks  *stackReads
	silence *Silence
}

// Want implements Reader.
func (r *reader) Want(job client.ObjectKey, wanted Wanted) {
	r.pages.want(job, wanted.Page)
	r.stacks.want(job, wanted.Ranks, wanted.Unasked)
	r.silence.Want(job, wanted.AwaitedNodes)
}

// Seen implements Reader.
func (r *reader) Seen(job client.ObjectKey) state.Seen {
	return state.Seen{Page: r.pages.seen(job), Stacks: r.stacks.seen(job), Silent: r.silence.Seen(job)}
}

// Forget implements Reader.
func (r *reader) Forget(job client.ObjectKey) {
	r.Want(job, Wanted{})
	r.pages.forget(job)
}

// None is the Reader of an operator that makes no reads.
type None struct{}

// Want implements Reader.
func (None) Want(client.ObjectKey, Wanted) {}

// Seen implements Reader.
func (None) Seen(client.ObjectKey) state.Seen { return state.Seen{} }

// Forget implements Reader.
func (None) Forget(client.ObjectKey) {}

package operator

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/local/manager"
	"github.com/trainingjob/operator/pkg/local/server"
)

// views are what the manager's cache holds, and indexes how it finds pods, by the product's own word.
var (
	views   = manager.Views(options.Signals)
	indexes = manager.Indexes()
)

// client returns the manager's client: it reads from the cache and shows its own writes, of which it is told.
func (p *Process) client() client.Client {
	return &server.Client{
		Reader: &server.Reader{Source: p.Cache, Indexes: indexes, Before: p.beforeRead, Await: p.awaitOwn},
		Send:   p.send,
	}
}

// live returns the reader that asks the API server.
func (p *Process) live() client.Reader {
	return &server.Reader{Source: p.world.Server.Truth(), Before: func(kind server.Kind, _ client.ObjectKey) error {
		return p.read(kind, true)
	}}
}

func (p *Process) beforeRead(kind server.Kind, _ client.ObjectKey) error {
	return p.read(kind, false)
}

// awaitOwn lets the cache catch up with the own writes of that kind: the real client waits that long.
func (p *Process) awaitOwn(kind server.Kind) {
	if behind := p.pendingWrites[kind] - p.Cache.Position(kind); behind > 0 {
		p.Cache.Advance(kind, behind)
	}
}

func (p *Process) read(kind server.Kind, live bool) error {
	if p.dead {
		return errCrashed
	}
	if kind == server.Secrets {
		panic("the operator reads Secrets, and has no right to")
	}
	p.Reads++
	if err := p.world.Server.Match(kind); err != nil {
		return err
	}
	return p.world.Faults.Read(p, kind, live)
}

// send sends a request, with whatever becomes of it.
func (p *Process) send(r *server.Request, waits bool) (client.Object, error) {
	if p.dead {
		return nil, errCrashed
	}
	p.Writes++
	r.User, r.Note = User, p.decision
	outcome := p.world.Faults.Write(p, r)
	if outcome != Done {
		p.say("%s: %s", r, outcome)
	}
	switch outcome {
	case Done, Twice:
		answer, err := p.apply(r, waits)
		if outcome == Twice && err == nil {
			p.world.Faults.Later(delayed(r))
		}
		return answer, err
	case CrashBefore, CrashAfter, CrashLate:
		if outcome == CrashAfter {
			_, _ = p.apply(r, false)
		}
		if outcome == CrashLate {
			p.world.Faults.Later(delayed(r))
		}
		p.dead = true
		return nil, errCrashed
	case Freeze:
		p.world.Faults.Frozen(p)
		return p.late(r, waits)
	case Slow:
		p.world.Faults.Slow(p)
		return p.late(r, waits)
	case TimeoutApplied:
		_, _ = p.apply(r, false)
	case AlreadyExists:
		if r.Kind == server.Secrets { // whoever says so of what nobody may look at tells the truth: an earlier try was done, its answer lost
			_, _ = p.apply(r, false)
		}
	}
	return nil, errorOf(outcome, r)
}

// late sends the request after time has passed, unless the process has crashed meanwhile.
func (p *Process) late(r *server.Request, waits bool) (client.Object, error) {
	if p.dead {
		return nil, errCrashed
	}
	return p.apply(r, waits)
}

func (p *Process) apply(r *server.Request, waits bool) (client.Object, error) {
	answer, err := p.world.Server.Do(r)
	switch {
	case err != nil:
		if p.say("%s: %v", r, err); apierrors.IsConflict(err) {
			p.failedAt = p.world.Clock.Now()
		}
	case waits:
		p.pendingWrites[r.Kind] = p.world.Server.Length(r.Kind)
	}
	return answer, err
}

// IsHindered reports whether faults kept the process from a read or a write in the last seconds, or its cache from changes of the job (NoteLag).
func (p *Process) IsHindered() bool { return p.world.Clock.Since(p.failedAt) < 5*time.Second }

// NoteLag notes whether the cache of the leader lacks changes of the job, of others or its own. It is called at each moment.
func (p *Process) NoteLag() {
	switch now := p.world.Clock.Now(); {
	case !p.Leads || p.Cache.Behind(server.Jobs) == 0:
		p.behindSince = time.Time{}
	case p.behindSince.IsZero():
		p.behindSince = now
	case now.Sub(p.behindSince) >= 3*time.Second: // much more than it takes in a cluster
		p.failedAt = now
	}
}

// delayed returns the request as it arrives when its process has crashed or got its answer.
func delayed(r *server.Request) *server.Request {
	again := *r
	if d, known := r.Note.(*Decision); known && d != nil {
		decision := *d
		decision.Late = true
		again.Note = &decision
	}
	return &again
}

// recorder hears the Events of a process.
type recorder struct{ process *Process }

// Eventf tells an Event.
//
//nolint:revive // the interface of client-go has as many arguments
func (r recorder) Eventf(regarding, _ runtime.Object, _, reason, _, note string, args ...any) {
	p := r.process
	if _, isJob := regarding.(*v1alpha1.TrainingJob); !isJob || p.dead {
		return
	}
	message := note
	if len(args) == 1 {
		message, _ = args[0].(string)
	}
	p.say("event %s: %s", reason, message)
	if p.world.Event != nil {
		p.world.Event(p.decision, reason, message)
	}
}

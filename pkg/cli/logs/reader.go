package logs

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/trainingjob/operator/pkg/job/state"
)

// reader reads the log of one container to its end.
type reader struct {
	opener         Opener
	pod, container string
	first          Options
	// look returns what is known of the container now, and a channel that is closed when that may have changed.
	look func() (Container, <-chan struct{})
	// wants reports whether lines of a life are wanted.
	wants func(state.Life) bool
	// take takes the next wanted line; it returns false when no more lines are wanted.
	take func(Line) bool
	// pause is how long to wait before a log that broke off is opened again.
	pause time.Duration
	// unread, if it is set, gets the reason why the log cannot be read, after mostFailures readings in a row.
	unread func(error)

	position position
	begun    bool
	restarts int32
	// life is the life of the container of this log.
	life state.Life
	// ended is whether the latest reading ended and did not break off; broken is why it did.
	ended  bool
	broken error
	// lost is why lines may be missing.
	lost error
	// failures is how many readings in a row have failed.
	failures int
}

// mostFailures is how many readings in a row may fail before the user learns why: about 5 s.
const mostFailures = 10

var (
	errGone     = errors.New("its log is gone")
	errUnwanted = errors.New("the reader has stopped")
	// errRestarted is the error for a container that restarted while its log was opened.
	errRestarted = errors.New("its container is being started again")
)

// follow reads until the container has ended and all lines are read. It returns an error about lines that may be missing.
func (r *reader) follow(ctx context.Context) error {
	for ctx.Err() == nil {
		is, changed := r.look()
		switch {
		case is.Gone:
			return r.finish(is)
		case !is.Started, is.Restarting: // the rest of the log is the log of the container before
			wait(ctx, changed, 0)
			continue
		}
		switch next, err := r.afterReading(r.read(ctx, is, true), is); next {
		case done:
			return err
		case later:
			r.reportUnread()
			wait(ctx, changed, r.pause)
		}
	}
	return nil
}

// next is the step after a reading.
type next int

const (
	// done: nothing.
	done next = iota
	// later: another reading, when something has changed or after a pause.
	later
	// again: another reading at once.
	again
)

// afterReading returns the step after a reading that ended with that error, for a container with that state before it.
func (r *reader) afterReading(err error, is Container) (next, error) {
	switch {
	case errors.Is(err, errUnwanted):
		return done, nil
	case errors.Is(err, errRestarted):
		return again, nil
	case err == nil:
		r.ended, r.broken = true, nil
		switch {
		case !is.Ended:
			return later, nil
		case r.position.isConfirmed():
			return done, r.finish(is)
		}
		return again, nil
	case errors.Is(err, errGone) && r.ended: // its end was read, and the kubelet has taken it away since
		return done, r.finish(is)
	case isFinal(err), errors.Is(err, errGone) && is.Ended:
		return done, err
	case !isStarting(err) && !apierrors.IsNotFound(err):
		r.ended, r.broken = false, err
	}
	return later, nil
}

// reportUnread passes on, once in a row of failed readings, why the log cannot be read.
func (r *reader) reportUnread() {
	if r.broken == nil {
		r.failures = 0
		return
	}
	if r.failures++; r.failures == mostFailures && r.unread != nil {
		r.unread(r.broken)
	}
}

// finish takes the remaining text when nothing more comes. It returns an error if lines may be missing.
func (r *reader) finish(is Container) error {
	r.takePartial()
	switch broken := cmp.Or(r.lost, r.broken); {
	case broken != nil:
		return fmt.Errorf("the end of its log may be missing: %w", broken)
	case is.Gone && is.Started && !r.begun:
		return fmt.Errorf("%w: the pod was gone before it could be read", errGone)
	}
	return nil
}

// once reads what there is.
func (r *reader) once(ctx context.Context) error {
	is, _ := r.look()
	if !is.Started {
		return nil
	}
	err := r.read(ctx, is, false)
	if errors.Is(err, errUnwanted) || isStarting(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.finish(is)
}

// read reads the log from the last position. If the container has restarted since, the rest of the old log comes first.
func (r *reader) read(ctx context.Context, is Container, follow bool) error {
	if r.first.Previous {
		r.life = is.Before
		return r.stream(ctx, Options{Previous: true, Tail: r.first.Tail, From: r.first.From})
	}
	if is.Restarts > r.restarts && (r.begun || r.first.Tail < 0 && r.wants(is.Before)) {
		r.life = is.Before
		if err := r.readBefore(ctx); err != nil {
			return err
		}
	}
	o := Options{Follow: follow, From: r.from(), Tail: r.first.Tail}
	if r.begun {
		o.Tail = -1
	}
	r.restarts, r.life = is.Restarts, is.Life
	return r.stream(ctx, o)
}

// readBefore reads the rest of the log of the container before its restart.
func (r *reader) readBefore(ctx context.Context) error {
	for {
		err := r.stream(ctx, Options{Previous: true, From: r.from(), Tail: -1})
		switch {
		case errors.Is(err, errGone), apierrors.IsBadRequest(err): // the kubelet keeps one log before the present one
			r.lost = err
		case err != nil:
			return err
		case !r.position.isConfirmed():
			continue
		}
		r.takePartial()
		r.position.turn()
		return nil
	}
}

// from begins a reading and returns from when on lines are needed.
func (r *reader) from() time.Time {
	from := r.position.cursor.Begin()
	if from.Before(r.first.From) {
		return r.first.From
	}
	return from
}

// stream takes the new lines of one stream.
func (r *reader) stream(ctx context.Context, o Options) error {
	log, err := r.opener.Open(ctx, r.pod, r.container, o)
	if err != nil {
		return err
	}
	defer log.Close()
	if is, _ := r.look(); !o.Previous && is.Restarts != r.restarts {
		return errRestarted // the container of this log is unknown
	}
	r.begun = true
	r.position.begin()
	in := bufio.NewReaderSize(log, 64<<10)
	for {
		text, err := in.ReadString('\n')
		if err == nil {
			err = r.takeLine(text)
		} else if errors.Is(err, io.EOF) {
			return r.position.keepPartial(text)
		}
		if err != nil {
			return err
		}
	}
}

// takeLine takes the line if it was not read before.
func (r *reader) takeLine(text string) error {
	line, isNew, err := r.position.pass(text)
	line.Life = r.life
	if err == nil && isNew && r.wants(line.Life) && !r.take(line) {
		return errUnwanted
	}
	return err
}

// takePartial takes the last text of a container that has no end of line.
func (r *reader) takePartial() {
	if line, is := r.position.passPartial(); is && r.wants(r.life) {
		line.Life = r.life
		r.take(line)
	}
}

// isFinal reports whether it is no use to try again.
func isFinal(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }

// isStarting reports whether the container has no log yet.
func isStarting(err error) bool {
	return apierrors.IsBadRequest(err) // "container is waiting to start: ContainerCreating"
}

// wait waits until changed is closed, the time is over (0: never) or the context ends.
func wait(ctx context.Context, changed <-chan struct{}, atMost time.Duration) {
	var over <-chan time.Time
	if atMost > 0 {
		timer := time.NewTimer(atMost)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-ctx.Done():
	case <-changed:
	case <-over:
	}
}

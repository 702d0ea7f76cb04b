package logs

import (
	"cmp"
	"context"

	"github.com/trainingjob/operator/pkg/job/state"
)

// mostHeld is how many lines of one source wait for lines of other sources.
const mostHeld = 2048

// followed is a source whose log is read on behalf of a run.
type followed struct {
	Source
	run *run
	// number is the number of the source in the merger and in events.
	number int
	// tokens bound how many of its lines are held.
	tokens chan struct{}
}

// read reads the source to its end, from the beginning that first sets.
func (f *followed) read(ctx context.Context, first Options) {
	first.Previous = f.Before
	container := f.run.containerOf(f.Pod)
	isMain := container == state.MainContainer(f.Pod)
	reader := &reader{
		opener: f.run.cluster, pod: f.Pod.Name, container: container, first: first, pause: pause, wants: f.Wants,
		look: f.look, position: position{patience: patience},
		take: func(line Line) bool {
			if !isMain {
				line.Life = f.lifeNow()
			}
			return f.take(ctx, line)
		},
	}
	reader.unread = func(err error) { f.report(event{number: f.number, err: err}) }
	var err error
	if f.run.Follow {
		err = reader.follow(ctx)
	} else {
		err = reader.once(ctx)
	}
	f.report(event{number: f.number, ended: true, err: err})
}

// report passes an event to the run, unless the run has ended.
func (f *followed) report(e event) {
	select {
	case f.run.events <- e:
	case <-f.run.quit:
	}
}

// take passes a line on as soon as there is room for it; it returns false after the end of the run.
func (f *followed) take(ctx context.Context, line Line) bool {
	select {
	case f.tokens <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	select {
	case f.run.events <- event{number: f.number, line: line}:
		return true
	case <-ctx.Done():
		return false
	}
}

// lifeNow returns the life that the pod's main container runs: its side-cars go on while that is restarted in place.
func (f *followed) lifeNow() state.Life {
	return containerIn(f.run.first.Name, cmp.Or(f.run.cluster.Pod(f.Pod.Name, f.Pod.UID), f.Pod), "").Life
}

// look returns what is known of the source's container now.
func (f *followed) look() (Container, <-chan struct{}) {
	scene, changed := f.run.cluster.See()
	pod := f.run.cluster.Pod(f.Pod.Name, f.Pod.UID)
	if pod == nil {
		is := containerIn(scene.Job.Name, f.Pod, f.run.containerOf(f.Pod))
		is.Gone = true
		return is, changed
	}
	is := containerIn(scene.Job.Name, pod, f.run.containerOf(pod))
	if !is.Started && isOver(scene) { // it will not start any more
		is.Gone = true
	}
	return is, changed
}

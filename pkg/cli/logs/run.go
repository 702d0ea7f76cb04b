package logs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/advice"
	"github.com/trainingjob/operator/pkg/job/state"
)

const (
	// mostSources is how many logs are read at a time: each is a connection to a kubelet.
	mostSources = 256
	// silence is how long a source that is followed may hold up the others.
	silence = 400 * time.Millisecond
	// tick is how often lines that are held back are looked at.
	tick = 50 * time.Millisecond
	// pause is how long a log that broke off rests before it is opened again.
	pause = 500 * time.Millisecond
	// patience is how many readings of a log may lack the line that was read last, until that line is gone.
	patience = 5
	// lastWords is how long pods of a job that has finished, or is gone, are read beyond the time that they have to end.
	lastWords = 40 * time.Second
)

// run is one run of a request.
type run struct {
	Request
	cluster Cluster
	chooser *chooser
	merger  Merger
	events  chan event
	// quit is closed when no reader takes events any more.
	quit chan struct{}
	// first is the job at the beginning: earlier lives are read only on request.
	first   *v1alpha1.TrainingJob
	sources []*followed
	known   map[types.UID]bool
	// reading is how many readers have not ended.
	reading int
	// part is which part of a log is read: what the request leaves out it leaves out of the pods that are there at the beginning only.
	part   Options
	failed []error
	// isUnread is whether the user knows that a log cannot be read at present.
	isUnread bool
}

// event is a line of a source, its end, or why it cannot be read at present.
type event struct {
	number int
	line   Line
	ended  bool
	err    error
}

// Run reads the logs of a job. Without Follow it returns an error if one could not be read, or there is none.
func Run(ctx context.Context, cluster Cluster, request Request) error {
	scene, _ := cluster.See()
	if request.Previous && request.Follow {
		return errors.New("--previous is over, so there is nothing to follow: leave --follow out")
	}
	chooser, err := request.check(scene.Job)
	if err != nil {
		return err
	}
	r := &run{
		Request: request, cluster: cluster, chooser: chooser, events: make(chan event), quit: make(chan struct{}), first: scene.Job, known: map[types.UID]bool{},
		merger: Merger{Silence: silence}, part: Options{Tail: request.Tail, From: request.From},
	}
	if !r.Follow {
		r.merger.Silence = -1
	}
	reading, stop := context.WithCancel(ctx)
	defer stop()
	defer close(r.quit)
	if err := r.loop(reading, stop); err != nil {
		return err
	}
	if cluster := state.ClusterOf(scene.Job); !r.Follow && len(r.sources) == 0 && cluster != "" {
		return fmt.Errorf("the pods of %s are in cluster %s: use kubectl tj logs with the --context of that cluster", scene.Job.Name, cluster)
	}
	if !r.Follow && len(r.sources) == 0 {
		return fmt.Errorf("no such pod of %s is there, and a log goes with its pod: see %s", scene.Job.Name, r.Reader.Command(advice.Status))
	}
	if !r.Follow {
		return first(r.failed)
	}
	return ctx.Err()
}

// first returns the first of the errors, and how many more there are; nil if there are none.
func first(failed []error) error {
	switch len(failed) {
	case 0:
		return nil
	case 1:
		return failed[0]
	default:
		return fmt.Errorf("%w; and %d more could not be read", failed[0], len(failed)-1)
	}
}

// loop starts readers, gathers their lines and prints them in order, until nothing more comes.
func (r *run) loop(ctx context.Context, stop func()) error {
	scene, changed := r.cluster.See()
	if err := r.start(ctx, scene); err != nil {
		return err
	}
	var deadline <-chan time.Time
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		if err := r.print(); err != nil || r.isDone(ctx, scene) {
			return err
		}
		if r.Follow && deadline == nil && isOver(scene) {
			deadline = time.After(lastWords + scene.Job.Spec.RunPolicy.FinishGrace())
		}
		select {
		case e := <-r.events:
			r.apply(e)
		case <-changed:
			scene, changed = r.cluster.See()
			if err := r.start(ctx, scene); err != nil {
				return err
			}
		case <-deadline:
			stop()
		case <-ticker.C:
		}
	}
}

// isDone reports whether everything was printed and nothing more comes.
func (r *run) isDone(ctx context.Context, scene Scene) bool {
	return r.reading == 0 && r.merger.IsEmpty() && (!r.Follow || isOver(scene) || ctx.Err() != nil)
}

// start starts a reader for each chosen pod without one. Tail and From cut lines from before the first look; from later pods every line
// counts.
func (r *run) start(ctx context.Context, scene Scene) error {
	sources, err := r.chooser.sources(r.first, scene.Pods, r.Follow)
	if err != nil {
		return err
	}
	if sources, err = r.withContainer(sources); err != nil {
		return err
	}
	sources = slices.DeleteFunc(sources, func(s Source) bool { return r.known[s.Pod.UID] })
	if len(sources)+r.reading > mostSources {
		return fmt.Errorf("%d logs at once are too many: choose at most %d ranks, such as --rank 0-%d, or --rank 0,last", len(sources)+r.reading, mostSources, mostSources-1)
	}
	for _, s := range sources {
		r.known[s.Pod.UID] = true
		f := &followed{Source: s, run: r, number: r.merger.Open(time.Now()), tokens: make(chan struct{}, mostHeld)}
		r.sources = append(r.sources, f)
		r.reading++
		go f.read(ctx, r.part)
	}
	r.part = Options{Tail: -1}
	return nil
}

// apply takes an event into account.
func (r *run) apply(e event) {
	if !e.ended && e.err != nil {
		r.reportUnread(e)
		return
	}
	if !e.ended {
		r.merger.Add(e.number, e.line, time.Now())
		return
	}
	r.reading--
	r.merger.Close(e.number)
	if e.err != nil {
		f := r.sources[e.number]
		err := fmt.Errorf("%s, attempt %d: %w", f.Slot, f.Life.Attempt, e.err)
		r.failed = append(r.failed, err)
		if r.Follow {
			r.Say(err.Error())
		}
	}
}

// reportUnread shows why a log cannot be read at present. The reason is mostly the same for all logs, so it shows one.
func (r *run) reportUnread(e event) {
	if f := r.sources[e.number]; !r.isUnread {
		r.isUnread = true
		r.Say(fmt.Sprintf("%s, attempt %d: its log cannot be read yet, and is tried again: %v", f.Slot, f.Life.Attempt, e.err))
	}
}

// print prints every line that no earlier line can precede.
func (r *run) print() error {
	for {
		number, line, ok := r.merger.Next(time.Now())
		if !ok {
			return nil
		}
		f := r.sources[number]
		<-f.tokens
		if err := r.Print(&f.Source, line); err != nil {
			return err
		}
	}
}

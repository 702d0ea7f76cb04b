package logs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// Cluster is where the logs are.
type Cluster interface {
	Opener
	// See returns the job and its pods as they are now, and a channel that is closed when that may have changed.
	See() (Scene, <-chan struct{})
	// Pod returns the pod of that name and UID as it is now; nil if it is gone.
	Pod(name string, uid types.UID) *corev1.Pod
}

// Scene is a job and its pods at one moment. Gone is whether the job was deleted.
type Scene struct {
	Job  *v1alpha1.TrainingJob
	Pods []corev1.Pod
	Gone bool
}

// Request says what is read and where it goes.
type Request struct {
	Choice
	// Follow goes on until the job has finished.
	Follow bool
	// Tail leaves out all but the last lines of each pod that is there at the beginning; negative for none.
	Tail int64
	// From leaves out what is older; zero for none.
	From time.Time
	// Container is read in each pod; empty for the main one.
	Container string
	// Print prints a line. Its error ends everything.
	Print func(*Source, Line) error
	// Say tells the user something that is no line.
	Say func(string)
}

const (
	// mostSources is how many logs are read at a time: each is a connection to a kubelet.
	mostSources = 256
	// mostHeld is how many lines of one source wait for those of others.
	mostHeld = 2048
	// silence is how long a source that is followed may hold up the others.
	silence = 400 * time.Millisecond
	// tick is how often lines that are held back are looked at.
	tick = 50 * time.Millisecond
	// pause is how long a log that broke off rests before it is opened again.
	pause = 500 * time.Millisecond
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
	// quit is closed when nobody takes events any more.
	quit chan struct{}
	// first is the job as it was at the beginning: lives before that are not read unless they are asked for.
	first   *v1alpha1.TrainingJob
	sources []*open
	known   map[types.UID]bool
	// reading is how many readers have not ended.
	reading int
	// late is whether the pods that were there at the beginning have their readers.
	late   bool
	failed []error
}

// open is a source that is read. Its tokens bound how many of its lines are held.
type open struct {
	Source
	tokens chan struct{}
}

// event is a line of a source, or its end.
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
		merger: Merger{Silence: silence},
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
	if !r.Follow && len(r.sources) == 0 {
		return fmt.Errorf("no such pod of %s is there, and a log goes with its pod: see kubectl tj status %s", scene.Job.Name, scene.Job.Name)
	}
	if !r.Follow {
		return errors.Join(r.failed...)
	}
	return ctx.Err()
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
			deadline = time.After(lastWords + time.Duration(ptr.Deref(scene.Job.Spec.RunPolicy.FinishGraceSeconds, v1alpha1.DefaultFinishGraceSeconds))*time.Second)
		}
		select {
		case e := <-r.events:
			r.heed(e)
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

// isOver reports whether no new pods come.
func isOver(s Scene) bool {
	return s.Gone || s.Job.Status.Phase == v1alpha1.PhaseSucceeded || s.Job.Status.Phase == v1alpha1.PhaseFailed
}

// start starts a reader for each chosen pod that has none. What was said before the first look is cut by Tail and From; of pods that
// come later every line counts.
func (r *run) start(ctx context.Context, scene Scene) error {
	sources, err := r.chooser.sources(r.first, scene.Pods, r.Follow)
	if err != nil {
		return err
	}
	sources = slices.DeleteFunc(sources, func(s Source) bool { return r.known[s.Pod.UID] })
	if len(sources)+r.reading > mostSources {
		return fmt.Errorf("%d logs at once are too many: choose at most %d ranks, such as --rank 0-%d, or --rank 0,last", len(sources)+r.reading, mostSources, mostSources-1)
	}
	for _, s := range sources {
		r.known[s.Pod.UID] = true
		o := &open{Source: s, tokens: make(chan struct{}, mostHeld)}
		r.sources = append(r.sources, o)
		number := r.merger.Open(time.Now())
		r.reading++
		go r.read(ctx, number, o, r.late)
	}
	r.late = true
	return nil
}

// read reads one source to its end.
func (r *run) read(ctx context.Context, number int, o *open, late bool) {
	reader := &reader{
		opener: r.cluster, pod: o.Pod.Name, container: r.containerOf(o.Pod), pause: pause,
		first: Options{Tail: r.Tail, From: r.From},
		look:  func() (Container, <-chan struct{}) { return r.look(o) },
		take: func(line Line) bool {
			select {
			case o.tokens <- struct{}{}:
			case <-ctx.Done():
				return false
			}
			return r.send(ctx, event{number: number, line: line})
		},
	}
	if late {
		reader.first = Options{Tail: -1}
	}
	reader.first.Previous = o.Before
	var err error
	if r.Follow {
		err = reader.follow(ctx)
	} else {
		err = reader.once(ctx)
	}
	select {
	case r.events <- event{number: number, ended: true, err: err}:
	case <-r.quit:
	}
}

// send hands an event over; it returns false if nobody takes it any more.
func (r *run) send(ctx context.Context, e event) bool {
	select {
	case r.events <- e:
		return true
	case <-ctx.Done():
		return false
	}
}

// look returns what is known of the source's container now.
func (r *run) look(o *open) (Container, <-chan struct{}) {
	scene, changed := r.cluster.See()
	pod := r.cluster.Pod(o.Pod.Name, o.Pod.UID)
	if pod == nil {
		is := containerIn(o.Pod, r.containerOf(o.Pod))
		is.Gone = true
		return is, changed
	}
	is := containerIn(pod, r.containerOf(pod))
	if !is.Started && isOver(scene) { // it will not start any more
		is.Gone = true
	}
	return is, changed
}

// containerOf returns the name of the container that is read.
func (r *run) containerOf(pod *corev1.Pod) string {
	if r.Container != "" {
		return r.Container
	}
	if name := pod.Annotations[state.AnnotationMain]; name != "" {
		return name
	}
	return pod.Spec.Containers[0].Name
}

// containerIn returns what a pod's status says of a container.
func containerIn(pod *corev1.Pod, name string) Container {
	over := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if c.Name == name {
			return Container{
				Started:  c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil,
				Ended:    c.State.Terminated != nil && (over || pod.Spec.RestartPolicy == corev1.RestartPolicyNever && !mayRestart(pod, name)),
				Restarts: c.RestartCount,
			}
		}
	}
	return Container{Gone: over}
}

// mayRestart reports whether the kubelet may start the container again in its pod.
func mayRestart(pod *corev1.Pod, name string) bool {
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if c.Name == name {
			return c.RestartPolicy != nil || len(c.RestartPolicyRules) > 0
		}
	}
	return false
}

// heed takes an event into account.
func (r *run) heed(e event) {
	if !e.ended {
		r.merger.Add(e.number, e.line, time.Now())
		return
	}
	r.reading--
	r.merger.Close(e.number)
	if e.err != nil {
		o := r.sources[e.number]
		err := fmt.Errorf("%s, attempt %d: %w", o.Slot, o.Life.Attempt, e.err)
		r.failed = append(r.failed, err)
		if r.Follow {
			r.Say(err.Error())
		}
	}
}

// print prints every line of which it is known that none comes before it.
func (r *run) print() error {
	for {
		number, line, ok := r.merger.Next(time.Now())
		if !ok {
			return nil
		}
		o := r.sources[number]
		<-o.tokens
		if err := r.Print(&o.Source, line); err != nil {
			return err
		}
	}
}

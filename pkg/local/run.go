package local

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/folder"
	"github.com/trainingjob/operator/pkg/local/kubelet"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/pkg/operator/journal"
)

// Options are a job and how to run it.
type Options struct {
	Job        *v1alpha1.TrainingJob
	ConfigMaps map[string]map[string]string
	// Claims are the folders of claims by name, and Paths what paths of containers are here.
	Claims map[string]string
	Paths  kubelet.Paths
	// Command is the command of containers without one.
	Command []string
	// Devices are the GPUs of this machine.
	Devices []string
	// Nodes is the number of nodes.
	Nodes  int
	Faults []Fault
	// LostAfter is how long a node is not ready before its pods count as lost.
	LostAfter time.Duration
	// Folder takes the logs, and during the run the files of pods.
	Folder string
	Screen Screen
	// Watch, if set, is called after every write to the API server.
	Watch func(*server.Change)
}

// Screen shows a run. Only Line is called from other goroutines than the caller's.
type Screen interface {
	// Event shows an Event of the operator.
	Event(reason, message string)
	// Say shows what a user, a node or a process does.
	Say(who, text string)
	// Line shows a line of a replica's main container.
	Line(replica, text string)
	// Show shows the job and its pods, after each change.
	Show(job *v1alpha1.TrainingJob, pods []*corev1.Pod)
}

// Result is the history of a run.
type Result struct {
	Job    *v1alpha1.TrainingJob
	Pods   []corev1.Pod
	Events []corev1.Event
	// Lines are the lines of the operator's log.
	Lines []journal.Line
}

// run is a run of a job.
type run struct {
	Options
	server   *server.Server
	operator *operator
	kubelet  *kubelet.Kubelet
	work     chan func()
	// over is closed at the end of the run.
	over    chan struct{}
	changed []client.ObjectKey
	faults  []Fault
	// ran is when all replicas ran for the first time, stops when the processes end that the job does not need any more.
	ran, stops time.Time
	// saves is when the state is written; zero if nothing has changed.
	saves  time.Time
	result Result
	shown  string
}

// stopWithin is how long processes have to end after an interrupt.
const stopWithin = 5 * time.Second

// Run runs the job until it has finished and no process of it is left, or until the context ends. The caller's thread must be its own: it
// starts all processes, and the kernel ends them with it.
func Run(ctx context.Context, o Options) (*Result, error) {
	runtime.LockOSThread()
	r := &run{Options: o, server: server.New(clock.RealClock{}), work: make(chan func(), 64), over: make(chan struct{}), faults: o.Faults}
	if err := folder.Make(o.Folder); err != nil {
		return nil, err
	}
	r.begin()
	for r.step(ctx) {
		if err := r.save(); err != nil {
			return nil, err
		}
		r.wait(ctx)
	}
	return &r.result, r.end()
}

// begin creates the nodes and the job.
func (r *run) begin() {
	names := NewNames(r.Job)
	names.avoidBusy()
	root, _ := os.Getwd() // without one, lives have no layers
	r.kubelet = kubelet.New(kubelet.Options{
		Root: root, Say: func(text string) { r.Screen.Say("files", text) },
		Server: r.server, Folder: r.Folder, ConfigMaps: r.ConfigMaps, Claims: r.Claims, Paths: r.Paths, Devices: r.Devices, Command: r.Command,
		Post: r.post, Address: names.Address, Translate: names.Replace,
		Log: r.logOf, Line: r.line,
	})
	r.server.Watch(func(c *server.Change) {
		if c.Kind == server.Pods {
			r.podChanged(c)
		}
		if r.Watch != nil {
			r.Watch(c)
		}
	})
	r.createNodes()
	r.operator = newOperator(r.server, names, r.LostAfter, r.post)
	r.operator.happened = func(lines []journal.Line) { r.result.Lines = append(r.result.Lines, lines...) }
	r.operator.emitted = func(e corev1.Event) {
		r.result.Events = append(r.result.Events, e)
		r.Screen.Event(e.Reason, e.Message)
	}
	r.do(&server.Request{Verb: server.Create, Kind: server.Jobs, Key: r.operator.job, Object: r.Job})
}

// post runs a function in the loop of the run. After its end it does nothing.
func (r *run) post(f func()) {
	select {
	case r.work <- f:
	case <-r.over:
	}
}

// do does a request that cannot fail.
func (r *run) do(request *server.Request) {
	request.User = "local"
	if _, err := r.server.Do(request); err != nil {
		panic(fmt.Sprintf("%s: %v", request, err))
	}
}

// podChanged has the pod looked at, after the write that is under way.
func (r *run) podChanged(c *server.Change) {
	if c.Is == nil {
		r.kubelet.Gone(c.Was.GetUID())
		return
	}
	r.changed = append(r.changed, client.ObjectKeyFromObject(c.Is))
}

// step lets all parts act until none has anything to do, and reports whether the run goes on.
func (r *run) step(ctx context.Context) bool {
	for acts := true; acts; {
		acts = r.syncPods()
		if ctx.Err() == nil {
			r.breakAll()
			acts = r.operator.act(ctx) || acts
		}
	}
	r.show()
	job := r.job()
	switch {
	case ctx.Err() != nil:
		r.kubelet.Stop(stopWithin)
		return r.kubelet.Running() > 0
	case !state.HasFinished(job):
		return true
	case r.stops.IsZero():
		grace := job.Spec.RunPolicy.FinishGrace()
		r.stops = time.Now().Add(grace + cleanWithin)
		if n := r.kubelet.Running(); n > 0 {
			r.Screen.Say("job", fmt.Sprintf("has ended; %s %.0f s to end (runPolicy.finishGraceSeconds)", have(n), grace.Seconds()))
		}
	case !time.Now().Before(r.stops):
		r.kubelet.Stop(stopWithin)
	}
	return r.kubelet.Running() > 0
}

// cleanWithin is how long the operator has to delete the pods of a job that has finished.
const cleanWithin = 2 * time.Second

// syncPods lets scheduler and kubelet act on the pods that have changed, and reports whether there were any.
func (r *run) syncPods() bool {
	changed := r.changed
	r.changed = nil
	for _, key := range changed {
		pod, _ := r.server.Get(server.Pods, key.Namespace, key.Name).(*corev1.Pod)
		switch {
		case pod == nil:
		case pod.Spec.NodeName == "":
			r.place(pod)
		default:
			r.kubelet.Sync(pod)
		}
	}
	return len(changed) > 0
}

// wait waits for an event or for the next time at which something is due.
func (r *run) wait(ctx context.Context) {
	next := state.Earliest(r.operator.queue.At(), r.nextFault(), r.stops, r.saves)
	timer := time.NewTimer(time.Hour)
	if !next.IsZero() {
		timer.Reset(max(time.Until(next), time.Millisecond))
	}
	defer timer.Stop()
	interrupted := ctx.Done()
	if ctx.Err() != nil { // only processes that end are left
		interrupted = nil
	}
	select {
	case f := <-r.work:
		f()
	case <-timer.C:
	case <-interrupted:
		r.Screen.Say("you", fmt.Sprintf("stop: %s %v to end", have(r.kubelet.Running()), stopWithin))
	}
}

func have(processes int) string {
	if processes == 1 {
		return "1 process has"
	}
	return fmt.Sprintf("%d processes have", processes)
}

func (r *run) job() *v1alpha1.TrainingJob {
	job, _ := r.server.Get(server.Jobs, r.Job.Namespace, r.Job.Name).(*v1alpha1.TrainingJob)
	return job
}

func (r *run) pods() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, o := range r.server.List(server.Pods) {
		pods = append(pods, o.(*corev1.Pod))
	}
	return pods
}

// logOf returns the name of the log of a container in its pod's present life.
func (r *run) logOf(pod *corev1.Pod, container string) string {
	_, lives, _ := state.LivesOf(r.Job.Name, pod)
	return folder.LogName(r.Job.Name, pod, container, lives.Next)
}

func (r *run) line(pod *corev1.Pod, container, text string) {
	replica := pod.Name
	if slot, _, ok := state.ParsePodName(r.Job.Name, pod.Name); ok {
		replica = slot.String()
	}
	if container != state.MainContainer(pod) {
		replica += "/" + container
	}
	r.Screen.Line(replica, text)
}

package world

import (
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/kubeflow/serve"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/builder"
)

// The users that the hands of the world write as.
const (
	Scheduler      = "scheduler"
	Kubelet        = "kubelet"
	Kubeflow       = "kubeflow"
	NodeController = "node-controller"
	User           = "user"
	Operator       = "operator"
)

// World is a cluster with one job in it.
type World struct {
	Server *server.Server
	Clock  *Clock
	// Key is the job's name and namespace.
	Key client.ObjectKey
	// Chance is nil if all goes its ordinary way.
	Chance *rand.Rand
	// Habits say how often things go wrong by chance.
	Habits Habits
	// NoImage are the host names whose image is never pulled.
	NoImage map[string]bool
	// Unstartable are the host names whose first container, or init container, cannot be started or fails.
	Unstartable map[string]bool
	// Deaf are the host names whose pods do not end when they are told to.
	Deaf map[string]bool
	// Homeless are the host names whose pods fit on no node.
	Homeless map[string]bool
	// Rejecting is why nodes turn away the pods that come to them, by name.
	Rejecting map[string]string
	// SideLoaded are the nodes whose images came without a registry, so that they do not know them by a digest, and Fragile those whose
	// kubelet is killed whenever it starts a container again, by name.
	SideLoaded, Fragile map[string]bool
	// OldKubelets is whether kubelets know no restart rules of containers, as those before 1.35.
	OldKubelets bool
	// Skew is by how much the clocks of nodes are ahead, by name.
	Skew map[string]time.Duration
	// Polite is the exit code of pods that are told to end.
	Polite int32
	// Racks are the domains of nodes, by name; a group that is to have one takes any node without them.
	Racks map[string]string
	// Unchecked is whether the first init containers of evaluators run on.
	Unchecked bool
	// NoNodes is whether the scheduler finds a place for no pod, and NoClaims for none with a claim: the claims are not there.
	NoNodes, NoClaims bool
	// Unreachable is whether the network keeps the operator from the pods, and Stopped whether their processes take connections and answer none.
	Unreachable, Stopped bool
	// Reading are the stacks that the ranks serve.
	Reading Reading
	// Leases are the Leases of nodes.
	Leases Leases
	// Crowded is until when a quota on the number of objects keeps the operator from keeping logs.
	Crowded time.Time
	// Room is how many pods that can run fit on a node; 0 for any number.
	Room int
	// Say, if set, hears the story.
	Say func(format string, args ...any)

	// Counts is how often each kind of thing has happened.
	Counts map[string]int
	// Looks counts how often the controller of the Kubeflow job has looked at its TrainingJob.
	Looks int

	// served is the Kubeflow job that the TrainingJob serves; nil for none.
	served *serve.Served
	// nodes are the names of all nodes that there ever were.
	nodes []string
	bound int
	// requests is how many restarts were asked for.
	requests int
	// downAt is when the node controller notices, or has noticed, that a node is cut off.
	downAt map[string]time.Time
	// endedAt is when the processes of pods ended, by the world's own clock.
	endedAt map[types.UID]time.Time
	// images are the names of the images that the containers of pods were started with, and processes counts the containers started.
	images    map[types.UID]map[int]string
	processes int
	// checks are from and until when the preflight checks of pods run.
	checks map[types.UID]span
	// sweepAt is when the garbage collector removes the pods of a node.
	sweepAt map[string]time.Time
	// faults are by process what ended it or is to end it, following are the ends to come, and stopped the processes that the operator ends.
	faults    map[process]*Fault
	following []consequence
	// reports are the ends that kubelets have yet to report.
	reports []report
	// closings are the pods whose kubelet ended them as it started, and has yet to say why.
	closings []closing
	// ended are the processes that a fault has ended.
	stopped, ended map[process]bool
	// pages are the progress pages, by pod.
	pages    map[types.UID]page
	training training
}

// Habits say how often things go wrong: percents, and one in how many.
type Habits struct {
	// Failing is in how many percent of the moments a pod fails, Strange in how many its kubelet ends or forgets it, and
	// Unstartable in how many of its starts it cannot be started.
	// Programless in how many of these its image lacks the program.
	Failing, Strange, Unstartable, Programless int
	// Following is in how many percent of the cases a process does not go on that has lost one that it needs.
	Following int
	// SideCarCode is how side-cars end with the main container, and InitCode how init containers fail; 0 is 1 of a preflight check, 5 of others.
	SideCarCode, InitCode int32
	// Late is within which time a kubelet reports the end of a process, or that it evicts a pod; 0 is at once.
	Late time.Duration
	// Lazy is how slowly pods end that were told to: one in so many moments.
	Lazy int
	// Succeeding is one in how many moments a pod succeeds; 0 for never.
	Succeeding int
	// Agents is what the pods of a PyTorch job run.
	Agents Agents
	// Staying says that side-cars never end by themselves.
	Staying bool
	// Serving is the role, in lower case, whose pods do not end by themselves.
	Serving string
	// Training is whether the ranks make steps by themselves, and WarmUp how long a process takes to report its first one.
	Training bool
	WarmUp   time.Duration
	// BackOff is how long a kubelet waits before it starts a container again that it has started again before; 0 is as long as the first time.
	BackOff time.Duration
	// Spread is whether the scheduler takes a node in turn, whatever pods prefer: other preferences outweigh theirs.
	Spread bool
	// Checking is how long the preflight checks of pods take at most; 0 is no time.
	Checking time.Duration
	// Forgetful is one in how many evictions in two versions whose kubelet loses the containers and never says when they ended; 0 for none.
	Forgetful int
}

// Clock is a clock that stands still until it is moved.
type Clock struct{ now time.Time }

// Now returns the time.
func (c *Clock) Now() time.Time { return c.now }

// Since returns the time that has passed since t.
func (c *Clock) Since(t time.Time) time.Duration { return c.now.Sub(t) }

// Pass moves the clock on.
func (c *Clock) Pass(d time.Duration) { c.now = c.now.Add(d) }

// Elapsed returns the time since the world began.
func (c *Clock) Elapsed() time.Duration { return c.now.Sub(builder.Epoch) }

// New returns a world with three nodes and no job.
func New() *World {
	clock := &Clock{now: builder.Epoch}
	w := &World{
		Server: server.New(clock), Clock: clock, NoImage: map[string]bool{}, Unstartable: map[string]bool{}, Deaf: map[string]bool{}, Rejecting: map[string]string{}, Homeless: map[string]bool{},
		Counts: map[string]int{}, Skew: map[string]time.Duration{}, Polite: 143, SideLoaded: map[string]bool{}, Fragile: map[string]bool{}, images: map[types.UID]map[int]string{},
		downAt: map[string]time.Time{}, sweepAt: map[string]time.Time{}, endedAt: map[types.UID]time.Time{},
		checks: map[types.UID]span{}, faults: map[process]*Fault{}, stopped: map[process]bool{}, ended: map[process]bool{},
		Leases: Leases{Mute: map[string]bool{}, renewed: map[string][]time.Time{}, shown: map[string]time.Time{}},
	}
	for _, name := range []string{"node-0", "node-1", "node-2"} {
		w.AddNode(name)
	}
	w.Server.Watch(w.hear)
	return w
}

// Job returns the job as it is, nil if there is none.
func (w *World) Job() *v1alpha1.TrainingJob {
	job, _ := w.Server.Get(server.Jobs, w.Key.Namespace, w.Key.Name).(*v1alpha1.TrainingJob)
	return job
}

// Pods returns the pods as they are, by name.
func (w *World) Pods() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, o := range w.Server.List(server.Pods) {
		pods = append(pods, o.(*corev1.Pod))
	}
	return pods
}

// Tick lets every hand of the world move once.
func (w *World) Tick(d time.Duration) {
	w.Clock.Pass(d)
	w.renew()
	w.watchNodes()
	w.train()
	w.follow()
	w.tell()
	w.closeStarted()
	for _, pod := range w.Pods() {
		if w.Chance == nil || w.Chance.IntN(3) > 0 {
			w.move(pod)
		}
	}
	w.scheduleGangs()
	if w.served != nil && (w.Chance == nil || w.Chance.IntN(3) > 0) {
		w.takeBack()
	}
	atMost := 10000
	if w.Chance != nil {
		atMost = w.Chance.IntN(4)
	}
	w.Server.Collect(atMost)
	w.Server.Release(atMost)
}

func (w *World) oneIn(n int) bool { return w.Chance != nil && w.Chance.IntN(n) == 0 }

// Count notes that something of the kind has happened.
func (w *World) Count(kind string) { w.Counts[kind]++ }

// say tells what happens. Each sentence is a kind of event, which is counted.
func (w *World) say(format string, args ...any) {
	w.Count(format)
	if w.Say != nil {
		w.Say(format, args...)
	}
}

// must does a request that nothing can be wrong with.
func (w *World) must(r *server.Request) {
	if _, err := w.Server.Do(r); err != nil {
		panic(r.User + ": " + r.String() + ": " + err.Error())
	}
}

// second is the time as Kubernetes writes it into objects.
func (w *World) second() metav1.Time { return metav1.NewTime(w.Clock.Now()).Rfc3339Copy() }

// now returns the pod as it is.
func (w *World) now(pod *corev1.Pod) *corev1.Pod { return w.pod(pod.Name) }

// pod returns the pod of that name, nil if there is none.
func (w *World) pod(name string) *corev1.Pod {
	is, _ := w.Server.Get(server.Pods, w.Key.Namespace, name).(*corev1.Pod)
	return is
}

// writePod changes the status of a pod.
func (w *World) writePod(user string, pod *corev1.Pod, change func(*corev1.Pod)) {
	is := pod.DeepCopy()
	change(is)
	w.must(&server.Request{User: user, Verb: server.Update, Kind: server.Pods, Status: true, Key: client.ObjectKeyFromObject(pod), Object: is})
}

package fleet

import (
	"container/heap"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/builder"
)

// Times are how long things take.
type Times struct {
	// PodsPerSecond is how many pods get a node within a second; 0 for any number.
	PodsPerSecond int
	// Start is from the binding of a pod until it runs, End from the request to end until it is gone.
	Start, End time.Duration
	// Notice is until a node that is silent is not ready, Repair until one that died is back.
	Notice, Repair time.Duration
}

// Fleet is a cluster with one job.
type Fleet struct {
	*server.Server
	Clock *Clock
	Times Times
	// Job is the job's name and namespace.
	Job client.ObjectKey
	// Created counts the pods that were created.
	Created int
	// Doubled counts ranks of which two processes ran and could be reached through the Service, and OnAvoided pods that were bound to a
	// node that the job avoids: both must stay 0.
	Doubled, OnAvoided int

	nodes   []string
	numbers map[string]int
	// room is how many more pods fit on each node, and roomy are the nodes with room, the first of them first, and some that are full by now.
	room    []int
	roomy   numbers
	isRoomy []bool
	// unbound are the pods that wait for a node, in the order in which they were created, and mayBind how many may get one now.
	unbound []client.ObjectKey
	mayBind float64
	future  future
	made    int
	dead    map[string]bool
	// processes counts those that have begun.
	processes int
	// bound are the pods on each node that are there.
	bound map[string]map[types.UID]client.ObjectKey
	// alive are the pods whose processes run and can be reached, with their host names, and ranks how many each host name has.
	alive map[types.UID]string
	ranks map[string]int
}

// Clock stands still until the fleet moves it.
type Clock struct{ now time.Time }

// Now returns the time.
func (c *Clock) Now() time.Time { return c.now }

// Since returns the time that has passed since t.
func (c *Clock) Since(t time.Time) time.Duration { return c.now.Sub(t) }

// New returns a cluster of so many nodes, each with room for perNode pods.
func New(nodes, perNode int, times Times) *Fleet {
	clock := &Clock{now: builder.Epoch}
	f := &Fleet{
		Server: server.New(clock), Clock: clock, Times: times, numbers: map[string]int{}, dead: map[string]bool{},
		bound: map[string]map[types.UID]client.ObjectKey{}, alive: map[types.UID]string{}, ranks: map[string]int{},
	}
	for i := range nodes {
		name := fmt.Sprintf("node-%05d", i)
		f.nodes, f.numbers[name] = append(f.nodes, name), i
		f.room, f.roomy, f.isRoomy = append(f.room, perNode), append(f.roomy, i), append(f.isRoomy, true)
		f.createNode(name)
	}
	f.Watch(f.hear)
	return f
}

// Submit creates the job.
func (f *Fleet) Submit(job *v1alpha1.TrainingJob) {
	f.Job = client.ObjectKeyFromObject(job)
	f.do(&server.Request{User: "user", Verb: server.Create, Kind: server.Jobs, Key: f.Job, Object: job})
}

// Edit changes the job as its user does.
func (f *Fleet) Edit(change func(*v1alpha1.TrainingJob)) {
	job, _ := f.Get(server.Jobs, f.Job.Namespace, f.Job.Name).(*v1alpha1.TrainingJob)
	job = job.DeepCopy()
	change(job)
	f.do(&server.Request{User: "user", Verb: server.Update, Kind: server.Jobs, Key: f.Job, Object: job})
}

// Status returns the job's status.
func (f *Fleet) Status() *v1alpha1.TrainingJobStatus {
	job, _ := f.Get(server.Jobs, f.Job.Namespace, f.Job.Name).(*v1alpha1.TrainingJob)
	return &job.Status
}

// Pod returns the pod of that name, nil if there is none.
func (f *Fleet) Pod(name string) *corev1.Pod {
	pod, _ := f.Get(server.Pods, f.Job.Namespace, name).(*corev1.Pod)
	return pod
}

// Pods returns all pods by name.
func (f *Fleet) Pods() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, o := range f.List(server.Pods) {
		pods = append(pods, o.(*corev1.Pod))
	}
	return pods
}

// Alive returns how many ranks have a process that runs and can be reached.
func (f *Fleet) Alive() int { return len(f.ranks) }

// After has something happen so much later.
func (f *Fleet) After(d time.Duration, what func()) {
	f.made++
	heap.Push(&f.future, event{f.Clock.now.Add(d), f.made, what})
}

// do does a request that nothing can be wrong with.
func (f *Fleet) do(r *server.Request) {
	if _, err := f.Do(r); err != nil {
		panic(r.User + ": " + r.String() + ": " + err.Error())
	}
}

// event is something that happens at a time; of two at one time the one that was made first.
type event struct {
	at   time.Time
	made int
	what func()
}

// future is a heap of events, the next one first.
type future []event

func (h future) Len() int { return len(h) }
func (h future) Less(i, j int) bool {
	return h[i].at.Before(h[j].at) || h[i].at.Equal(h[j].at) && h[i].made < h[j].made
}
func (h future) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push is for package heap.
func (h *future) Push(x any) { *h = append(*h, x.(event)) }

// Pop is for package heap.
func (h *future) Pop() any {
	last := (*h)[len(*h)-1]
	(*h)[len(*h)-1] = event{}
	*h = (*h)[:len(*h)-1]
	return last
}

// numbers is a heap of numbers, the least first.
type numbers []int

func (h numbers) Len() int           { return len(h) }
func (h numbers) Less(i, j int) bool { return h[i] < h[j] }
func (h numbers) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push is for package heap.
func (h *numbers) Push(x any) { *h = append(*h, x.(int)) }

// Pop is for package heap.
func (h *numbers) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

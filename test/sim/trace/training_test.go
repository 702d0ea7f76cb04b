package trace_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/builder"
	"github.com/trainingjob/operator/test/sim/fleet"
	"github.com/trainingjob/operator/test/sim/operator"
)

// What docs/benchmarks.md has measured: 512 pods go and come within 8.4 s, and of PyTorch's DistributedDataParallel on real nodes a pod
// starts within 3.3 s, ends within 2.3 s, tells of its end after 1.1 s, and trains 14.3 s after it has started.
const (
	podsPerSecond = 61
	podStarts     = 3300 * time.Millisecond
	podEnds       = 2300 * time.Millisecond
	endIsTold     = 1100 * time.Millisecond
	programStarts = 14300 * time.Millisecond
)

const (
	// notice and repair are Kubernetes' default time until a silent node is not ready, and how long a broken one is away.
	notice, repair = 50 * time.Second, 4 * time.Hour
	// deviceIsTold is how soon a monitor has a node say that a device is broken.
	deviceIsTold = 5 * time.Second
	// checkpointEvery is how much training is between two checkpoints.
	checkpointEvery = 10 * time.Minute
	// givesUp is when a collective ends that hangs: PyTorch's default.
	givesUp = 10 * time.Minute
	// retryAfter is when a failure comes that has found no training to interrupt.
	retryAfter = 30 * time.Second
)

// spent is where the time went.
type spent struct {
	whole, trained time.Duration
	// noticing is until a restart is decided, restarting until all ranks run again, starting until they train; redone is what was trained
	// twice. trained is without it.
	noticing, restarting, starting, redone time.Duration
	interruptions                          int
}

// effective is the part of the time in which the training came further.
func (s *spent) effective() float64 { return s.trained.Seconds() / s.whole.Seconds() }

// calm is a process in a world without faults of its own.
type calm struct{}

func (calm) Seen(now, _ state.Seen) state.Seen { return now }

func (calm) Write(*operator.Process, *server.Request) operator.Outcome { return operator.Done }
func (calm) Read(*operator.Process, server.Kind, bool) error           { return nil }
func (calm) Later(*server.Request)                                     {}
func (calm) Frozen(*operator.Process)                                  {}
func (calm) Slow(*operator.Process)                                    {}

// training is a collective, one rank on each node.
type training struct {
	*fleet.Fleet
	spent
	p      *operator.Process
	chance *rand.Rand
	ranks  int
	// charged is how many restarts are the program's own fault, as far as the cluster says.
	charged int
	// broken is the attempt that is interrupted, -1 for none; began since when all its ranks run.
	broken  int32
	runs    bool
	ran     time.Duration
	unsaved time.Duration
	attempt int32
}

// begin returns a training of so many ranks, with two nodes more for each hundred.
func begin(ranks int, chance *rand.Rand) *training {
	times := fleet.Times{PodsPerSecond: podsPerSecond, Start: podStarts, End: podEnds, Notice: notice, Repair: repair}
	t := &training{Fleet: fleet.New(ranks+max(1, ranks/50), 1, times), chance: chance, ranks: ranks, broken: -1}
	t.Submit(builder.Job("train", builder.Framework(v1alpha1.PyTorch), builder.Workers(ranks), builder.MaxRestarts(1000)))
	t.p = operator.NewProcess("operator", &operator.World{Server: t.Server, Clock: t.Clock, Faults: calm{}}, t.Job)
	t.p.Leads = true
	t.p.Start(func(server.Kind) int { return 0 })
	return t
}

// live trains through the interruptions for so long.
func (t *training) live(interruptions []interruption, whole time.Duration) {
	for i := range interruptions {
		t.After(interruptions[i].at, func() { t.interrupt(&interruptions[i]) })
	}
	t.whole = whole
	t.Live(t.p, builder.Epoch.Add(whole), t.account, func() bool { return false })
}

// account enters what the time that has passed was used for.
func (t *training) account(d time.Duration) {
	status := t.Status()
	if status.Attempt != t.attempt {
		t.attempt, t.runs = status.Attempt, false
	}
	isBroken := t.broken == status.Attempt
	switch {
	case isBroken:
		t.noticing += d
		t.runs = false
	case t.Alive() < t.ranks:
		t.restarting += d
		t.runs = false
	default:
		if !t.runs {
			t.runs, t.ran = true, 0
		}
		starting := min(d, max(0, programStarts-t.ran))
		t.ran += d
		t.starting += starting
		t.trained += d - starting
		t.unsaved = (t.unsaved + d - starting) % checkpointEvery
	}
}

// trains reports whether the training comes further.
func (t *training) trains() bool { return t.runs && t.ran > programStarts && t.broken != t.attempt }

// interrupt has the failure come when there is something to interrupt.
func (t *training) interrupt(i *interruption) {
	pods := t.running()
	if !t.trains() || len(pods) < t.ranks {
		t.After(retryAfter, func() { t.interrupt(i) })
		return
	}
	t.interruptions++
	t.broken = t.attempt
	t.redone += t.unsaved
	t.trained -= t.unsaved
	t.unsaved = 0
	pod := pods[int(i.rank*float64(len(pods)))]
	t.fail(i, pod)
}

// fail has happen what the failure is.
func (t *training) fail(i *interruption, pod *corev1.Pod) {
	attempt := t.attempt
	switch node := pod.Spec.NodeName; i.kind {
	case exits, device:
		t.After(endIsTold, func() { t.Exit(pod, 1) })
		if i.kind == exits {
			t.charged++
		} else { // given back when its node tells
			t.After(deviceIsTold, func() { t.Tell(node, operator.Breaks, corev1.ConditionTrue) })
			t.After(repair, func() { t.Tell(node, operator.Breaks, corev1.ConditionFalse) })
		}
	case nodeDies:
		t.Kill(node)
	case hangs:
		t.charged++
		t.After(givesUp, func() { t.peersCrash(attempt) })
		return
	}
	if i.peersCrash {
		t.After(endIsTold+time.Duration(t.chance.IntN(1000))*time.Millisecond, func() { t.peersCrash(attempt) })
	}
}

// peersCrash ends most ranks of the attempt that run: the collective is broken.
func (t *training) peersCrash(attempt int32) {
	for _, pod := range t.running() {
		if pod.Labels[v1alpha1.LabelAttempt] == fmt.Sprint(attempt) && pod.DeletionTimestamp == nil && t.chance.IntN(4) > 0 {
			t.Exit(pod, 1)
		}
	}
}

// running returns the pods whose processes truly run.
func (t *training) running() []*corev1.Pod {
	return slices.DeleteFunc(t.Pods(), func(pod *corev1.Pod) bool { return !t.Runs(pod) })
}

package scale_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/pkg/operator/journal"
	"github.com/trainingjob/operator/test/sim/builder"
	"github.com/trainingjob/operator/test/sim/fleet"
	"github.com/trainingjob/operator/test/sim/operator"
)

const (
	// slots is how many replicas the largest job has; eight are on a node. rack is how many nodes are lost at
	// once.
	slots, perNode, rack = 65_000, 8, 72

	// The bounds that hold for every job, whatever its size.
	writesToStart, writesToRecreate = 1.01, 2.02
	// writesToReplace are those of one replica that is replaced: the status, its pod, and the status once that runs. writesToLose are those
	// of each pod on a lost node: it is taken out of the Service, deleted, made anew, and deleted by force.
	writesToReplace, writesToLose = 3, 4
	statusBytes                   = 64 << 10
	eventsOfAnIncident            = 3
	// passesAtMost is how many passes a transition of all pods of the largest job takes at most, passesOfCollective one of the collective's.
	passesAtMost, passesOfCollective = 80, 25
	// memory is how much the whole test may take.
	memory = 4 << 30
)

// whole says that the whole restart of the largest job is played, too, which takes some minutes.
var whole = flag.Bool("scale.whole", false, "play the whole restart of 65,000 replicas, too")

// ranks is how many ranks a collective has.
var ranks = flag.Int("scale.ranks", 10_000, "how many ranks a collective has")

// calm is a process in a world without faults of its own. It counts the bytes of what the process writes.
type calm struct{ bytes *int }

func (calm) Seen(now, _ state.Seen) state.Seen { return now }

func (c calm) Write(_ *operator.Process, r *server.Request) operator.Outcome {
	*c.bytes += len(r.Patch)
	if r.Object != nil {
		text, _ := json.Marshal(r.Object)
		*c.bytes += len(text)
	}
	return operator.Done
}
func (calm) Read(*operator.Process, server.Kind, bool) error { return nil }
func (calm) Later(*server.Request)                           {}
func (calm) Frozen(*operator.Process)                        {}
func (calm) Slow(*operator.Process)                          {}

// site is a cluster with one job and its operator, and what that has cost so far.
type site struct {
	*fleet.Fleet
	p    *operator.Process
	size int
	// passesAtMost is how many passes a transition takes at most.
	passesAtMost int
	cost
}

// cost is what a transition has taken of the operator.
type cost struct{ size, writes, bytes, passes, events, status, allocations int }

// newSite returns a cluster with room for the job and a rack more.
func newSite(job *v1alpha1.TrainingJob, passes int) *site {
	times := fleet.Times{Start: time.Second, End: time.Second, Notice: 50 * time.Second, Repair: 4 * time.Hour}
	size := state.Total(&job.Spec)
	s := &site{Fleet: fleet.New(size/perNode+2*rack, perNode, times), size: size, passesAtMost: passes}
	s.Submit(job)
	s.p = operator.NewProcess("operator", &operator.World{Server: s.Server, Clock: s.Clock, Faults: calm{&s.bytes}, KeepsEnded: true,
		Event: func(*operator.Decision, string, string) { s.events++ }, Line: func(*operator.Decision, *journal.Line) {}}, s.Job)
	s.p.Leads = true
	s.p.Start(func(server.Kind) int { return 0 })
	s.Watch(func(change *server.Change) {
		if job, isJob := change.Is.(*v1alpha1.TrainingJob); isJob {
			text, _ := json.Marshal(&job.Status)
			s.status = max(s.status, len(text))
		}
	})
	return s
}

// until lives until it is so, for half an hour at most, and returns what that cost.
func (s *site) until(t *testing.T, what string, isSo func() bool) cost {
	t.Helper()
	was, before := s.cost, allocations()
	was.writes, was.bytes, was.passes, s.status = s.p.Writes, s.bytes, s.p.Reconciles, 0
	began, from := time.Now(), s.Clock.Now()
	if !s.Live(s.p, from.Add(30*time.Minute), func(time.Duration) {}, isSo) {
		t.Fatalf("%s: not within half an hour; the job is %s: %s", what, s.Status().Phase, s.Status().Message)
	}
	is := cost{s.size, s.p.Writes - was.writes, s.bytes - was.bytes, s.p.Reconciles - was.passes, s.events - was.events, s.status, allocations() - before}
	fmt.Printf("%-34s %6.3f writes a pod (%d), %5.0f bytes a pod, %3d passes, %5d bytes of status at most, %2d Events; %4.0f s on the virtual clock, %4.1f s here, %.0f allocations a pod\n",
		what, float64(is.writes)/float64(s.size), is.writes, float64(is.bytes)/float64(s.size), is.passes, is.status, is.events, s.Clock.Since(from).Seconds(), time.Since(began).Seconds(), float64(is.allocations)/float64(s.size))
	s.isBounded(t, what, is)
	return is
}

// isBounded holds what every transition may cost.
func (s *site) isBounded(t *testing.T, what string, is cost) {
	t.Helper()
	if is.status > statusBytes || is.events > eventsOfAnIncident || is.passes > s.passesAtMost {
		t.Errorf("%s: %d bytes of status, %d Events, %d passes: want at most %d, %d and %d", what, is.status, is.events, is.passes, statusBytes, eventsOfAnIncident, s.passesAtMost)
	}
	if s.Doubled+s.OnAvoided > 0 {
		t.Errorf("%s: %d ranks were alive twice, %d pods on avoided nodes", what, s.Doubled, s.OnAvoided)
	}
}

// allocations returns how many objects the program has allocated.
func allocations() int {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.Mallocs)
}

// runs reports whether the job runs in the attempt with all its ranks, and has nothing left to do.
func (s *site) runs(attempt int32) func() bool {
	return func() bool {
		return s.Alive() == s.size && s.Status().Phase == v1alpha1.PhaseRunning && s.Status().Attempt == attempt && s.Status().ReadyReplicas == int32(s.size) && !s.p.IsAwake()
	}
}

// wantWrites holds how many writes a transition of all pods takes for each.
func wantWrites(t *testing.T, what string, is cost, atMost float64) {
	t.Helper()
	if got := float64(is.writes) / float64(is.size); got > atMost {
		t.Errorf("%s: %.4f writes for each pod, want at most %.2f", what, got, atMost)
	}
}

// sized returns the size that a test has, or the smaller one of the short form.
func sized(full, short int) int {
	if testing.Short() {
		return short
	}
	return full
}

// A job whose workers go on when one is gone, and begin anew when its parameter server is.
func TestAJobOf65000(t *testing.T) {
	s := newSite(builder.Job("train", builder.Workers(sized(slots, slots/10)-1), builder.PS(1)), passesAtMost)
	wantWrites(t, "start", s.until(t, "start", s.runs(0)), writesToStart)
	s.Exit(s.Pod("train-worker-777"), 1)
	if is := s.until(t, "one exit, one worker replaced", s.restarted(0, 1)); is.writes > writesToReplace {
		t.Errorf("%d writes for one worker, want at most %d", is.writes, writesToReplace)
	}
	for i := range rack {
		s.Kill(s.Node(100 + i))
	}
	lost := rack * perNode
	if is := s.until(t, "a rack of nodes lost", s.restarted(0, 1+lost)); is.writes > writesToLose*lost+10 {
		t.Errorf("%d writes for %d pods on lost nodes, want at most %d each", is.writes, lost, writesToLose)
	}
	if !*whole {
		t.Log("the whole restart of all was left out: make test-scale plays it, too")
		return
	}
	s.Exit(s.Pod("train-ps-0"), 1)
	wantWrites(t, "whole restart", s.until(t, "another exit, a whole restart", s.restarted(1, 2+lost)), writesToRecreate)
	if got := s.Status().ChargedRestarts; got != 2 {
		t.Errorf("%d restarts are charged, want the two exits", got)
	}
	s.isSmall(t)
}

// A collective begins anew when one rank is gone, for whatever reason.
func TestALargeCollective(t *testing.T) {
	size := sized(*ranks, *ranks/5)
	s := newSite(builder.Job("train", builder.Framework(v1alpha1.PyTorch), builder.Workers(size)), passesOfCollective)
	wantWrites(t, "start", s.until(t, "start of a collective", s.runs(0)), writesToStart)
	s.Exit(s.Pod("train-worker-777"), 1)
	wantWrites(t, "one exit", s.until(t, "one exit, a whole restart", s.restarted(1, 1)), writesToRecreate)
	for i := range rack {
		s.Kill(s.Node(100 + i))
	}
	wantWrites(t, "rack lost", s.until(t, "a rack lost, a whole restart", s.restarted(2, 2)), writesToRecreate+2*rack*perNode/float64(size))
	if got := s.Status().ChargedRestarts; got != 1 {
		t.Errorf("%d restarts are charged, want the exit", got)
	}
}

// A collective whose ranks have all ended begins anew in its pods: two writes for each, one that starts it and one that closes its gate.
func TestALargeCollectiveThatKeepsItsPods(t *testing.T) {
	size := sized(*ranks, *ranks/5)
	s := newSite(builder.Job("train", builder.Framework(v1alpha1.PyTorch), builder.Workers(size),
		builder.Recovery(func(r *v1alpha1.Recovery) { r.RestartMethod = v1alpha1.RestartInPlace })), passesOfCollective)
	pod := func(index int) *corev1.Pod { return s.Pod(fmt.Sprintf("train-worker-%d", index)) }
	closed := func(runs func() bool) func() bool {
		return func() bool {
			if !runs() {
				return false
			}
			for index := range size {
				if pod(index).Annotations[v1alpha1.AnnotationStartGate] != v1alpha1.GateClosed {
					return false
				}
			}
			return true
		}
	}
	wantWrites(t, "start", s.until(t, "start of a collective with gates", closed(s.runs(0))), writesToStart+1)
	created := s.Created
	for index := range size {
		s.Exit(pod(index), 1)
	}
	wantWrites(t, "all exit", s.until(t, "all exit, a whole restart in place", closed(s.restarted(1, 1))), writesToRecreate)
	if made := s.Created - created; made > 0 {
		t.Errorf("%d new pods, want none", made)
	}
}

// restarted reports whether the job runs again after so many restarts, with nothing left to do.
func (s *site) restarted(attempt int32, restarts int) func() bool {
	runs := s.runs(attempt)
	return func() bool { return int(s.Status().Restarts) == restarts && runs() }
}

// isSmall holds how much memory all of it took.
func (s *site) isSmall(t *testing.T) {
	t.Helper()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	fmt.Printf("%-34s %d MiB of memory at most\n", "", stats.Sys>>20)
	if stats.Sys > memory {
		t.Errorf("%d MiB of memory, want less than 4 GiB", stats.Sys>>20)
	}
}

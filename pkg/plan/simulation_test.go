package plan_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/builder"
)

// The simulator runs plan.Make against a hostile world: two processes with lagging caches, crashes between and within
// record and act, requests that come late or twice, a former leader that goes on, pods that linger, fail, or are taken away, a
// user who suspends, resumes, scales, and creates the job anew. After every write it checks the invariants of the reliability bar; when the faults
// stop, the job must come to its end.
//
// What pkg/cluster guarantees holds here too: own writes are seen, except after a failover; a process compares the first
// job it sees with the API server; a pod that ran and is missing is asked for before it counts as lost.

var oneSeed = flag.Int64("seed", -1, "replay this seed of the simulation, with its story")

var allGuards = guards{lock: true, uid: true, stale: true, first: true}

const (
	seeds  = 2000
	stormy = 160 // ticks with faults
	calm   = 400 // ticks without
)

// story is what a seed draws once for the whole run.
type story struct {
	failing int // percent of moments in which a pod fails
	lazy    int // how slowly pods end
	meddler int // how rarely somebody takes a pod away
}

// scenarios are the jobs: frameworks, scopes and policies.
var scenarios = [][]builder.JobOption{
	{pytorch, builder.Workers(3)},
	{pytorch, builder.Leader(v1alpha1.Master), builder.Workers(2), builder.AllWorkers()},
	{pytorch, builder.Workers(3), builder.Elastic(1, 5)},
	{pytorch, builder.Workers(2), builder.Policy(v1alpha1.RestartExitCode, v1alpha1.Worker)},
	{builder.Framework(v1alpha1.JAX), builder.Workers(2), builder.Evaluators(1)},
	{builder.Framework(v1alpha1.TensorFlow), builder.Leader(v1alpha1.Chief), builder.Workers(2), builder.PS(1), builder.Evaluators(1)},
	{builder.Framework(v1alpha1.TensorFlow), builder.Workers(2), builder.PS(1), builder.Policy(v1alpha1.RestartAlways, v1alpha1.PS)},
	{builder.Workers(3), builder.AllWorkers()},
	{builder.Workers(3), builder.AllWorkers(), builder.Elastic(2, 5)},
	{builder.Workers(3), builder.Scope(v1alpha1.ScopeRole, v1alpha1.Worker)},
	{builder.Leader(v1alpha1.Launcher), builder.Workers(2), builder.Scope(v1alpha1.ScopeJob, v1alpha1.Worker)},
	{builder.Workers(1)},
}

func newSim(seed int64, g guards) *sim {
	rng := rand.New(rand.NewPCG(uint64(seed), 1))
	options := append([]builder.JobOption{builder.BackOff(rng.IntN(3), 8), builder.MaxRestarts(rng.IntN(12))}, scenarios[rng.IntN(len(scenarios))]...)
	s := &sim{
		world: newWorld(builder.Job("j", options...), rng), guards: g, seed: seed,
		story: story{failing: 1 + rng.IntN(6), lazy: 1 + rng.IntN(20), meddler: 10 + rng.IntN(100)},
	}
	for i := range s.processes {
		s.restart(&s.processes[i], 1)
	}
	return s
}

// run tells the story to its end, or to the first violation, which it returns.
func (s *sim) run() string {
	for range stormy {
		s.now = s.now.Add(time.Duration(50+s.rng.IntN(1500)) * time.Millisecond)
		s.kubelet(s.story.failing, s.story.lazy)
		s.meddle()
		s.storm()
		if s.wrong != "" {
			return s.wrong
		}
	}
	s.calm, s.late = true, nil
	if s.job.Spec.Suspend {
		s.writeSpec(func(spec *v1alpha1.TrainingJobSpec) { spec.Suspend = false })
	}
	s.restart(&s.processes[s.leader], 1)
	for range calm {
		s.now = s.now.Add(time.Second)
		s.kubelet(0, 1)
		if p := &s.processes[s.leader]; s.wrong == "" {
			if s.catchUp(p, 1); p.awake {
				s.reconcile(s.leader, true)
			}
		}
		if s.wrong == "" && s.isSettled() {
			return ""
		}
	}
	s.violate("liveness: the job is %s (%s) and has %d pods", s.job.Status.Phase, s.job.Status.Message, len(s.pods))
	return s.wrong
}

// meddle is what users and the cluster do.
func (s *sim) meddle() {
	if all := s.sorted(); len(all) > 0 && s.oneIn(s.story.meddler) {
		s.takeAway(all[s.rng.IntN(len(all))])
	}
	if s.oneIn(60) {
		s.recreate()
	}
	if s.oneIn(30) {
		s.writeSpec(func(spec *v1alpha1.TrainingJobSpec) { spec.Suspend = !spec.Suspend && s.oneIn(2) })
	}
	if elastic := s.job.Spec.Elastic; elastic != nil && s.oneIn(15) {
		n := int(elastic.MinReplicas) + s.rng.IntN(int(elastic.MaxReplicas-elastic.MinReplicas)+1)
		s.writeSpec(func(spec *v1alpha1.TrainingJobSpec) {
			job := &v1alpha1.TrainingJob{Spec: *spec}
			builder.Workers(n)(job)
		})
	}
}

// storm lets the leader work, changes it now and then, and lets the former one go on for a while.
func (s *sim) storm() {
	if s.oneIn(25) {
		s.leader = 1 - s.leader
		s.restart(&s.processes[s.leader], 8)
	}
	s.late = slices.DeleteFunc(s.late, func(r request) bool {
		arrives := s.oneIn(20)
		if arrives {
			s.take(r.step, r.from, false)
		}
		return arrives
	})
	for who := range s.processes {
		p := &s.processes[who]
		leads := who == s.leader
		jobAt := p.jobAt
		if s.catchUp(p, 6); !leads && !s.oneIn(8) {
			p.jobAt = jobAt // the worst of former leaders: it sees the pods of the present and the job of the past
		}
		if p.awake && (leads || s.oneIn(4)) || s.oneIn(10) {
			s.reconcile(who, leads)
		}
	}
}

func (s *sim) isSettled() bool {
	if !isTrue(s.job, v1alpha1.ConditionFinished) {
		return false
	}
	for _, p := range s.pods {
		if p.CanRun() {
			return false
		}
	}
	return true
}

// runAll runs the seeds on all processors and returns what went wrong by seed, and how much happened.
func runAll(n int64, g guards) (wrong map[int64]string, restarts int64) {
	var next, total atomic.Int64
	var mu sync.Mutex
	var group sync.WaitGroup
	wrong = map[int64]string{}
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for seed := next.Add(1) - 1; seed < n; seed = next.Add(1) - 1 {
				s := newSim(seed, g)
				if w := s.run(); w != "" {
					mu.Lock()
					wrong[seed] = w
					mu.Unlock()
				}
				total.Add(int64(s.job.Status.Restarts))
			}
		})
	}
	group.Wait()
	return wrong, total.Load()
}

func TestSimulation(t *testing.T) {
	if *oneSeed >= 0 {
		s := newSim(*oneSeed, allGuards)
		s.tell = func(line string) { t.Log(line) }
		if wrong := s.run(); wrong != "" {
			t.Error(wrong)
		}
		return
	}
	begin := time.Now()
	wrong, restarts := runAll(seeds, allGuards)
	t.Logf("%d seeds, %d restarts, %v", seeds, restarts, time.Since(begin).Round(time.Millisecond))
	for _, seed := range slices.Sorted(maps.Keys(wrong))[:min(10, len(wrong))] {
		t.Errorf("%s\nreplay: go test ./pkg/plan -run 'TestSimulation$' -v -seed=%d", wrong[seed], seed)
	}
	checkWalked(t)
	if len(wrong) > 0 {
		t.Errorf("%d of %d seeds go wrong", len(wrong), seeds)
	}
}

// Without one of the guards the simulator finds violations: that shows that it tests anything.
func TestSimulationFindsWhatTheGuardsPrevent(t *testing.T) {
	const n = 1000
	sound, _ := runAll(n, allGuards)
	for name, g := range map[string]guards{
		"no resourceVersion":                 {uid: true, stale: true, first: true},
		"no UID precondition":                {lock: true, stale: true, first: true},
		"no stale guard":                     {lock: true, uid: true, first: true},
		"pods are not compared at the start": {lock: true, uid: true, stale: true},
	} {
		wrong, _ := runAll(n, g)
		kinds := map[string]int{}
		for _, w := range wrong {
			_, what, _ := strings.Cut(w, ": ")
			kind, _, _ := strings.Cut(what, ":")
			kinds[kind]++
		}
		t.Logf("%s: %d of %d seeds go wrong, %d with all guards: %v", name, len(wrong), n, len(sound), fmt.Sprint(kinds))
		if len(wrong) <= len(sound) {
			t.Errorf("%s: the simulator does not notice", name)
		}
	}
}

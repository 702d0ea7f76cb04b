package plan_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// sizes are how many replicas the benchmarked jobs have.
var sizes = []int{1_000, 10_000, 65_000}

// moment is the state of a job of n replicas that has run for an hour, or is about to.
type moment struct {
	name string
	find func(tb testing.TB, n int) *state.Snapshot
	// isMeant reports whether the plan is the expected one.
	isMeant func(*plan.Plan) bool
}

var moments = []moment{
	{"at rest", func(tb testing.TB, n int) *state.Snapshot { return later(runs(tb, n, pytorch), all(n, 0, nil)) },
		func(p *plan.Plan) bool { return len(p.Steps)+len(p.Restarts) == 0 }},
	{"creating", func(tb testing.TB, n int) *state.Snapshot {
		return builder.Snapshot(takenOn(tb, pytorch, builder.Workers(n)))
	}, func(p *plan.Plan) bool { return len(p.Steps) > 0 }},
	{"one exit", func(tb testing.TB, n int) *state.Snapshot {
		return later(runs(tb, n, pytorch), all(n, 0, nil), exits(n/2))
	}, func(p *plan.Plan) bool { return p.Status.Attempt == 1 }},
	{"one replaced", func(tb testing.TB, n int) *state.Snapshot { return later(runs(tb, n), all(n, 0, nil), exits(n/2)) },
		func(p *plan.Plan) bool { return p.Status.Attempt == 0 && len(p.Restarts) == 1 }},
	{"whole restart", func(tb testing.TB, n int) *state.Snapshot {
		return later(restarted(tb, n), all(n, 0, nil))
	}, func(p *plan.Plan) bool { return len(p.Steps) > 0 }},
	{"in place", func(tb testing.TB, n int) *state.Snapshot {
		return later(restarted(tb, n, goesOnInPlace), all(n, 0, nil), knownImages)
	}, func(p *plan.Plan) bool { _, first := p.Steps[0].(plan.RestartPod); return first }},
	{"each replaced", func(tb testing.TB, n int) *state.Snapshot {
		return later(runs(tb, n), all(n, 0, inRacks), racksLost(n))
	}, func(p *plan.Plan) bool { return len(p.Restarts) > 900 }},
	{"each replaced again", func(tb testing.TB, n int) *state.Snapshot {
		job := runs(tb, n)
		again := v1alpha1.RoleMemory{Started: "0-" + fmt.Sprint(n-1), Replacements: fmt.Sprintf("0-%d:1", n-1),
			RestartsInRow: fmt.Sprintf("0-%d:1", n-1), NextStarts: fmt.Sprintf("0-%d:%d", n-1, builder.Epoch.Add(time.Hour-time.Minute).Unix())}
		builder.Remember(v1alpha1.Worker, again)(job)
		return later(job, builder.Each("worker", n, state.Life{Replacement: 1}, corev1.PodRunning, inRacks), racksLost(n))
	}, func(p *plan.Plan) bool { return len(p.Restarts) > 900 }},
	{"behind a former job", func(tb testing.TB, n int) *state.Snapshot {
		return builder.Snapshot(takenOn(tb, pytorch, builder.Workers(n)), formerPods(n))
	}, func(p *plan.Plan) bool { return len(p.Steps) == 0 }},
	{"in trouble", inTrouble, func(p *plan.Plan) bool { return p.Status.Attempt == 2 }},
}

// all adds the n running workers of an attempt.
func all(n, attempt int, of func(int) []builder.PodOption) builder.SnapshotOption {
	return builder.Each("worker", n, state.Life{Attempt: attempt}, corev1.PodRunning, func(i int) []builder.PodOption {
		options := []builder.PodOption{builder.Ready()}
		if of != nil {
			options = append(options, of(i)...)
		}
		return options
	})
}

// inRacks puts eight workers on each node.
func inRacks(i int) []builder.PodOption { return []builder.PodOption{builder.On(rackNode(i))} }

func rackNode(i int) string { return fmt.Sprintf("node-%05d", i/8) }

// racksLost makes the nodes of n workers lost.
func racksLost(n int) builder.SnapshotOption {
	return func(o *state.Observed) {
		for i := 0; i < n; i += 8 {
			builder.NodeLost(rackNode(i), time.Hour-time.Minute)(o)
		}
	}
}

// exits makes the worker exit with code 1 an hour after Epoch.
func exits(i int) builder.SnapshotOption {
	return func(o *state.Observed) {
		o.Pods[i].Phase, o.Pods[i].Finished = corev1.PodFailed, builder.Epoch.Add(time.Hour-5*second)
		o.Pods[i].Exit = &state.Exit{Container: "main", Main: true, Code: 1, Reason: "Error", Time: o.Pods[i].Finished}
	}
}

// goesOnInPlace makes ranks restart in their pods. knownImages gives the pods' nodes the digests of their images.
var goesOnInPlace = builder.Recovery(func(r *v1alpha1.Recovery) { r.RestartMethod = v1alpha1.RestartInPlace })

func knownImages(o *state.Observed) {
	for i := range o.Pods {
		o.Pods[i].Main, o.Pods[i].Process, o.Pods[i].Image = "main", "containerd://1", "train@sha256:1"
	}
}

// formerPods are the terminating pods of an earlier job.
func formerPods(n int) builder.SnapshotOption {
	return func(o *state.Observed) {
		for i := range n {
			pod := builder.Pod(o.Job, state.Slot{Role: v1alpha1.Worker, Index: i}, state.Life{}, corev1.PodRunning, builder.DeletedAt(0))
			o.Former = append(o.Former, state.FormerPodOf(pod))
		}
	}
}

// later returns the snapshot of an hour after Epoch.
func later(job *v1alpha1.TrainingJob, options ...builder.SnapshotOption) *state.Snapshot {
	return builder.Snapshot(job, append(options, builder.Now(time.Hour))...)
}

// runs returns a job whose n workers run.
func runs(tb testing.TB, n int, options ...builder.JobOption) *v1alpha1.TrainingJob {
	return underWay(tb, takenOn(tb, append(options, builder.Workers(n))...), all(n, 0, nil))
}

// restarted returns a job whose whole restart was just decided.
func restarted(tb testing.TB, n int, options ...builder.JobOption) *v1alpha1.TrainingJob {
	return after(tb, later(runs(tb, n, append(options, pytorch)...), all(n, 0, nil), exits(n/2)))
}

// inTrouble is a collective on n/10 nodes, half of them lost, with a full list of incidents whose pods still exist: the largest
// case.
func inTrouble(tb testing.TB, n int) *state.Snapshot {
	on := func(i int) []builder.PodOption { return []builder.PodOption{builder.On(rackNode(8 * (i % (n / 10))))} }
	job := underWay(tb, takenOn(tb, pytorch, builder.Workers(n)), builder.Now(0))
	var incidents []v1alpha1.Incident
	for i := range 10 {
		incidents = append(incidents, v1alpha1.Incident{RestartTime: builder.Time(30 * second), Scope: v1alpha1.ScopeJob, Charged: true,
			Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Pod: fmt.Sprint("x", i), Cause: v1alpha1.CauseRetryable, Time: builder.Time(30 * second)}})
	}
	builder.Attempt(1)(job)
	builder.Incidents(incidents...)(job)
	return later(job, all(n, 0, on), all(n, 1, on), func(o *state.Observed) {
		for i := range n / 20 {
			builder.NodeLost(rackNode(8*i), time.Hour-time.Minute)(o)
		}
	})
}

// perPod calls run for the snapshots of all moments and sizes, and reports the cost for each replica.
func perPod(b *testing.B, run func(m *moment, s *state.Snapshot)) {
	for i := range moments {
		m := &moments[i]
		for _, n := range sizes {
			b.Run(fmt.Sprintf("%s/%d", m.name, n), func(b *testing.B) {
				s := m.find(b, n)
				allocs := testing.AllocsPerRun(1, func() { run(m, s) })
				for b.Loop() {
					run(m, s)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/pod")
				b.ReportMetric(allocs/float64(n), "allocs/pod")
			})
		}
	}
}

func BenchmarkMake(b *testing.B) {
	perPod(b, func(m *moment, s *state.Snapshot) {
		if p := plan.Make(s); !m.isMeant(&p) {
			b.Fatalf("%s: %s", m.name, p)
		}
	})
}

func BenchmarkJudge(b *testing.B) {
	perPod(b, func(_ *moment, s *state.Snapshot) { policy.Judge(s) })
}

// BenchmarkNew makes the rows of pods in any order, as a cache lists them.
func BenchmarkNew(b *testing.B) {
	chance := rand.New(rand.NewPCG(1, 1))
	perPod(b, func(_ *moment, s *state.Snapshot) {
		o := s.Observed
		o.Pods = slices.Clone(s.Pods)
		chance.Shuffle(len(o.Pods), func(i, j int) { o.Pods[i], o.Pods[j] = o.Pods[j], o.Pods[i] })
		if _, err := state.New(o); err != nil {
			b.Fatal(err)
		}
	})
}

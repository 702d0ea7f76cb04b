package plan_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/test/builder"
)

func BenchmarkMake(b *testing.B) {
	for _, n := range []int{512, 10_000} {
		var running []builder.SnapshotOption
		for i := range n {
			running = append(running, builder.Running("worker", i))
		}
		creating := builder.Snapshot(takenOn(b, builder.Workers(n)))
		atRest := builder.Snapshot(underWay(b, takenOn(b, builder.Workers(n)), running...), append(running, builder.Now(time.Hour))...)
		b.Run(fmt.Sprintf("at rest, %d replicas", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if p := plan.Make(atRest); len(p.Steps) > 0 {
					b.Fatalf("%d steps at rest", len(p.Steps))
				}
			}
		})
		b.Run(fmt.Sprintf("creating, %d replicas", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if p := plan.Make(creating); len(p.Steps) == 0 {
					b.Fatalf("no steps for %d pods", n)
				}
			}
		})
	}
}

// BenchmarkMakeInTrouble is a collective of 10,000 replicas on 1,000 nodes, half of them in trouble, with a full list of incidents
// whose pods are still there: the most that a pass can be asked.
func BenchmarkMakeInTrouble(b *testing.B) {
	const n = 10_000
	node := func(i int) string { return fmt.Sprintf("n%03d", i%1000) }
	var incidents []v1alpha1.Incident
	for i := range 10 {
		incidents = append(incidents, v1alpha1.Incident{RestartTime: builder.Time(30 * second), Scope: v1alpha1.ScopeJob, Charged: true,
			Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Pod: fmt.Sprint("x", i), Cause: v1alpha1.CauseRetryable, Time: builder.Time(30 * second)}})
	}
	var pods []builder.SnapshotOption
	for i := range n {
		pods = append(pods, builder.Running("worker", i, builder.On(node(i))), builder.Running("worker", i, builder.On(node(i)), builder.Life(0, 0)))
	}
	for i := range 500 {
		pods = append(pods, builder.NodeLost(node(i), time.Hour))
	}
	job := underWay(b, takenOn(b, pytorch, builder.Workers(n)), builder.Now(0))
	builder.Attempt(1)(job)
	builder.Incidents(incidents...)(job)
	for what, now := range map[string]time.Duration{"not lost yet": time.Hour, "lost": 2 * time.Hour} {
		s := builder.Snapshot(job, append(pods, builder.Now(now))...)
		b.Run(what, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if p := plan.Make(s); (p.Status.Attempt == 2) != (what == "lost") {
					b.Fatalf("attempt %d", p.Status.Attempt)
				}
			}
		})
	}
}

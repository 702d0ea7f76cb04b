package plan_test

import (
	"fmt"
	"testing"
	"time"

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
				if p := plan.Make(creating); len(p.Steps) != n {
					b.Fatalf("%d steps for %d pods", len(p.Steps), n)
				}
			}
		})
	}
}

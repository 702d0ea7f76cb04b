//go:build nodes

package incidents

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/builder"
)

// Two jobs, which differ in nothing but how they restart, take turns: the load of the machine changes all the time. Nothing is asserted of
// the figures.
var _ = Describe("How long a whole restart takes", Serial, Label("figures"), func() {
	ways := []v1alpha1.RestartMethod{v1alpha1.RestartInPlace, v1alpha1.RestartRecreate}
	DescribeTable("in place, and with new pods", func(ctx SpecContext, ranks int) {
		jobs, took := map[v1alpha1.RestartMethod]*job{}, map[string][]time.Duration{}
		for _, way := range ways {
			made := apart(ranks)
			made.Name = map[v1alpha1.RestartMethod]string{v1alpha1.RestartInPlace: "kept", v1alpha1.RestartRecreate: "made"}[way]
			made.Spec.Recovery.Restart = way
			jobs[way] = submit(ctx, made, builder.BackOff(0, 1))
			jobs[way].runs(ctx, 0)
		}
		for range *rounds {
			for _, way := range ways {
				took["by request, "+string(way)] = append(took["by request, "+string(way)], jobs[way].restartsAgain(ctx, func() { jobs[way].asksForRestart(ctx, time.Now().String()) }))
				took["by a kill, "+string(way)] = append(took["by a kill, "+string(way)], jobs[way].restartsAgain(ctx, func() { kill(ctx, jobs[way].pod(ctx, ranks/2)) }))
			}
		}
		for _, how := range []string{"by request, ", "by a kill, "} {
			kept, made := took[how+string(v1alpha1.RestartInPlace)], took[how+string(v1alpha1.RestartRecreate)]
			AddReportEntry(fmt.Sprintf("%d ranks, %sin place %s, with new pods %s, ratio %.2f", ranks, how, spread(kept), spread(made), middle(kept).Seconds()/middle(made).Seconds()))
		}
	},
		Entry("8 ranks", 8),
		Entry("40 ranks", 40),
	)
})

// restartsAgain returns how long it takes from a restart's cause until all ranks run in the next attempt.
func (j *job) restartsAgain(ctx context.Context, begin func()) time.Duration {
	GinkgoHelper()
	next := j.seen.Status.Attempt + 1
	begin()
	return j.runs(ctx, next)
}

func middle(times []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(times))[len(times)/2]
}

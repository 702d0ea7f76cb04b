//go:build nodes

package incidents

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

// askedLine is what a rank says when its file of requests to stop changes.
var askedLine = regexp.MustCompile(`(?m)^(\S+) is asked "(\S+) (\S+) \S+( again)?"$`)

// hears waits until the rank's program has read the request of that id, and returns when it did first.
func (j *job) hears(ctx context.Context, rank int, id string) time.Time {
	GinkgoHelper()
	var at time.Time
	Eventually(func(g Gomega) {
		heard := askedLine.FindAllStringSubmatch(output(ctx, "logs", j.pod(ctx, rank).Name), -1)
		i := slices.IndexFunc(heard, func(m []string) bool { return m[2] == id })
		g.Expect(i).To(BeNumerically(">=", 0), "rank %d has heard %s", rank, id)
		clock, err := time.Parse("15:04:05.000", heard[i][1])
		g.Expect(err).NotTo(HaveOccurred())
		y, m, d := time.Now().UTC().Date()
		at = clock.AddDate(y, int(m)-1, d-1)
	}).Should(Succeed())
	return at
}

// answers has rank 0 show on its page that the checkpoint is saved.
func (j *job) answers(ctx context.Context, id string) {
	GinkgoHelper()
	tell(ctx, j.pod(ctx, 0), "saved", id)
}

var _ = Describe("Ranks that are asked to save a checkpoint", func() {
	DescribeTable("see it in their files, and are stopped when one of them has answered", func(ctx SpecContext, options ...builder.JobOption) {
		const ranks = 8
		train := submit(ctx, apart(ranks), append(options, builder.Asking(60))...)
		train.runs(ctx, 0)
		var heard, stopped []time.Duration
		for round := range int32(*rounds) {
			asked := time.Now()
			train.asksForRestart(ctx, "round "+attempt(round+1))
			train.becomes(ctx, "it asks", func(s *v1alpha1.TrainingJobStatus) bool { return s.CheckpointRequest != nil })
			id := train.seen.Status.CheckpointRequest.ID
			for rank := range ranks {
				heard = append(heard, train.hears(ctx, rank, id).Sub(asked))
			}
			Expect(train.seen.Status.Attempt).To(Equal(round), "nobody is stopped before the answer")
			before := time.Now()
			train.answers(ctx, id)
			train.runs(ctx, round+1)
			stopped = append(stopped, time.Since(before))
			logs := output(ctx, "logs", train.pod(ctx, 0).Name) // it may begin with what the process before was asked
			Expect(logs).NotTo(ContainSubstring(fmt.Sprintf("is asked \"%d-", round+1)), "the new process is asked nothing")
		}
		slices.Sort(heard)
		late := len(heard) - slices.IndexFunc(append(heard, time.Hour), func(d time.Duration) bool { return d > 1500*time.Millisecond })
		AddReportEntry("from the annotation of the job until a rank has read it", fmt.Sprintf("%d times: median %v, most %v, %d later than 1.5 s",
			len(heard), heard[len(heard)/2], heard[len(heard)-1], late))
		AddReportEntry("from the answer until all run again", spread(stopped))
	},
		Entry("a restart in place"),
		Entry("a restart with new pods", builder.Recovery(func(r *v1alpha1.Recovery) { r.RestartMethod = v1alpha1.RestartRecreate })),
	)
})

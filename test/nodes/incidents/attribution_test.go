//go:build nodes

package incidents

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// tally counts what the status said of a fault that was made again and again.
type tally struct {
	named, logs int
	wrong       []string
	silent      []string
	// decided and running are how long after the fault the restart was in the status, and all ranks ran again.
	decided, running []time.Duration
}

func (t *tally) String() string {
	n := len(t.decided)
	return fmt.Sprintf("right rank named %d of %d, its log there %d of %d; restart decided after %s, all ranks run after %s",
		t.named, n, t.logs, n, spread(t.decided), spread(t.running))
}

// way is a way for a rank to go: what is done to it, what the status calls it, and words of its log.
type way struct {
	fault func(context.Context, *corev1.Pod)
	cause v1alpha1.Cause
	words string
	// spares: rank 0 never goes this way, as it is named if nothing tells the ranks apart.
	spares bool
}

// Four ranks step together and three of them exit with 1 as soon as one is gone, so that every pod of the job fails at once. The status
// is to name the one that went first, with its log, for every way to go that differs from what the others do.
var _ = Describe("Who was first", func() {
	DescribeTable("among ranks that all fail at once", func(ctx SpecContext, how way) {
		train := submit(ctx, collective(4))
		train.runs(ctx, 0)
		var sum tally
		for round := range *rounds {
			train.breaks(ctx, &sum, round, how)
		}
		AddReportEntry(CurrentSpecReport().LeafNodeText, sum.String())
		Expect(len(sum.wrong)).To(BeNumerically("<=", *rounds/20), strings.Join(sum.wrong, "\n"))
		Expect(sum.logs).To(BeNumerically(">=", *rounds-*rounds/20), strings.Join(sum.silent, "\n"))
	},
		Entry("exit 42", way{func(ctx context.Context, pod *corev1.Pod) { tell(ctx, pod, "exit", "42", "disk", "full") }, v1alpha1.CauseRetryable, "ends with 42", false}),
		Entry("exit 1, an exception", exception),
		Entry("out of memory", way{func(ctx context.Context, pod *corev1.Pod) { tell(ctx, pod, "oom") }, v1alpha1.CauseOOM, "takes memory", false}),
		Entry("kill -9", way{kill, v1alpha1.CauseRetryable, "step 1", false}),
	)
})

// haveMet waits until the rank has taken a step, which all ranks take together.
func (j *job) haveMet(ctx context.Context, rank int) {
	GinkgoHelper()
	Eventually(output).WithArguments(ctx, "logs", j.pod(ctx, rank).Name).Should(ContainSubstring("step 1"), "the ranks have met")
}

// breaks ends one rank, another one each round, waits until all run again, and counts what the status says of it.
func (j *job) breaks(ctx context.Context, sum *tally, round int, how way) {
	GinkgoHelper()
	attempt := j.seen.Status.Attempt
	rank := round % 4
	if how.spares {
		rank = 1 + round%3
	}
	guilty := j.pod(ctx, rank)
	j.haveMet(ctx, rank)
	began := time.Now()
	how.fault(ctx, guilty)
	j.becomes(ctx, "a restart is decided", func(s *v1alpha1.TrainingJobStatus) bool { return s.Attempt > attempt })
	sum.decided = append(sum.decided, time.Since(began))
	j.runs(ctx, attempt+1)
	sum.running = append(sum.running, time.Since(began))
	last := j.seen.Status.LastFailure
	switch {
	case last == nil:
		sum.wrong = append(sum.wrong, fmt.Sprintf("round %d: %s broke, no lastFailure", round, guilty.Name))
	case last.Pod != guilty.Name || last.Cause != how.cause:
		sum.wrong = append(sum.wrong, fmt.Sprintf("round %d: %s broke, lastFailure is %s, %s (%s)", round, guilty.Name, last.Pod, last.Cause, last.Message))
	default:
		sum.named++
	}
	if last == nil {
		return
	}
	if log := output(ctx, "logs", last.Pod); strings.Contains(log, how.words) {
		sum.logs++
	} else {
		sum.silent = append(sum.silent, fmt.Sprintf("round %d: the log of %s: %s", round, last.Pod, log))
	}
}

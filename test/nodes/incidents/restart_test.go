//go:build nodes

package incidents

import (
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/testbed"
	"github.com/trainingjob/operator/test/sim/builder"
)

// spread says how long something took that was done several times.
func spread(times []time.Duration) string {
	if len(times) == 0 {
		return "-"
	}
	sorted := slices.Sorted(slices.Values(times))
	round := func(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
	return fmt.Sprintf("%s (%s to %s)", round(sorted[len(sorted)/2]), round(sorted[0]), round(sorted[len(sorted)-1]))
}

var _ = Describe("A whole restart", func() {
	DescribeTable("takes as long as the program needs to end", func(ctx SpecContext, atMost time.Duration, options ...builder.JobOption) {
		train := submit(ctx, collective(4), options...)
		train.runs(ctx, 0)
		var times []time.Duration
		for round := range int32(*rounds) {
			kubectl(ctx, "delete", "pod", "--wait=false", train.pod(ctx, int(round)%4).Name)
			times = append(times, train.runs(ctx, round+1))
		}
		AddReportEntry(CurrentSpecReport().LeafNodeText, spread(times))
		Expect(slices.Max(times)).To(BeNumerically("<", atMost), spread(times))
		Expect(train.seen.Status.Memory.Charges).To(BeEmpty(), "a deletion is not charged")
	},
		Entry("ranks obey SIGTERM", 30*time.Second),
		// their template gives them thirty seconds, twice of which would be over the limit
		Entry("ranks ignore SIGTERM", 30*time.Second, variable("TERM_CODE", "ignore")),
	)

	It("is not charged when a rank is evicted, and an exit with 0 then is no success", func(ctx SpecContext) {
		train := submit(ctx, collective(3), variable("TERM_CODE", "0"))
		train.runs(ctx, 0)
		pod := train.pod(ctx, 1)
		Expect(testbed.Evict(ctx, kube, pod)).To(Succeed())
		train.runs(ctx, 1)
		last := train.seen.Status.LastFailure
		Expect(last.Pod).To(Equal(pod.Name))
		Expect(last.Reason).To(Equal("EvictionByEvictionAPI"))
		Expect(train.seen.Status.Incidents[0].Charged).To(BeFalse())
	})

	It("stays on the only node that its pods select, without waiting for another", func(ctx SpecContext) {
		train := submit(ctx, collective(2), everyPod(func(pod *corev1.PodSpec) {
			pod.NodeSelector = map[string]string{corev1.LabelHostname: "real-0"}
		}), everyPod(func(pod *corev1.PodSpec) { pod.NodeSelector[testbed.RealNode] = "true" }))
		train.runs(ctx, 0)
		for attempt := range int32(3) { // after the second the node is avoided, as far as there are others
			tell(ctx, train.pod(ctx, 1), "exit", "3")
			Expect(train.runs(ctx, attempt+1)).To(BeNumerically("<", 25*time.Second), "attempt %d", attempt+1)
		}
	})
})

var _ = Describe("A job that is suspended", func() {
	DescribeTable("rests, whatever its ranks exit with on SIGTERM", func(ctx SpecContext, after string) {
		train := submit(ctx, collective(2), variable("TERM_CODE", "0"), variable("TERM_TIME", after))
		train.runs(ctx, 0)
		for _, suspended := range []bool{true, false} {
			kubectl(ctx, "patch", "tj", train.name, "--type=merge", "-p", fmt.Sprintf(`{"spec":{"suspend":%t}}`, suspended))
			if suspended {
				train.ends(ctx, v1alpha1.PhaseSuspended)
				train.becomes(ctx, "its pods are gone", func(s *v1alpha1.TrainingJobStatus) bool { return s.ReplicaStatuses[v1alpha1.Worker].Active == 0 })
			}
		}
		train.becomes(ctx, "it runs again", func(s *v1alpha1.TrainingJobStatus) bool {
			return s.Phase == v1alpha1.PhaseRunning && s.ReadyReplicas == 2
		})
		Expect(train.seen.Status.Restarts).To(BeZero())
	},
		Entry("at once", "0s"),
		Entry("after a second", "1s"),
	)
})

var _ = Describe("Success", func() {
	It("leaves the other ranks time to finish", func(ctx SpecContext) {
		train := submit(ctx, collective(2), variable("STEPS", "20"))
		train.ends(ctx, v1alpha1.PhaseSucceeded)
	})

	It("is the main container's, whatever its side-car does, and READY is as well", func(ctx SpecContext) {
		train := submit(ctx, lone(), variable("STEPS", "40"), everyPod(func(pod *corev1.PodSpec) {
			side := *pod.Containers[0].DeepCopy()
			side.Name, side.Env = "side", []corev1.EnvVar{{Name: "COMMAND", Value: "exit 1 side-car"}}
			pod.Containers = append(pod.Containers, side)
		}))
		train.becomes(ctx, "its side-car has ended and it is ready", func(s *v1alpha1.TrainingJobStatus) bool {
			pod := output(ctx, "get", "pod", "-o", `jsonpath={.items[0].status.containerStatuses[?(@.name=="side")].state.terminated.exitCode}`)
			return s.ReadyReplicas == 1 && pod == "1"
		})
		train.ends(ctx, v1alpha1.PhaseSucceeded)
		Expect(train.seen.Status.Restarts).To(BeZero())
	})
})

var _ = Describe("A pod that never ran", func() {
	It("costs nothing when it is deleted", func(ctx SpecContext) {
		train := submit(ctx, lone(), everyPod(func(pod *corev1.PodSpec) {
			pod.Containers[0].Image = "lab.local/missing:1"
		}))
		waits := func() string {
			return output(ctx, "get", "pod", "train-worker-0", "-o", "jsonpath={.metadata.uid} {.status.containerStatuses[0].state.waiting.reason}")
		}
		Eventually(waits).Should(HaveSuffix("ErrImageNeverPull"))
		before := waits()
		kubectl(ctx, "delete", "pod", "--wait=false", "train-worker-0")
		Eventually(waits).Should(And(HaveSuffix("ErrImageNeverPull"), Not(Equal(before))))
		train.becomes(ctx, "it still starts", func(s *v1alpha1.TrainingJobStatus) bool { return s.Phase == v1alpha1.PhasePending })
		Expect(train.seen.Status.Incidents).To(BeEmpty())
	})

	It("fails the job once startupDeadlineSeconds and the budget are used up", func(ctx SpecContext) {
		train := submit(ctx, lone(), builder.StartupDeadline(5), builder.MaxRestarts(1),
			everyPod(func(pod *corev1.PodSpec) { pod.Containers[0].Image = "lab.local/missing:1" }))
		train.ends(ctx, v1alpha1.PhaseFailed)
		Expect(train.seen.Status.Message).To(ContainSubstring("ErrImageNeverPull"))
		Expect(train.seen.Status.Attempt).To(Equal(int32(1)))
	})
})

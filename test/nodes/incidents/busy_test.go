//go:build nodes

package incidents

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// spinners is how many processes keep the machine busy beside the nodes' own.
const spinners = 16

// busy keeps all processors busy until the spec ends. Kubelets are late then, and say in two versions what they say in one on a quiet
// machine.
func busy() {
	GinkgoHelper()
	for range spinners {
		spin := exec.Command("sh", "-c", "while :; do :; done")
		spin.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		Expect(spin.Start()).To(Succeed())
		DeferCleanup(func() {
			Expect(spin.Process.Kill()).To(Succeed())
			_ = spin.Wait()
		})
	}
}

var _ = Describe("On a busy machine", Serial, func() {
	BeforeEach(busy)

	// The ranks break up to half a second after the leader has gone, as those of frameworks do. All are told at once, so none has to.
	It("a restart that is asked for keeps every rank in its pod", func(ctx SpecContext) {
		const ranks = 8
		train := submit(ctx, collective(ranks), variable("BROKEN_AFTER", "500ms"), shortGrace)
		train.runs(ctx, 0)
		var times []time.Duration
		var kept, made int
		for round := range int32(*rounds) {
			train.haveMet(ctx, 0)
			before := podsOf(train.processes(ctx, ranks))
			train.asksForRestart(ctx, "round "+attempt(round+1))
			times = append(times, train.runs(ctx, round+1))
			(&stormJob{}).count(before, podsOf(train.processes(ctx, ranks)), &kept, &made)
		}
		AddReportEntry(CurrentSpecReport().LeafNodeText,
			fmt.Sprintf("%d of %d ranks kept their pods; all run after %s", kept, kept+made, spread(times)))
		Expect(made).To(BeNumerically("<=", (kept+made)/8), "ranks that got other pods")
		Expect(train.seen.Status.ChargedRestarts).To(BeZero())
	})

	It("an eviction for what the pod itself uses is one restart of the job, charged once, that names the pod", func(ctx SpecContext) {
		train := submit(ctx, collective(3), variable("BROKEN_AFTER", "500ms"), everyPod(withScratch))
		train.runs(ctx, 0)
		var decided []time.Duration
		for round := range int32(min(*rounds, 8)) {
			guilty := train.pod(ctx, 2)
			began := time.Now()
			tell(ctx, guilty, "fill", "/scratch/file")
			train.becomes(ctx, "a restart is decided", func(s *v1alpha1.TrainingJobStatus) bool { return s.Attempt > round })
			decided = append(decided, time.Since(began))
			train.runs(ctx, round+1)
			status := &train.seen.Status
			Expect(status.Restarts).To(Equal(round+1), "restarts; the incidents are %+v", status.Incidents)
			Expect(status.ChargedRestarts).To(Equal(round+1), "charged restarts; the incidents are %+v", status.Incidents)
			Expect(status.LastFailure.Pod).To(Equal(guilty.Name))
			Expect(status.LastFailure.Reason).To(Equal("Evicted"))
			Expect(status.LastFailure.Message).To(ContainSubstring(`Usage of EmptyDir volume "scratch" exceeds the limit "4Mi"`))
			Expect(status.Incidents[0].Scope).To(Equal(v1alpha1.ScopeJob))
		}
		AddReportEntry(CurrentSpecReport().LeafNodeText, fmt.Sprintf("%d of %d; decided after %s", len(decided), len(decided), spread(decided)))
		Expect(train.seen.Status.AvoidedNodes).To(BeEmpty(), "the limit is the template's own")
	})

	It("an exception of one rank is told from what follows it", func(ctx SpecContext) {
		train := submit(ctx, collective(4), variable("BROKEN_AFTER", "500ms"))
		train.runs(ctx, 0)
		var sum tally
		for round := range *rounds {
			train.breaks(ctx, &sum, round, exception)
		}
		AddReportEntry(CurrentSpecReport().LeafNodeText, sum.String())
		Expect(len(sum.wrong)).To(BeNumerically("<=", *rounds/20), "%v", sum.wrong)
	})
})

// shortGrace lets the job restart in place without being told to: no pod has longer to end than a restart gives it.
func shortGrace(made *v1alpha1.TrainingJob) {
	everyPod(func(pod *corev1.PodSpec) {
		pod.TerminationGracePeriodSeconds = ptr.To(int64(v1alpha1.DefaultTerminationGraceSeconds))
	})(made)
}

// withScratch mounts a volume of 4 MiB, beyond which the kubelet evicts the pod.
func withScratch(pod *corev1.PodSpec) {
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "scratch", VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: ptr.To(resource.MustParse("4Mi"))},
	}})
	main := &pod.Containers[0]
	main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: "scratch", MountPath: "/scratch"})
}

// exception is how most programs fail: with code 1, as their peers do a moment later.
var exception = way{
	fault: func(ctx context.Context, pod *corev1.Pod) {
		tell(ctx, pod, "exit", "1", "ValueError:", "batch", "17", "is", "empty")
	},
	cause:  v1alpha1.CauseRetryable,
	words:  "ValueError: batch 17 is empty",
	spares: true,
}

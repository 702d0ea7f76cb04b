//go:build nodes

package incidents

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

// apart returns a job of ranks that do not meet, so that the others still run when one of them breaks; all restart, in place.
func apart(ranks int) *v1alpha1.TrainingJob {
	return newJob(v1alpha1.Custom, builder.Workers(ranks, builder.Scope(v1alpha1.ScopeJob)),
		builder.Recovery(func(r *v1alpha1.Recovery) {
			r.RestartMethod = v1alpha1.RestartInPlace
			r.AvoidNodesSeconds = ptr.To[int32](0) // nobody is moved away from the node of the one that breaks again and again
		}))
}

// process is one process of a rank: the pod, and which container of its. digested is whether its node knows its image by a digest of the
// repository: else the rank cannot go on in its pod. gate is whether its pod is kept when the process ends: not while its gate is
// open.
type process struct {
	pod       types.UID
	container string
	restarts  int32
	digested  bool
	gate      string
}

func (j *job) processes(ctx context.Context, ranks int) []process {
	GinkgoHelper()
	all, err := j.tryProcesses(ctx, ranks)
	Expect(err).NotTo(HaveOccurred())
	return all
}

func (j *job) tryProcesses(ctx context.Context, ranks int) ([]process, error) {
	var all []process
	for rank := range ranks {
		pod, err := j.tryPod(ctx, rank)
		if err != nil {
			return nil, err
		}
		main := pod.Status.ContainerStatuses[0]
		all = append(all, process{pod.UID, main.ContainerID, main.RestartCount, strings.Contains(main.ImageID, "@sha256:"),
			pod.Annotations[v1alpha1.AnnotationStartGate]})
	}
	return all, nil
}

// behindGates returns the processes of the ranks once all gates are closed, for two seconds: a kubelet that waits for the next look at its containers, one a
// second, acts on the pod as it knew it before. A rank that ends before gets another pod.
func (j *job) behindGates(ctx context.Context, ranks int) []process {
	GinkgoHelper()
	var since time.Time
	Eventually(func(g Gomega) {
		for rank, p := range j.processes(ctx, ranks) {
			g.Expect(p.gate).To(Equal(v1alpha1.GateClosed), "the gate of rank %d", rank)
		}
		if since.IsZero() {
			since = time.Now()
		}
		g.Expect(time.Since(since)).To(BeNumerically(">", 2*time.Second), "since all gates are closed")
	}).WithTimeout(30 * time.Second).Should(Succeed())
	return j.processes(ctx, ranks)
}

// starts returns the attempts in which the program of a pod has said that it starts, in this life of its container and the one before.
func starts(ctx context.Context, pod *corev1.Pod) []string {
	GinkgoHelper()
	text := output(ctx, "logs", pod.Name, "--previous") + "\n" + output(ctx, "logs", pod.Name)
	var attempts []string
	for line := range strings.Lines(text) {
		if _, attempt, found := strings.Cut(line, " of attempt "); found {
			attempts = append(attempts, strings.TrimSpace(attempt))
		}
	}
	return attempts
}

// hasStartedOnce holds that each rank runs the attempt in its pod, in another container than before, which was started once and told that
// attempt.
func (j *job) hasStartedOnce(ctx context.Context, before []process, number int32) {
	GinkgoHelper()
	for rank, now := range j.processes(ctx, len(before)) {
		was := before[rank]
		Expect(now.pod).To(Equal(was.pod), "rank %d has the same pod", rank)
		Expect(now.container).NotTo(Equal(was.container), "rank %d runs in another container", rank)
		Expect(now.restarts).To(Equal(was.restarts+1), "rank %d was started once", rank)
		// of some hundred containers the kubelet removes one, and its log with it, as soon as the next one runs
		whole, rest := []string{attempt(number - 1), attempt(number)}, []string{attempt(number)}
		Eventually(func() []string { return starts(ctx, j.pod(ctx, rank)) }).Should(Or(Equal(whole), Equal(rest)), "what rank %d was told", rank)
	}
}

// asksForRestart does what kubectl annotate does.
func (j *job) asksForRestart(ctx context.Context, words string) {
	GinkgoHelper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationRestart, words)
	Expect(kube.Patch(ctx, j.seen.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}

var _ = Describe("A restart in place", func() {
	It("starts all ranks once, each in its pod, when somebody asks for it", func(ctx SpecContext) {
		const ranks = 8
		train := submit(ctx, apart(ranks))
		train.runs(ctx, 0)
		var times []time.Duration
		for round := range int32(*rounds) {
			before := train.processes(ctx, ranks)
			train.asksForRestart(ctx, "round "+attempt(round+1))
			times = append(times, train.runs(ctx, round+1))
			train.hasStartedOnce(ctx, before, round+1)
		}
		Expect(train.seen.Status.ChargedRestarts).To(BeZero())
		AddReportEntry(CurrentSpecReport().LeafNodeText, spread(times))
	})

	DescribeTable("starts every rank once, each in its pod, the broken one too", func(ctx SpecContext, broken int, changes ...builder.JobOption) {
		const ranks = 4
		train := submit(ctx, apart(ranks), changes...)
		train.runs(ctx, 0)
		var times []time.Duration
		for round := range int32(*rounds) {
			before := train.behindGates(ctx, ranks)
			kill(ctx, train.pod(ctx, broken))
			times = append(times, train.runs(ctx, round+1))
			train.hasStartedOnce(ctx, before, round+1)
			Expect(train.seen.Status.LastFailure.ExitCode).To(HaveValue(Equal(int32(137))))
			Expect(train.seen.Status.Restarts).To(Equal(round + 1))
		}
		AddReportEntry(CurrentSpecReport().LeafNodeText, spread(times))
	},
		Entry("a worker breaks", 2),
		Entry("the leader breaks", 0),
		Entry("ranks ignore SIGTERM and have two seconds", 2, variable("TERM_CODE", "ignore"),
			everyPod(func(pod *corev1.PodSpec) { pod.TerminationGracePeriodSeconds = ptr.To[int64](2) })),
	)

	It("leaves a rank that breaks in the meantime to the next attempt", func(ctx SpecContext) {
		train := submit(ctx, apart(4))
		train.runs(ctx, 0)
		kill(ctx, train.pod(ctx, 2))
		train.becomes(ctx, "attempt 1", func(s *v1alpha1.TrainingJobStatus) bool { return s.Attempt == 1 })
		Eventually(func() error { // its container may just be going
			_, err := given.Run(ctx, "pod", "kill", train.pod(ctx, 1).Name, "-n", namespace)
			return err
		}).Should(Succeed())
		train.becomes(ctx, "all run", func(s *v1alpha1.TrainingJobStatus) bool {
			return s.Phase == v1alpha1.PhaseRunning && s.ReadyReplicas == 4
		})
		last := train.processes(ctx, 4)
		Consistently(func() []process { return train.processes(ctx, 4) }).WithTimeout(8*time.Second).Should(Equal(last), "nothing is restarted without a cause")
		Expect(train.seen.Status.Restarts).To(BeNumerically("<=", 2))
	})

	It("is a new pod where the node was rebooted in the middle of it", func(ctx SpecContext) {
		train := submit(ctx, apart(4), variable("TERM_TIME", "4s"))
		train.runs(ctx, 0)
		leader, broken := train.pod(ctx, 0), train.pod(ctx, 2)
		kill(ctx, broken)
		Eventually(func() string { return train.pod(ctx, 0).Labels[v1alpha1.LabelAttempt] }).Should(Equal("1"), "the leader is told")
		lab(ctx, "node", "reboot", leader.Spec.NodeName)
		train.becomes(ctx, "all run", func(s *v1alpha1.TrainingJobStatus) bool {
			return s.Phase == v1alpha1.PhaseRunning && s.ReadyReplicas == 4
		})
		Expect(train.pod(ctx, 0).UID).NotTo(Equal(leader.UID))
		Expect(train.seen.Status.ChargedRestarts).To(Equal(int32(1)), "the kill is charged, the reboot is not")
	})
})

func attempt(n int32) string { return strconv.Itoa(int(n)) }

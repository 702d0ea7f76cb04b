//go:build nodes

package incidents

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/builder"
)

// shellImage is the program in an image that has a shell, which a warm spare waits in.
const shellImage = "lab.local/trainer-with-shell:1"

// buildShellImage gives the real nodes shellImage.
func buildShellImage(ctx context.Context) {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	program, err := os.ReadFile("../../bin/trainer")
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(filepath.Join(dir, "program"), program, 0o755)).To(Succeed())
	Expect(os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte("FROM debian:bookworm-slim\nCOPY program /\nENTRYPOINT [\"/program\"]\n"), 0o644)).To(Succeed())
	archive := filepath.Join(dir, "image.tar")
	said, err := exec.CommandContext(ctx, given.Binary, "image", "build", dir, "--tag", shellImage, "--cache", "../../bin/images/cache", "-o", archive).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "building an image with a shell: %s", said)
	lab(ctx, "image", "import", archive)
}

// inShellImage runs the program in the image that has a shell.
var inShellImage = builder.EveryRole(builder.PodSpec(func(pod *corev1.PodSpec) { pod.Containers[0].Image = shellImage }))

// foundByTheLeader says that no rank is found by its name, but the leader.
func foundByTheLeader(job *v1alpha1.TrainingJob) {
	job.Spec.Network = &v1alpha1.Network{Names: v1alpha1.NamesLeader}
}

// prepared gives the pods an init container that takes two seconds, as one that fetches data does.
var prepared = builder.EveryRole(builder.PodSpec(func(pod *corev1.PodSpec) {
	pod.InitContainers = []corev1.Container{{Name: "fetch", Image: shellImage, ImagePullPolicy: corev1.PullNever, Command: []string{"sleep", "2"}}}
}))

// warm returns a job of ranks that do not meet, with warm spares.
func warm(ranks, spares int) *v1alpha1.TrainingJob {
	made := apart(ranks)
	for _, change := range []builder.JobOption{inShellImage, foundByTheLeader, builder.Of(v1alpha1.Worker, builder.WarmSpares(spares))} {
		change(made)
	}
	return made
}

// spare waits until one warm spare waits to be told which rank it is, and returns it.
func (j *job) spare(ctx context.Context) *corev1.Pod {
	GinkgoHelper()
	var waiting []corev1.Pod
	Eventually(func() ([]corev1.Pod, error) {
		var pods corev1.PodList
		err := kube.List(ctx, &pods, client.InNamespace(namespace), client.HasLabels{v1alpha1.LabelSpare},
			client.MatchingLabels{v1alpha1.LabelJobUID: string(j.seen.UID)})
		waits := func(c corev1.ContainerStatus) bool {
			return c.Name == v1alpha1.AwaitContainer && c.State.Running != nil
		}
		waiting = slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool {
			return p.DeletionTimestamp != nil || !slices.ContainsFunc(p.Status.InitContainerStatuses, waits)
		})
		return waiting, err
	}).Should(HaveLen(1), "spares that wait")
	return &waiting[0]
}

var _ = Describe("A warm spare", func() {
	BeforeEach(func(ctx SpecContext) { buildShellImage(ctx) })

	DescribeTable("becomes the rank that breaks, in its own pod", func(ctx SpecContext, changes ...builder.JobOption) {
		const ranks, broken = 4, 2
		cold := submit(ctx, apart(ranks), append(changes, inShellImage, func(made *v1alpha1.TrainingJob) { made.Name = "cold" })...)
		train := submit(ctx, warm(ranks, 1), changes...)
		cold.runs(ctx, 0)
		train.runs(ctx, 0)
		var times, coldTimes []time.Duration
		for round := range int32(*rounds) {
			kill(ctx, cold.pod(ctx, broken))
			coldTimes = append(coldTimes, cold.runs(ctx, round+1))
			spare, before := train.spare(ctx), train.processes(ctx, ranks)
			kill(ctx, train.pod(ctx, broken))
			times = append(times, train.runs(ctx, round+1))
			train.hasStartedOnce(ctx, before, round+1, broken)
			now := train.pod(ctx, broken)
			Expect(now.UID).To(Equal(spare.UID), "the spare is the rank")
			Expect(starts(ctx, now)).To(Equal([]string{attempt(round + 1)}), "what its program was told, once")
			said := output(ctx, "exec", now.Name, "--", "/bin/sh", "-c", "echo rank $TRAININGJOB_RANK of attempt $TRAININGJOB_ATTEMPT")
			Expect(said).To(ContainSubstring(fmt.Sprintf("rank %d of attempt %d", broken, round+1)))
			Expect(train.seen.Status.Restarts).To(Equal(round + 1))
		}
		AddReportEntry(CurrentSpecReport().LeafNodeText, fmt.Sprintf("from the kill until all ranks run: with a warm spare %s; with a new pod %s", spread(times), spread(coldTimes)))
		before := train.processes(ctx, ranks)
		train.asksForRestart(ctx, "now")
		train.runs(ctx, int32(*rounds)+1)
		train.hasStartedOnce(ctx, before, int32(*rounds)+1, -1)
	},
		Entry("whose pods start at once"),
		Entry("whose pods have an init container that takes two seconds", prepared),
	)

	It("leaves the rank to a pod of its own if it goes at the same time", func(ctx SpecContext) {
		train := submit(ctx, warm(4, 1))
		train.runs(ctx, 0)
		spare, before := train.spare(ctx), train.processes(ctx, 4)
		kubectl(ctx, "delete", "pod", "--wait=false", spare.Name)
		kill(ctx, train.pod(ctx, 2))
		train.runs(ctx, 1)
		train.hasStartedOnce(ctx, before, 1, 2)
		Expect(train.pod(ctx, 2).UID).NotTo(Equal(spare.UID))
		Expect(train.seen.Status.Restarts).To(Equal(int32(1)))
		train.spare(ctx)
	})
})

//go:build multikueue

package multikueue

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/testbed"
	"github.com/trainingjob/operator/test/sim/builder"
)

// job is the name of a spec's job in each cluster.
type job string

// in returns the job as that cluster has it; nil if it has none.
func (j job) in(ctx context.Context, p *place) *v1alpha1.TrainingJob {
	GinkgoHelper()
	var found v1alpha1.TrainingJob
	err := p.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: string(j)}, &found)
	if apierrors.IsNotFound(err) {
		return nil
	}
	Expect(err).NotTo(HaveOccurred())
	return &found
}

// becomes waits until the manager's status is as the matcher says, and returns the job.
func (j job) becomes(ctx context.Context, what string, is gomegatypes.GomegaMatcher) *v1alpha1.TrainingJob {
	GinkgoHelper()
	Eventually(ctx, func(ctx context.Context) *v1alpha1.TrainingJob { return j.in(ctx, manager) }).Should(is, what)
	return j.in(ctx, manager)
}

// draft returns a job of two workers with a GPU each, in the queue.
func draft(name string) *v1alpha1.TrainingJob {
	drafted := builder.Submitted(name, v1alpha1.PyTorch, builder.Workers(2, builder.Limit(gpu, 1)), builder.BackOff(0, 1), builder.FinishGrace(0))
	drafted.Namespace, drafted.Labels = metav1.NamespaceDefault, map[string]string{v1alpha1.LabelQueue: queueName}
	return drafted
}

// submit creates a job on the manager.
func submit(ctx context.Context, name string, changes ...func(*v1alpha1.TrainingJob)) job {
	GinkgoHelper()
	submitted := draft(name)
	for _, change := range changes {
		change(submitted)
	}
	Expect(manager.Create(ctx, submitted)).To(Succeed())
	Expect(submitted.Spec.ManagedBy).To(Equal(v1alpha1.MultiKueue), "the queue's label")
	Expect(submitted.Spec.IsSuspended()).To(BeTrue())
	return job(name)
}

// runsIn waits until the job runs in the cluster, and the manager shows it.
func (j job) runsIn(ctx context.Context, p *place, attempt, restarts int32) {
	GinkgoHelper()
	j.becomes(ctx, "the manager shows that it runs in "+p.name, And(HaveField("Status.Phase", v1alpha1.PhaseRunning),
		HaveField("Status.Attempt", attempt), HaveField("Status.Restarts", restarts), HaveField("Annotations", HaveKeyWithValue(v1alpha1.AnnotationCluster, p.name))))
	running := slices.DeleteFunc(j.pods(ctx, p), func(pod corev1.Pod) bool { return pod.Status.Phase != corev1.PodRunning })
	Expect(running).To(HaveLen(2), "a failed pod may stay for its log")
	Expect(j.pods(ctx, manager)).To(BeEmpty(), "pods on the manager")
}

func (j job) pods(ctx context.Context, p *place) []corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(p.List(ctx, &pods, client.InNamespace(metav1.NamespaceDefault), client.MatchingLabels{v1alpha1.LabelJobName: string(j)})).To(Succeed())
	return pods.Items
}

// exits ends the pod of worker 0.
func (j job) exits(ctx context.Context, p *place, code string) {
	GinkgoHelper()
	for _, pod := range j.pods(ctx, p) {
		if pod.Labels[v1alpha1.LabelIndex] == "0" {
			Expect(testbed.Tell(ctx, p, &pod, testbed.Annotations{"exit-code": code})).To(Succeed())
		}
	}
}

// isGoneFrom waits until the cluster has neither the job nor pods of it.
func (j job) isGoneFrom(ctx context.Context, p *place) {
	GinkgoHelper()
	Eventually(ctx, func(ctx context.Context) *v1alpha1.TrainingJob { return j.in(ctx, p) }).Should(BeNil(), "the job in %s", p.name)
	Eventually(ctx, func(ctx context.Context) []corev1.Pod { return j.pods(ctx, p) }).Should(BeEmpty(), "pods in %s", p.name)
}

// tj runs kubectl tj, the program itself, on the manager's job.
func (j job) tj(ctx context.Context, verb string) {
	GinkgoHelper()
	program := filepath.Join("..", "..", "..", "bin", "kubectl-tj")
	args := []string{verb, string(j), "-n", metav1.NamespaceDefault, "--kubeconfig", manager.lab.Kubeconfig()}
	printed, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "kubectl tj %s prints %q; without the program, run make kubectl-tj", verb, printed)
}

var _ = Describe("A TrainingJob that MultiKueue runs", func() {
	var j job

	BeforeEach(func(ctx SpecContext) {
		worker1.offers(ctx, 0, "None")
		worker2.offers(ctx, 8, "None")
	})

	AfterEach(func(ctx SpecContext) {
		left := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: string(j)}}
		Expect(client.IgnoreNotFound(manager.Delete(ctx, left))).To(Succeed())
		for _, p := range []*place{manager, worker1, worker2} {
			j.isGoneFrom(ctx, p)
		}
	})

	It("runs in the cluster that admits it, without the manager's owners, and the manager shows how it ends", func(ctx SpecContext) {
		owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "owner"}}
		Expect(manager.Create(ctx, owner)).To(Succeed())
		j = submit(ctx, "runs", func(s *v1alpha1.TrainingJob) {
			s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}
		})
		j.runsIn(ctx, worker2, 0, 0)
		Expect(j.in(ctx, worker2).OwnerReferences).To(BeEmpty())
		Expect(j.in(ctx, worker2).Spec.ManagedBy).To(BeEmpty())
		Expect(j.in(ctx, worker1)).To(BeNil())
		j.exits(ctx, worker2, "0")
		j.becomes(ctx, "it has succeeded", HaveField("Status.Phase", v1alpha1.PhaseSucceeded))
		j.isGoneFrom(ctx, worker2)
	})

	It("waits, and says so, until a cluster has room", func(ctx SpecContext) {
		worker2.offers(ctx, 1, "None")
		j = submit(ctx, "waits")
		waiting := j.becomes(ctx, "it is queued", HaveField("Status.Phase", v1alpha1.PhaseQueued))
		Expect(waiting.Status.Message).To(ContainSubstring("The job waits in queue " + queueName))
		worker1.offers(ctx, 2, "None")
		j.runsIn(ctx, worker1, 0, 0)
	})

	It("is deleted with all that is of it in the other cluster", func(ctx SpecContext) {
		j = submit(ctx, "deleted")
		j.runsIn(ctx, worker2, 0, 0)
		Expect(manager.Delete(ctx, j.in(ctx, manager))).To(Succeed())
		j.isGoneFrom(ctx, manager)
		j.isGoneFrom(ctx, worker2)
	})

	It("brings its restarts back, and its counts go on after a suspension by the user", func(ctx SpecContext) {
		j = submit(ctx, "counts")
		j.runsIn(ctx, worker2, 0, 0)
		j.exits(ctx, worker2, "1")
		j.runsIn(ctx, worker2, 1, 1)
		j.tj(ctx, "suspend")
		j.becomes(ctx, "it is suspended", And(HaveField("Status.Phase", v1alpha1.PhaseQueued), HaveField("Status.Message", ContainSubstring("kubectl tj resume counts"))))
		j.isGoneFrom(ctx, worker2)
		Consistently(ctx, func(ctx context.Context) *v1alpha1.TrainingJob { return j.in(ctx, worker2) }, 3*time.Second).Should(BeNil())
		j.tj(ctx, "resume")
		j.runsIn(ctx, worker2, 2, 1)
		Expect(j.in(ctx, manager).Status.Incidents).To(HaveLen(1))
	})

	It("runs in the other cluster when its own evicts it, from the next attempt", func(ctx SpecContext) {
		j = submit(ctx, "evicted")
		j.runsIn(ctx, worker2, 0, 0)
		worker1.offers(ctx, 8, "None")
		worker2.offers(ctx, 0, "HoldAndDrain")
		j.runsIn(ctx, worker1, 1, 0)
		j.isGoneFrom(ctx, worker2)
	})

	It("runs in the other cluster when its own dies, with its counts, and once when that returns", func(ctx SpecContext) {
		j = submit(ctx, "lost")
		j.runsIn(ctx, worker2, 0, 0)
		j.exits(ctx, worker2, "1")
		j.runsIn(ctx, worker2, 1, 1)
		worker1.offers(ctx, 8, "None")
		dead := make(chan error, 1) // for less than the 30 s after which operator and adapter end, as a lab does not start them again
		go func() {
			defer GinkgoRecover()
			_, err := worker2.lab.Run(context.WithoutCancel(ctx), "restart", "--component", "kube-apiserver", "--dead-for", "20s")
			dead <- err
		}()
		Eventually(ctx, func(ctx context.Context) *v1alpha1.TrainingJob { return j.in(ctx, manager) }).WithTimeout(4 * time.Minute).
			Should(HaveField("Annotations", HaveKeyWithValue(v1alpha1.AnnotationCluster, worker1.name)))
		j.runsIn(ctx, worker1, 2, 1)
		Eventually(dead).WithTimeout(5 * time.Minute).Should(Receive(BeNil()))
		Eventually(ctx, func(ctx context.Context) *v1alpha1.TrainingJob { return j.in(ctx, worker2) }).WithTimeout(5*time.Minute).
			Should(BeNil(), "Kueue connects again, and deletes the copy")
		j.isGoneFrom(ctx, worker2)
		j.runsIn(ctx, worker1, 2, 1)
	})
})

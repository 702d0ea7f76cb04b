//go:build frameworks

package frameworks

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// What a suspension costs is what was trained since the newest checkpoint. examples/progress-lease.yaml saves one every ten steps of a second,
// and when it is asked; its side-car answers with its own rights.
var _ = Describe("examples/progress-lease.yaml", Ordered, Label("ask"), func() {
	BeforeAll(example{name: "hello-ps"}.bringImage) // an image with Python
	BeforeEach(nodesAreWell)

	DescribeTable("is suspended and resumed", func(ctx SpecContext, checkpointGraceSeconds int32) {
		r := beginProgress(ctx, checkpointGraceSeconds)
		var lost, took []float64
		for round := range *rounds {
			r.reports(round)
			asked := time.Now()
			before := r.savedAt()
			r.suspends(true)
			r.hasPhase(v1alpha1.PhaseSuspended)
			job := r.job()
			stopped := meta.FindStatusCondition(job.Status.Conditions, v1alpha1.ConditionSuspended).LastTransitionTime.Time
			if checkpointGraceSeconds > 0 {
				before = job.Status.Progress.CheckpointTime.Time
			}
			lost, took = append(lost, max(0, stopped.Sub(before).Seconds())), append(took, time.Since(asked).Seconds())
			r.suspends(false)
			r.hasPhase(v1alpha1.PhaseRunning)
		}
		AddReportEntry("seconds of training lost", spread(lost))
		AddReportEntry("seconds until it is suspended", spread(took))
		if checkpointGraceSeconds > 0 {
			Expect(lost).To(HaveEach(BeNumerically("<=", 2)), "what was trained after the answer")
		}
	},
		Entry("with checkpointGraceSeconds: 60", NodeTimeout(time.Hour), int32(60)),
		Entry("with checkpointGraceSeconds: 0", NodeTimeout(time.Hour), int32(0)),
	)
})

// beginProgress submits examples/progress-lease.yaml, in an image that is here, without GPUs.
func beginProgress(ctx SpecContext, checkpointGraceSeconds int32) *run {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(root, "examples/progress-lease.yaml"))
	Expect(err).NotTo(HaveOccurred())
	documents := strings.Split(string(text), "\n---\n")
	job, role, binding, account := new(v1alpha1.TrainingJob), new(rbacv1.Role), new(rbacv1.RoleBinding), new(corev1.ServiceAccount)
	for i, into := range []client.Object{job, role, binding, account} {
		Expect(yaml.UnmarshalStrict([]byte(documents[i]), into)).To(Succeed())
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "train-"}}
	Expect(kube.Create(ctx, ns)).To(Succeed())
	r := &run{ctx: ctx, name: job.Name, namespace: ns.Name, spec: job, tape: &tape{pods: map[string]*podSeen{}}}
	DeferCleanup(func(ctx SpecContext) { r.cleanUp(ctx, ns, func() {}) })
	binding.Subjects[0].Namespace = ns.Name
	job.Spec.Progress.CheckpointGraceSeconds = checkpointGraceSeconds
	for _, replicas := range job.Spec.ReplicaSpecs {
		pod := &replicas.Template.Spec
		for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
			for i := range containers {
				c := &containers[i]
				c.Image, c.Resources, c.Command[0] = "registry.example.com/examples/hello-ps:v1", corev1.ResourceRequirements{}, strings.Replace(c.Command[0], "python", "python3", 1)
			}
		}
	}
	for _, o := range []client.Object{role, binding, account, job} {
		o.SetNamespace(ns.Name)
		Expect(kube.Create(ctx, o)).To(Succeed())
	}
	return r
}

// reports waits until the job runs, has saved something, and is somewhere between two checkpoints: another place each round.
func (r *run) reports(round int) {
	GinkgoHelper()
	r.hasPhase(v1alpha1.PhaseRunning)
	Eventually(func() error { return r.read("stat", "/progress/step").Run() }).WithTimeout(time.Minute).Should(Succeed(), "the first checkpoint")
	ctx, cancel := r.ctx, time.After(time.Duration(1+round*3%10)*time.Second)
	select {
	case <-cancel:
	case <-ctx.Done():
	}
}

// savedAt returns when the training wrote its newest checkpoint.
func (r *run) savedAt() time.Time {
	GinkgoHelper()
	out, err := r.read("stat", "-c", "%Y", "/progress/step").Output()
	Expect(err).NotTo(HaveOccurred())
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	Expect(err).NotTo(HaveOccurred())
	return time.Unix(seconds, 0)
}

// read runs a command in the master's training container.
func (r *run) read(command ...string) *exec.Cmd {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(kube.List(r.ctx, &pods, client.InNamespace(r.namespace), client.MatchingLabels{v1alpha1.LabelRole: "master"})).To(Succeed())
	Expect(pods.Items).To(HaveLen(1))
	return exec.Command(filepath.Join(root, "bin/lab"), r.forKubectl(append([]string{"exec", pods.Items[0].Name, "-c", "pytorch", "--"}, command...))...)
}

func (r *run) suspends(yes bool) {
	GinkgoHelper()
	r.kubectl("patch", "tj", r.name, "--type=merge", "-p", fmt.Sprintf(`{"spec":{"suspend":%t}}`, yes))
}

func (r *run) hasPhase(phase v1alpha1.Phase) {
	GinkgoHelper()
	Eventually(func() v1alpha1.Phase { return r.job().Status.Phase }).WithTimeout(3 * time.Minute).Should(Equal(phase))
}

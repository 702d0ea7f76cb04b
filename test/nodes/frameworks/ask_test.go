//go:build frameworks

package frameworks

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// What a suspension costs is what was trained since the newest checkpoint. examples/progress.yaml saves one every hundred steps of a second, and
// when it is asked.
var _ = Describe("examples/progress.yaml", Ordered, Label("ask"), func() {
	BeforeAll(example{name: "hello-ps"}.bringImage) // an image with Python
	BeforeEach(nodesAreWell)

	DescribeTable("is suspended and resumed", func(ctx SpecContext, checkpointGraceSeconds int32) {
		r := beginProgress(ctx, checkpointGraceSeconds)
		var lost, took []float64
		for round := range *rounds {
			r.reports(round)
			asked := time.Now()
			before := r.checkpointTime().Time
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

// beginProgress submits examples/progress.yaml, in an image that is here, without GPUs.
func beginProgress(ctx SpecContext, checkpointGraceSeconds int32) *run {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(root, "examples/progress.yaml"))
	Expect(err).NotTo(HaveOccurred())
	job := new(v1alpha1.TrainingJob)
	Expect(yaml.UnmarshalStrict(text, job)).To(Succeed())
	source, err := os.ReadFile(filepath.Join(root, "sdk/python/trainingjob/reporting.py"))
	Expect(err).NotTo(HaveOccurred())
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "train-"}}
	Expect(kube.Create(ctx, ns)).To(Succeed())
	r := &run{ctx: ctx, name: job.Name, namespace: ns.Name, spec: job, tape: &tape{pods: map[string]*podSeen{}}}
	DeferCleanup(func(ctx SpecContext) { r.cleanUp(ctx, ns, func() {}) })
	job.Spec.Progress.CheckpointGraceSeconds = checkpointGraceSeconds
	for _, replicas := range job.Spec.ReplicaSpecs {
		c := &replicas.Template.Spec.Containers[0]
		c.Image, c.Resources, c.Command[0] = "registry.example.com/examples/hello-ps:v1", corev1.ResourceRequirements{}, "python3"
		c.Args[0], c.Env = installs+c.Args[0], []corev1.EnvVar{{Name: "REPORTING", Value: string(source)}}
	}
	job.Namespace = ns.Name
	Expect(kube.Create(ctx, job)).To(Succeed())
	return r
}

// reports waits until the job runs, has saved something, and is somewhere between two checkpoints: another place each round.
func (r *run) reports(round int) {
	GinkgoHelper()
	r.hasPhase(v1alpha1.PhaseRunning)
	Eventually(func() *metav1.Time { return r.checkpointTime() }).WithTimeout(time.Minute).ShouldNot(BeNil(), "the first checkpoint")
	ctx, cancel := r.ctx, time.After(time.Duration(1+round*3%10)*time.Second)
	select {
	case <-cancel:
	case <-ctx.Done():
	}
}

// checkpointTime returns when the training reported its newest checkpoint; nil if it has not.
func (r *run) checkpointTime() *metav1.Time {
	if p := r.job().Status.Progress; p != nil {
		return p.CheckpointTime
	}
	return nil
}

func (r *run) suspends(yes bool) {
	GinkgoHelper()
	r.kubectl("patch", "tj", r.name, "--type=merge", "-p", fmt.Sprintf(`{"spec":{"suspend":%t}}`, yes))
}

func (r *run) hasPhase(phase v1alpha1.Phase) {
	GinkgoHelper()
	Eventually(func() v1alpha1.Phase { return r.job().Status.Phase }).WithTimeout(3 * time.Minute).Should(Equal(phase))
}

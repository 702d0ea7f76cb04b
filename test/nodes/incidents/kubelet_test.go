//go:build nodes

package incidents

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

// ending is a way for a kubelet to end a rank because the pod's template asks for it.
type ending struct {
	template func(*corev1.PodSpec)
	cause    v1alpha1.Cause
	// message is in the status, and why is what kubectl tj why says besides.
	message, why string
}

const lookThere = "This exit code often means that a probe or a postStart hook failed. Check: kubectl describe pod train-worker-0"

// A worker is ended again and again, and the leader breaks with it. The status names the worker and where to look, kubectl tj why quotes
// the kubelet's Events, and the node, which did as it was told, is not avoided.
var _ = Describe("A rank that its kubelet ends", func() {
	DescribeTable("because its template asks for it", func(ctx SpecContext, how ending) {
		train := submit(ctx, collective(2), func(made *v1alpha1.TrainingJob) {
			worker := made.Spec.ReplicaSpecs[v1alpha1.Worker]
			how.template(&worker.Template.Spec)
			made.Spec.ReplicaSpecs[v1alpha1.Worker] = worker
		}, builder.MaxRestarts(3))
		train.ends(ctx, v1alpha1.PhaseFailed)
		status := &train.seen.Status
		Expect(status.LastFailure.Pod).To(HavePrefix("train-worker-0"))
		Expect(status.LastFailure.Cause).To(Equal(how.cause))
		Expect(status.Message).To(ContainSubstring(how.message))
		Expect(status.ChargedRestarts).To(Equal(int32(3)))
		for _, incident := range status.Incidents {
			Expect(incident.Pod).To(HavePrefix("train-worker-0"), incident.Message)
		}
		Expect(status.AvoidedNodes).To(BeEmpty())
		Expect(why(train)).To(ContainSubstring(how.why))
	},
		Entry("as a liveness probe fails", ending{ofMain(func(c *corev1.Container) {
			c.LivenessProbe = &corev1.Probe{ProbeHandler: nothingListens, InitialDelaySeconds: 3, PeriodSeconds: 1, FailureThreshold: 1}
		}), v1alpha1.CauseRetryable, lookThere, "Liveness probe failed"}),
		Entry("as a startup probe fails", ending{ofMain(func(c *corev1.Container) {
			c.StartupProbe = &corev1.Probe{ProbeHandler: nothingListens, PeriodSeconds: 1, FailureThreshold: 2}
		}), v1alpha1.CauseStartup, lookThere, "Startup probe failed"}),
		Entry("as a postStart hook fails", ending{ofMain(func(c *corev1.Container) {
			c.Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"/no/such/program"}}}}
		}), v1alpha1.CauseRetryable, lookThere, "FailedPostStartHook"}),
		Entry("at the pod's own deadline", ending{func(pod *corev1.PodSpec) { pod.ActiveDeadlineSeconds = ptr.To[int64](5) },
			v1alpha1.CauseRetryable, "DeadlineExceeded", "Raise activeDeadlineSeconds of the template's spec"}),
	)
})

var _ = Describe("A rank that may not run as root", func() {
	It("waits, and kubectl tj why says what to change", func(ctx SpecContext) {
		train := submit(ctx, lone(), everyPod(func(pod *corev1.PodSpec) {
			pod.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true)}
		}))
		train.becomes(ctx, "its kubelet refuses the image", func(s *v1alpha1.TrainingJobStatus) bool { return s.Reason == "CreateContainerConfigError" })
		Expect(why(train)).To(ContainSubstring("set securityContext.runAsUser"))
	})
})

var nothingListens = corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(9)}}

// ofMain changes the main container.
func ofMain(change func(*corev1.Container)) func(*corev1.PodSpec) {
	return func(pod *corev1.PodSpec) { change(&pod.Containers[0]) }
}

// why returns what kubectl tj why says of the job.
func why(j *job) string {
	GinkgoHelper()
	plugin := cmp.Or(os.Getenv("KUBECTL_TJ"), filepath.Join("..", "..", "..", "bin", "kubectl-tj"))
	said, err := exec.Command(plugin, "why", j.name, "-n", namespace, "--kubeconfig", given.Kubeconfig()).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(said))
	return string(said)
}

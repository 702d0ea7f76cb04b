//go:build frameworks

package frameworks

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// The trainings of these jobs have one file of the SDK and call report(). Nothing else is theirs: no Role, account or side-car.
var _ = Describe("A job that reports by a page", Ordered, Label("report"), func() {
	BeforeAll(example{name: "hello-ps"}.bringImage) // an image with Python
	BeforeEach(nodesAreWell)

	DescribeTable("is restarted when rank 0 hangs, and shows its step", func(ctx SpecContext, hangs string, explained ...string) {
		r := beginReport(ctx, hangs)
		r.hasPhase(v1alpha1.PhaseRunning)
		Eventually(func() *v1alpha1.ProgressStatus { return r.job().Status.Progress }).WithTimeout(2*time.Minute).
			Should(HaveField("Metrics", HaveKeyWithValue("loss", "0.5")), "the first report")
		Eventually(func() int32 { return r.job().Status.Attempt }).WithTimeout(3*time.Minute).Should(BeNumerically(">=", 1), "the job restarts")
		status := r.job().Status
		first := status.Incidents[len(status.Incidents)-1]
		Expect(first.Cause).To(Equal(v1alpha1.CauseHang))
		Expect(first.Charged).To(BeTrue())
		Expect(first.Message).To(ContainSubstring("worker-0 has not reported for 10s; the last step was 7"))
		for _, words := range explained {
			Expect(first.Message).To(ContainSubstring(words))
		}
		AddReportEntry("the incident", first.Message)
		Expect(status.Progress.Step).To(BeNumerically("==", 7))
		Eventually(func() string { return r.job().Status.Reason }).WithTimeout(2*time.Minute).Should(Equal(v1alpha1.ReasonAllReplicasRunning), "the second attempt runs")
		Consistently(func() int32 { return r.job().Status.Attempt }).WithTimeout(15*time.Second).Should(BeNumerically("==", status.Attempt), "it reports on, so it does not hang")
	},
		Entry("in its own loop", NodeTimeout(10*time.Minute), "time.sleep(1000)", "worker-0 is in <module> (<string>:"),
		Entry("with the lock of Python", NodeTimeout(10*time.Minute), "ctypes.PyDLL(None).sleep(1000)", "worker-0 does not answer"),
	)
})

// installs makes the module trainingjob of the file of the SDK.
const installs = `
import os, sys
sys.modules["trainingjob"] = trainingjob = type(sys)("trainingjob")
exec(compile(os.environ["REPORTING"], "reporting.py", "exec"), trainingjob.__dict__)
`

// trains reports step 7 and then hangs in the first attempt. In the second it reports on.
const trains = installs + `
import ctypes, os, signal, time
signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
trainingjob.report()
for _ in range(10): # the operator reads the page every second
    trainingjob.report(7, "step-7", loss=0.5)
    time.sleep(1)
if os.environ["TRAININGJOB_ATTEMPT"] == "0" and os.environ["TRAININGJOB_RANK"] == "0":
    HANGS
while True:
    trainingjob.report(7)
    time.sleep(1)
`

// beginReport submits a job of two ranks that reports by a page. Rank 0 hangs by the statement.
func beginReport(ctx SpecContext, hangs string) *run {
	GinkgoHelper()
	source, err := os.ReadFile(filepath.Join(root, "sdk/python/trainingjob/reporting.py"))
	Expect(err).NotTo(HaveOccurred())
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "report-"}}
	Expect(kube.Create(ctx, ns)).To(Succeed())
	pod := corev1.PodSpec{TerminationGracePeriodSeconds: ptr.To[int64](5), AutomountServiceAccountToken: ptr.To(false), Containers: []corev1.Container{{
		Name: "train", Image: "registry.example.com/examples/hello-ps:v1", Command: []string{"python3", "-u", "-c"},
		Args: []string{strings.Replace(trains, "HANGS", hangs, 1)}, Env: []corev1.EnvVar{{Name: "REPORTING", Value: string(source)}},
	}}}
	job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Name: "reports", Namespace: ns.Name}, Spec: v1alpha1.TrainingJobSpec{
		Framework: v1alpha1.PyTorch, Progress: &v1alpha1.Progress{Port: 9500, StallAfterSeconds: 10, Action: v1alpha1.StallRestart},
		ReplicaSpecs: map[v1alpha1.Role]v1alpha1.ReplicaSpec{v1alpha1.Worker: {Replicas: ptr.To[int32](2), Template: corev1.PodTemplateSpec{Spec: pod}}},
	}}
	r := &run{ctx: ctx, name: job.Name, namespace: ns.Name, spec: job, tape: &tape{pods: map[string]*podSeen{}}}
	DeferCleanup(func(ctx SpecContext) { r.cleanUp(ctx, ns, func() {}) })
	Expect(kube.Create(ctx, job)).To(Succeed())
	return r
}

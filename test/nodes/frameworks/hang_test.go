//go:build frameworks

package frameworks

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
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

// hanging returns the ranks that hang, one in each of the first attempts. Rank 0, which the operator reads, is one of them.
func hanging(attempts int) []int {
	var ranks []int
	for attempt := range attempts {
		ranks = append(ranks, []int{2, 0, 3, 1}[attempt%4])
	}
	return ranks
}

// A rank of four hangs in each of the first attempts. The others wait for it in a collective, and the incident must name it.
var _ = Describe("A hang of DistributedDataParallel", Ordered, Label("stacks"), func() {
	BeforeAll(example{name: "pytorch-ddp"}.bringImage)
	BeforeEach(nodesAreWell)

	DescribeTable("names the rank for which the others wait", func(ctx SpecContext, fault, where string) {
		victims := hanging(max(3, *rounds))
		r := beginHang(ctx, fault, victims, 4, "python3", "-u", "-c", startsTraining)
		sum := &tally{of: "pytorch-ddp", how: way{name: "a hang with progress.port: " + fault}}
		DeferCleanup(func() { figures.attribution(sum) })
		for attempt, rank := range victims {
			r.hangs(sum, fault, where, attempt, rank)
		}
		Expect(len(sum.wrong)).To(BeNumerically("<=", len(victims)/20), strings.Join(sum.wrong, "\n"))
		r.steps(len(victims))
		Expect(r.tj("stacks")).To(ContainSubstring("train.py"))
		if fault == "stop" {
			return
		}
		Eventually(func() int {
			return len(r.tape.find(func(l line) bool { return strings.Contains(l.text, "attempt 0, were requested") }))
		}).WithTimeout(time.Minute).Should(BeNumerically("==", 4), "each rank has its stacks in its log")
	},
		Entry("that sleeps in its data loader", NodeTimeout(time.Hour), "sleep", "is in read (dataset.py:8)"),
		Entry("in a deadlock of two locks", NodeTimeout(time.Hour), "deadlock", "is in saves (train.py:29)"),
		Entry("that is stopped", NodeTimeout(time.Hour), "stop", "does not answer"),
	)
})

// hangs has a rank hang in the attempt, waits for the restart, and counts what the incident says of it.
func (r *run) hangs(sum *tally, fault, where string, attempt, rank int) {
	GinkgoHelper()
	if fault == "stop" {
		r.stops(attempt, rank)
	}
	began := time.Now()
	Eventually(func() int32 { return r.job().Status.Attempt }).WithTimeout(3*time.Minute).Should(BeNumerically("==", attempt+1), "the job restarts")
	if fault == "stop" {
		sum.decided = append(sum.decided, time.Since(began).Seconds())
	}
	sum.rounds++
	incident := r.job().Status.Incidents[0]
	AddReportEntry("incident", incident.Message)
	names := incident.Cause == v1alpha1.CauseHang && int(incident.Index) == rank && incident.Node != "" &&
		strings.Contains(incident.Message, "3 of 4 ranks wait in ") && strings.HasSuffix(incident.Message, fmt.Sprintf("; worker-%d %s", rank, where))
	if !names {
		sum.wrong = append(sum.wrong, fmt.Sprintf("attempt %d: worker-%d hangs, the incident is %s of worker-%d: %s", attempt, rank, incident.Cause, incident.Index, incident.Message))
	}
	if attempt == 0 {
		Expect(r.tj("why")).To(ContainSubstring(incident.Message), "kubectl tj why shows the whole sentence")
	}
}

// With two ranks in each pod the first of them shows the stacks of both. Debian's torchrun fails if no process is redirected, so process 9 is.
var _ = Describe("A hang under torchrun", Label("stacks"), func() {
	It("names the rank within its pod", NodeTimeout(15*time.Minute), func(ctx SpecContext) {
		example{name: "pytorch-ddp"}.bringImage()
		nodesAreWell(ctx)
		victims := hanging(3)
		r := beginHang(ctx, "sleep", victims, 2, "sh", "-c", `printf '%s' "$0" > /tmp/run.py && exec python3 -u -m torch.distributed.run --redirects=9:1 --tee=9:1 --nnodes=2 --nproc_per_node=2 \
			--node_rank=$TRAININGJOB_RANK --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT /tmp/run.py`, startsTraining)
		for attempt, rank := range victims {
			Eventually(func() int32 { return r.job().Status.Attempt }).WithTimeout(3*time.Minute).Should(BeNumerically("==", attempt+1), "the job restarts")
			incident := r.job().Status.Incidents[0]
			AddReportEntry("incident", incident.Message)
			Expect(incident.Index).To(BeNumerically("==", rank/2), incident.Message)
			Expect(incident.Message).To(And(ContainSubstring("3 of 4 ranks wait in "), HaveSuffix(fmt.Sprintf("; worker-%d rank %d is in read (dataset.py:8)", rank/2, rank))))
		}
	})
})

// The example trains with one file of the SDK beside it, as examples/README.md shows, and shows its step.
var _ = Describe("The example with the SDK", Label("stacks"), func() {
	It("reports its step and its loss", NodeTimeout(15*time.Minute), func(ctx SpecContext) {
		folder := GinkgoT().TempDir()
		for from, to := range map[string]string{"examples/pytorch-ddp/train.py": "train.py", "sdk/python/trainingjob/reporting.py": "trainingjob.py"} {
			source, err := os.ReadFile(filepath.Join(root, from))
			Expect(err).NotTo(HaveOccurred())
			Expect(os.WriteFile(filepath.Join(folder, to), source, 0o644)).To(Succeed())
		}
		recipe, err := os.ReadFile(filepath.Join(root, "examples/pytorch-ddp/Dockerfile"))
		Expect(err).NotTo(HaveOccurred())
		Expect(os.WriteFile(filepath.Join(folder, "Dockerfile"), []byte(strings.Replace(string(recipe), "COPY train.py", "COPY train.py trainingjob.py", 1)), 0o644)).To(Succeed())
		lab("image", "build", folder, "--tag", "registry.example.com/examples/pytorch-ddp:v1", "-o", filepath.Join(folder, "image.tar"))
		lab("image", "import", "--dir", labDir, filepath.Join(folder, "image.tar"))
		nodesAreWell(ctx)
		r := begin(ctx, example{name: "pytorch-ddp", goodLoss: 0.02}, rank1, fault{prepare: func(r *run) {
			r.spec.Spec.Progress = &v1alpha1.Progress{Port: 9500, Action: v1alpha1.StallRestart}
		}})
		r.ends()
		Expect(r.job().Status.Progress).To(And(HaveField("Step", BeNumerically(">", 100)), HaveField("Metrics", HaveKey("loss"))))
	})
})

// startsTraining runs the three files as modules, with their names.
const startsTraining = `
import os, signal, sys
signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
for name in ("trainingjob", "dataset", "train"):
    sys.modules[name] = module = type(sys)(name)
    exec(compile(os.environ[name], f"/app/{name}.py", "exec"), module.__dict__)
`

// beginHang submits a job of so many pods that run the command.
func beginHang(ctx SpecContext, fault string, victims []int, pods int32, command ...string) *run {
	GinkgoHelper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "hang-"}}
	Expect(kube.Create(ctx, ns)).To(Succeed())
	variables := []corev1.EnvVar{{Name: "FAULT", Value: fault}, {Name: "VICTIMS", Value: strings.Trim(strings.ReplaceAll(fmt.Sprint(victims), " ", ","), "[]")}}
	for name, file := range map[string]string{"trainingjob": "sdk/python/trainingjob/reporting.py", "dataset": "test/nodes/frameworks/testdata/dataset.py", "train": "test/nodes/frameworks/testdata/train.py"} {
		source, err := os.ReadFile(filepath.Join(root, file))
		Expect(err).NotTo(HaveOccurred())
		variables = append(variables, corev1.EnvVar{Name: name, Value: string(source)})
	}
	pod := corev1.PodSpec{TerminationGracePeriodSeconds: ptr.To[int64](5), AutomountServiceAccountToken: ptr.To(false), Containers: []corev1.Container{{
		Name: "train", Image: "registry.example.com/examples/pytorch-ddp:v1", Command: command, Env: variables,
	}}}
	job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Name: "hangs", Namespace: ns.Name}, Spec: v1alpha1.TrainingJobSpec{
		Framework: v1alpha1.PyTorch, Progress: &v1alpha1.Progress{Port: 9500, StallAfterSeconds: 30, Action: v1alpha1.StallRestart},
		Recovery:     v1alpha1.Recovery{MaxRestarts: ptr.To[int32](100), MaxHangRestarts: ptr.To[int32](100), BackoffSeconds: ptr.To[int32](1), MaxBackoffSeconds: ptr.To[int32](1)},
		ReplicaSpecs: map[v1alpha1.Role]v1alpha1.ReplicaSpec{v1alpha1.Worker: {Replicas: ptr.To(pods), Template: corev1.PodTemplateSpec{Spec: pod}}},
	}}
	r := &run{ctx: ctx, name: job.Name, namespace: ns.Name, spec: job, tape: &tape{pods: map[string]*podSeen{}}}
	recording, stop := context.WithCancel(context.Background())
	DeferCleanup(func(ctx SpecContext) { r.ctx = ctx; r.cleanUp(ctx, ns, stop) })
	r.tape.record(recording, r.namespace)
	Expect(kube.Create(ctx, job)).To(Succeed())
	return r
}

// steps waits until the training has made steps in the attempt.
func (r *run) steps(attempt int) {
	GinkgoHelper()
	Eventually(func() *v1alpha1.ProgressStatus { return r.job().Status.Progress }).WithTimeout(4*time.Minute).
		Should(HaveField("Step", BeNumerically(">", attempt*1000)), "steps of attempt %d", attempt)
}

// stops stops the process of the rank from outside, once its page shows a step of the attempt.
func (r *run) stops(attempt, rank int) {
	GinkgoHelper()
	r.allRun()
	r.hit = victim{v1alpha1.Worker, int32(rank), v1alpha1.ScopeJob}
	pod := r.pod().Name
	Eventually(func() (page struct{ Step int }) {
		text, err := logs.CoreV1().Pods(r.namespace).ProxyGet("http", pod, "9500", "progress", nil).DoRaw(r.ctx)
		if err == nil {
			err = json.Unmarshal(text, &page)
		}
		if err != nil {
			page.Step = -1 // it does not serve the page yet
		}
		return page
	}).WithTimeout(3*time.Minute).Should(HaveField("Step", BeNumerically(">", attempt*1000)), "a step of %s in attempt %d", pod, attempt)
	lab("pod", "stop", pod, "-n", r.namespace, "--dir", labDir)
}

// tj returns what a verb of kubectl tj prints about the job.
func (r *run) tj(verb string) string {
	GinkgoHelper()
	command := exec.CommandContext(r.ctx, filepath.Join(root, "bin/kubectl-tj"), verb, r.name, "-n", r.namespace, "--kubeconfig", filepath.Join(labDir, "kubeconfig"))
	out, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
	return string(out)
}

//go:build nodes

package incidents

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/folder"
	"github.com/trainingjob/operator/test/sim/builder"
)

// history is what the status shows of a job after a fault.
type history struct {
	Phase                      v1alpha1.Phase
	Attempt, Restarts, Charged int32
	Failures                   []broken
}

// broken is a failure, and what restarted because of it; nothing if it failed the job.
type broken struct {
	Replica string
	Cause   v1alpha1.Cause
	Reason  string
	Code    int32
	Scope   v1alpha1.RestartScope
	Charged bool
}

// fault is made of rank 1 by a verb of the lab, and by a flag of kubectl tj run.
type fault struct {
	name  string
	real  func(context.Context, *corev1.Pod)
	local string
}

func exits(code string) fault {
	return fault{"exit " + code, func(ctx context.Context, pod *corev1.Pod) { tell(ctx, pod, "exit", code) }, "--exit=%s=" + code + "@1s"}
}

var (
	killed = fault{"`kill -9`", kill, "--kill=%s@1s"}
	hangs  = fault{"SIGSTOP", func(ctx context.Context, pod *corev1.Pod) { lab(ctx, "pod", "stop", pod.Name, "-n", namespace) }, "--stop=%s@5s"}
	loses  = fault{"its node dies", loseNode, "--lose-node=node-2@1s"}
)

// loseNode ends the node of the pod, and boots it after the spec.
func loseNode(ctx context.Context, pod *corev1.Pod) {
	node := pod.Spec.NodeName
	DeferCleanup(func(ctx SpecContext) {
		lab(ctx, "node", "boot", node)
		waitForNode(ctx, node)
	})
	lab(ctx, "node", "kill", node)
}

// Two ranks on two nodes, as a collective, which restarts as a whole, and as replicas that restart alone.
func twoRanks() *v1alpha1.TrainingJob    { return collective(2) }
func twoReplicas() *v1alpha1.TrainingJob { return newJob(v1alpha1.Custom, builder.Workers(2)) }
func reports() *v1alpha1.TrainingJob     { return withPage(twoRanks()) }

func withPage(made *v1alpha1.TrainingJob) *v1alpha1.TrainingJob {
	made.Spec.Progress = &v1alpha1.Progress{Port: 9637, StallAfterSeconds: 10, Action: v1alpha1.StallRestart}
	return made
}

// after returns the history of a job that runs again after a fault of that replica.
func after(replica string, cause v1alpha1.Cause, reason string, code int32, charged bool) history {
	h := history{Phase: v1alpha1.PhaseRunning, Restarts: 1, Failures: []broken{{replica, cause, reason, code, v1alpha1.ScopeReplica, charged}}}
	if replica != "worker-1" { // of the collective
		h.Attempt, h.Failures[0].Scope = 1, v1alpha1.ScopeJob
	}
	if charged {
		h.Charged = 1
	}
	return h
}

func failed(replica string, code int32) history {
	return history{Phase: v1alpha1.PhaseFailed, Failures: []broken{{replica, v1alpha1.CauseFatal, "Error", code, "", false}}}
}

// The same job with the same fault has the same history on the nodes of a cluster and in a local run. The wanted histories are those that
// docs/recovery.md promises.
var _ = Describe("A local run", Label("local"), func() {
	DescribeTable("has the history of a cluster", func(ctx SpecContext, f fault, made func() *v1alpha1.TrainingJob, replica string, want history) {
		train := submit(ctx, made())
		train.runs(ctx, 0)
		pod := train.pod(ctx, 1)
		train.haveMet(ctx, 1)
		f.real(ctx, pod)
		inCluster := func() history {
			var now v1alpha1.TrainingJob
			Expect(kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: train.name}, &now)).To(Succeed())
			return historyOf(&now)
		}
		Eventually(inCluster).WithTimeout(3 * time.Minute).Should(Equal(want))
		at := startLocally(made(), strings.Replace(f.local, "%s", replica, 1))
		inRun := func() history {
			is, err := folder.Read(at)
			if err != nil {
				return history{} // it has not begun
			}
			return historyOf(is.Job)
		}
		Eventually(inRun).WithTimeout(3 * time.Minute).Should(Equal(want))
		Consistently(inRun).WithTimeout(5 * time.Second).Should(Equal(want))
		Expect(inCluster()).To(Equal(want), "it stays so")
		AddReportEntry("both", fmt.Sprintf("| %s | %s | %v |", f.name, train.seen.Spec.Framework, want))
	},
		Entry("a collective, exit 1", exits("1"), twoRanks, "worker-0", after("worker-0", v1alpha1.CauseRetryable, "Error", 1, true)),
		Entry("a collective, exit 42", exits("42"), twoRanks, "worker-0", after("worker-0", v1alpha1.CauseRetryable, "Error", 42, true)),
		Entry("a collective, exit 93", exits("93"), twoRanks, "worker-0", failed("worker-0", 93)),
		Entry("a collective, kill -9", killed, twoRanks, "worker-0", after("worker-0", v1alpha1.CauseRetryable, "Error", 137, true)),
		// Without stacks rank 0 stands for all.
		Entry("a collective, a hang", hangs, reports, "worker-0", after("master-0", v1alpha1.CauseHang, v1alpha1.ReasonProgressStalled, 0, true)),
		Entry("a collective, a lost node", Serial, loses, twoRanks, "worker-0", after("worker-0", v1alpha1.CauseInfrastructure, v1alpha1.ReasonNodeLost, 0, false)),
		Entry("replicas, exit 1", exits("1"), twoReplicas, "worker-1", after("worker-1", v1alpha1.CauseRetryable, "Error", 1, true)),
		Entry("replicas, exit 42", exits("42"), twoReplicas, "worker-1", after("worker-1", v1alpha1.CauseRetryable, "Error", 42, true)),
		Entry("replicas, exit 93", exits("93"), twoReplicas, "worker-1", failed("worker-1", 93)),
		Entry("replicas, kill -9", killed, twoReplicas, "worker-1", after("worker-1", v1alpha1.CauseRetryable, "Error", 137, true)),
		Entry("replicas, a lost node", Serial, loses, twoReplicas, "worker-1", after("worker-1", v1alpha1.CauseInfrastructure, v1alpha1.ReasonNodeLost, 0, false)),
	)
})

// historyOf returns the history that the job's status shows.
func historyOf(job *v1alpha1.TrainingJob) history {
	s := &job.Status
	h := history{Phase: s.Phase, Attempt: s.Attempt, Restarts: s.Restarts, Charged: s.ChargedRestarts}
	add := func(f *v1alpha1.Failure, scope v1alpha1.RestartScope, charged bool) {
		replica := state.Slot{Role: f.Role, Index: int(f.Index)}.String()
		h.Failures = append(h.Failures, broken{replica, f.Cause, f.Reason, ptr.Deref(f.ExitCode, 0), scope, charged})
	}
	for _, i := range slices.Backward(s.Incidents) {
		add(&i.Failure, i.Scope, i.Charged)
	}
	if s.Phase == v1alpha1.PhaseFailed && s.LastFailure != nil {
		add(s.LastFailure, "", false)
	}
	return h
}

// startLocally starts a local run of the job with the trainer as its program, and returns its folder. It ends with the spec.
func startLocally(made *v1alpha1.TrainingJob, flag string) string {
	GinkgoHelper()
	binaries, err := filepath.Abs("../../../bin")
	Expect(err).NotTo(HaveOccurred())
	at, file := GinkgoT().TempDir(), filepath.Join(GinkgoT().TempDir(), "job.yaml")
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": v1alpha1.Kind, "metadata": map[string]string{"name": made.Name}, "spec": made.Spec,
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(file, text, 0o600)).To(Succeed())
	run := exec.Command(filepath.Join(binaries, "kubectl-tj"), "run", file, "--folder", at, "--image-command", filepath.Join(binaries, "trainer"), flag)
	run.Stdout, run.Stderr = GinkgoWriter, GinkgoWriter
	Expect(run.Start()).To(Succeed())
	DeferCleanup(func() {
		_ = run.Process.Signal(syscall.SIGINT) // it may have ended
		_ = run.Wait()                         // with the status of the job
	})
	return at
}

//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/testbed"
)

// labOperator returns the lab's operator.
func labOperator() int {
	GinkgoHelper()
	var state struct {
		Processes []struct {
			Name string
			PID  int
		}
	}
	Expect(lab().ReadState(&state)).To(Succeed())
	for _, process := range state.Processes {
		if process.Name == "operator" {
			return process.PID
		}
	}
	Fail("the lab runs no operator: start it with one")
	return 0
}

// freeze stops the lab's operator until the spec ends. It then wakes with stale caches, beside everything that happened.
func freeze(pid int) {
	GinkgoHelper()
	Expect(syscall.Kill(pid, syscall.SIGSTOP)).To(Succeed())
	DeferCleanup(func() { Expect(syscall.Kill(pid, syscall.SIGCONT)).To(Succeed()) })
}

// kubeconfigOf returns the kubeconfig that the process was started with.
func kubeconfigOf(pid int) string {
	GinkgoHelper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	Expect(err).NotTo(HaveOccurred())
	args := strings.Split(string(text), "\x00")
	at := slices.Index(args, "--kubeconfig")
	Expect(at).To(And(BeNumerically(">", 0), BeNumerically("<", len(args)-1)), "%q", args)
	return args[at+1]
}

// startOperator starts another process of the same program, with the same rights and for this spec's namespace only, and
// returns what kills it.
func startOperator(like int) (kill func()) {
	GinkgoHelper()
	operator, err := testbed.StartOperator(fmt.Sprintf("/proc/%d/exe", like), kubeconfigOf(like), here.namespace, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(operator.Kill)
	return operator.Kill
}

var _ = Describe("The operator", Serial, Label("lab"), func() {
	It("may be killed at any moment: every failure is counted once, and the jobs succeed", func() {
		pid := labOperator()
		freeze(pid)
		replaced := submit(tensorflow("replaced", maxRestarts(100), chief(), ps(1), workers(4)))
		restarted := submit(pytorch("restarted", maxRestarts(100), master(), workers(3)))
		kill := startOperator(pid)
		replaced.runs(0, 0)
		restarted.runs(0, 0)
		const rounds = 8
		for round := range int32(rounds) {
			replaced.waitsOutIncident()
			replaced.exits(137, fmt.Sprintf("worker-%d", round%4))
			restarted.exits(137, fmt.Sprintf("worker-%d", round%3))
			time.Sleep(time.Duration(round) * 15 * time.Millisecond) // the moment of the kill: another one each time
			kill()
			kill = startOperator(pid)
			replaced.runs(0, round+1)
			restarted.runs(round+1, round+1)
		}
		replaced.exits(0, "chief-0")
		restarted.exits(0, "master-0")
		kill()
		startOperator(pid)
		for _, j := range []*submitted{replaced, restarted} {
			v := j.succeeds()
			v.is("every failure was counted once", v.job.Status.Restarts == rounds && v.job.Status.ChargedRestarts == rounds)
		}
	})

	It("counts once a pod that vanished while no operator ran", promise, func() {
		pid := labOperator()
		freeze(pid)
		kill := startOperator(pid)
		j := submit(everyRole(maxRestarts(0)))
		before := j.runs(0, 0)
		j.becomes("it is known that all have started", func(v *view) bool { return v.job.Status.Memory.Roles[v1alpha1.Worker].Started == "0-2" })
		kill()
		Expect(kube.Delete(here.ctx, j.pod("worker-1"), client.GracePeriodSeconds(0))).To(Succeed())
		Eventually(func() *corev1.Pod { v := j.look(); return v.pod("worker-1") }).Should(BeNil())
		startOperator(pid)
		v := j.runs(0, 1)
		onlyReplaced("worker-1", before, v)
		notCharged(v)
		Expect(v.job.Status.LastFailure.Reason).To(Equal("Vanished"))
	})

	It("may be two: one frozen that wakes with stale caches does no harm", func() {
		pid := labOperator()
		j := submit(pytorch("p", maxRestarts(100), workers(4)))
		j.runs(0, 0)
		freeze(pid)
		kill := startOperator(pid)
		j.exits(137, "worker-1")
		j.runs(1, 1)
		j.exits(143, "worker-2", "worker-3")
		j.runs(2, 2)
		kill()
		j.exits(137, "worker-0")
		startOperator(pid)
		Expect(syscall.Kill(pid, syscall.SIGCONT)).To(Succeed())
		j.runs(3, 3)
		j.stays("nothing is counted twice", func(v *view) bool { return v.job.Status.Restarts == 3 && v.job.Status.Phase == v1alpha1.PhaseRunning })
	})
})

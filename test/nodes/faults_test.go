//go:build nodes

package nodes

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/test/api/testbed"
)

// ready is the status of a node's condition Ready.
func ready(ctx context.Context, name string) (corev1.ConditionStatus, error) {
	node := &corev1.Node{}
	err := kube.Get(ctx, client.ObjectKey{Name: name}, node)
	return testbed.Readiness(node), err
}

func bootID(ctx context.Context, name string) (string, error) {
	node := &corev1.Node{}
	err := kube.Get(ctx, client.ObjectKey{Name: name}, node)
	return node.Status.NodeInfo.BootID, err
}

// isHealthy waits until a node works, as before each fault.
func isHealthy(ctx context.Context, name string) {
	GinkgoHelper()
	Eventually(ready).WithContext(ctx).WithArguments(name).Should(Equal(corev1.ConditionTrue))
}

var _ = Describe("A real node", Serial, func() {
	BeforeEach(func(ctx context.Context) {
		isHealthy(ctx, "real-0")
		isHealthy(ctx, "real-1")
	})

	It("is lost when it is killed, and back when it is booted, with its images", func(ctx context.Context) {
		run(ctx, onNode("bereaved", "real-1"))
		lab.run("node", "kill", "real-1")
		Eventually(ready).WithContext(ctx).WithArguments("real-1").Should(Equal(corev1.ConditionUnknown))
		lab.run("node", "boot", "real-1")
		isHealthy(ctx, "real-1")
		run(ctx, onNode("after-boot", "real-1"))
	})

	It("is back from a reboot before anybody misses it, and does not know how its containers ended", func(ctx context.Context) {
		run(ctx, onNode("rebooted", "real-1"))
		before, err := bootID(ctx, "real-1")
		Expect(err).NotTo(HaveOccurred())
		lab.run("node", "reboot", "real-1")
		Expect(ready(ctx, "real-1")).To(Equal(corev1.ConditionTrue))
		Expect(bootID(ctx, "real-1")).NotTo(Equal(before))
		Eventually(end).WithContext(ctx).WithArguments("rebooted").Should(Equal("255 Unknown"))
	})

	It("is lost while its link is cut, and its pods go on", func(ctx context.Context) {
		run(ctx, onNode("apart", "real-1"))
		lab.run("node", "cut", "real-1")
		Eventually(ready).WithContext(ctx).WithArguments("real-1").Should(Equal(corev1.ConditionUnknown))
		lab.run("node", "heal", "real-1")
		isHealthy(ctx, "real-1")
	})

	It("is lost while it is frozen, and its pods stand still", func(ctx context.Context) {
		pod := onNode("frozen", "real-1", corev1.EnvVar{Name: "STEP_TIME", Value: "10ms"})
		tolerant(pod)
		run(ctx, pod)
		lab.run("node", "freeze", "real-1")
		Eventually(ready).WithContext(ctx).WithArguments("real-1").Should(Equal(corev1.ConditionUnknown))
		lab.run("node", "thaw", "real-1")
		thawed := time.Now().UTC()
		isHealthy(ctx, "real-1")
		Eventually(log).WithArguments("frozen").Should(ContainSubstring(thawed.Format("15:04:05")[:7]))
		Expect(longestPause(log("frozen"))).To(BeNumerically(">", silence/2))
	})

	It("is named by every refusal, with what to write instead", func() {
		for command, want := range map[string]string{
			"node boot real-1": "runs already",
			"node kill real-7": "choose one of real-0, real-1",
			"node kill gpu-0":  "choose one of real-0, real-1",
		} {
			said, err := lab.Run(context.Background(), strings.Fields(command)...)
			Expect(err).To(HaveOccurred(), command)
			Expect(said).To(ContainSubstring(want), command)
		}
	})
})

// longestPause is the longest time between two lines of a log, by the times that they begin with.
func longestPause(text string, err error) (time.Duration, error) {
	var longest time.Duration
	var last time.Time
	for line := range strings.Lines(text) {
		at, parseErr := time.Parse("15:04:05.000", strings.Fields(line)[0])
		if parseErr != nil {
			continue
		}
		if !last.IsZero() {
			longest = max(longest, at.Sub(last))
		}
		last = at
	}
	return longest, err
}

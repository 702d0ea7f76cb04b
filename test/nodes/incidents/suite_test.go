//go:build nodes

package incidents

import (
	"context"
	"flag"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/testbed"
)

var (
	// rounds is how often a fault is made whose outcome depends on who speaks first.
	rounds = flag.Int("rounds", 3, "how often each fault is made of which the right rank must be named")

	restarts = flag.Int("restarts", 1000, "how many restarts in place the specs labelled storm go through")

	// given is the lab that the suite runs on.
	given     *testbed.Lab
	kube      client.Client
	namespace string
)

func TestIncidents(t *testing.T) {
	RegisterFailHandler(Fail)
	log.SetLogger(GinkgoLogr)
	SetDefaultEventuallyTimeout(60 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "Incidents on real nodes")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	path := os.Getenv("KUBECONFIG")
	if path == "" || os.Getenv("LAB_DIR") == "" {
		Fail("KUBECONFIG or LAB_DIR is not set: run `make test-nodes`, or `make lab REAL=2` and `. .lab/env`")
	}
	var err error
	given, err = testbed.GivenLab()
	Expect(err).NotTo(HaveOccurred())
	kube, err = testbed.Connect(path, "trainingjob-incidents")
	Expect(err).NotTo(HaveOccurred())
	var nodes corev1.NodeList
	Expect(kube.List(ctx, &nodes, client.HasLabels{testbed.RealNode})).To(Succeed())
	Expect(len(nodes.Items)).To(BeNumerically(">=", 2), "the lab has too few real nodes: run `make lab REAL=2`")
})

var _ = BeforeEach(func(ctx SpecContext) {
	var err error
	namespace, err = testbed.NewNamespace(ctx, kube, "incidents-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(cleanUp)
})

// cleanUp leaves nothing behind that would take room on the nodes, and waits until it is gone. What a spec has broken is mended by then.
func cleanUp(ctx SpecContext) {
	if CurrentSpecReport().Failed() {
		AddReportEntry("what is there at the end", output(ctx, "get", "tj,pods,events", "-o", "wide"))
		AddReportEntry("the jobs", output(ctx, "get", "tj", "-o", "yaml"))
	}
	Expect(kube.DeleteAllOf(ctx, &v1alpha1.TrainingJob{}, client.InNamespace(namespace))).To(Succeed())
	Eventually(func() ([]corev1.Pod, error) {
		var pods corev1.PodList
		err := kube.List(ctx, &pods, client.InNamespace(namespace))
		return pods.Items, err
	}).WithTimeout(2*time.Minute).Should(BeEmpty(), "pods that are left")
	Expect(kube.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
}

// lab runs a command of the lab, which must succeed, and returns what it says.
func lab(ctx context.Context, args ...string) string {
	GinkgoHelper()
	said, err := given.Run(ctx, args...)
	Expect(err).NotTo(HaveOccurred())
	return said
}

// kubectl runs the lab's kubectl in the spec's namespace, which must succeed.
func kubectl(ctx context.Context, args ...string) {
	GinkgoHelper()
	_, err := given.Kubectl(ctx, inNamespace(args)...)
	Expect(err).NotTo(HaveOccurred())
}

// output returns what the lab's kubectl says in the spec's namespace, whether it succeeds or not.
func output(ctx context.Context, args ...string) string {
	said, _ := given.Kubectl(ctx, inNamespace(args)...)
	return said
}

// inNamespace puts the namespace first: what stands behind -- is not kubectl's.
func inNamespace(args []string) []string { return append([]string{"-n", namespace}, args...) }

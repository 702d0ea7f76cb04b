//go:build frameworks

package frameworks

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trainingjob/operator/test/api/testbed"
)

// kube and logs talk to the lab.
var (
	kube client.WithWatch
	logs *kubernetes.Clientset
)

// root is the folder of the project, labDir that of the lab.
var root, labDir string

func TestFrameworks(t *testing.T) {
	RegisterFailHandler(Fail)
	log.SetLogger(GinkgoLogr)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	RunSpecs(t, "Training on real nodes")
}

var _ = BeforeSuite(func() {
	path := os.Getenv("KUBECONFIG")
	labDir = os.Getenv("LAB_DIR")
	Expect(path).NotTo(BeEmpty(), "no lab: run make test-frameworks")
	Expect(labDir).NotTo(BeEmpty(), "no lab: run make test-frameworks")
	var err error
	root, err = filepath.Abs("../../..")
	Expect(err).NotTo(HaveOccurred())
	kube, err = testbed.Connect(path, "trainingjob-frameworks")
	Expect(err).NotTo(HaveOccurred())
	config, err := testbed.Config(path, "trainingjob-frameworks")
	Expect(err).NotTo(HaveOccurred())
	logs, err = kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
})

var _ = ReportAfterSuite("figures, and what was not run", func(report types.Report) {
	fmt.Print(verdicts(report.SpecReports), figures.tables())
})

// lab runs a command of the lab and shows what it says.
func lab(args ...string) string {
	GinkgoHelper()
	cmd := exec.Command(filepath.Join(root, "bin/lab"), args...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	GinkgoWriter.Printf("lab %s\n%s", strings.Join(args, " "), out)
	Expect(err).NotTo(HaveOccurred(), "lab %s: %s", strings.Join(args, " "), out)
	return string(out)
}

// nodesAreWell waits until all nodes are ready and take pods again.
func nodesAreWell(ctx SpecContext) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		var nodes corev1.NodeList
		g.Expect(kube.List(ctx, &nodes)).To(Succeed())
		g.Expect(len(nodes.Items)).To(BeNumerically(">=", 2), "nodes")
		for _, node := range nodes.Items {
			g.Expect(isReady(node)).To(BeTrue(), "%s is ready", node.Name)
			g.Expect(node.Spec.Taints).To(BeEmpty(), "%s takes pods", node.Name) // cordoned, lost, or its disk is full
		}
	}).WithTimeout(5 * time.Minute).Should(Succeed())
}

func isReady(node corev1.Node) bool { return testbed.IsReady(&node) }

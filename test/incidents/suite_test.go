//go:build nodes

package incidents

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// realNode is the label of real nodes.
const realNode = "lab.trainingjob.dev/real"

var (
	// rounds is how often a fault is made whose outcome depends on who speaks first.
	rounds = flag.Int("rounds", 3, "how often each fault is made of which the right rank must be named")

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
	config, err := clientcmd.BuildConfigFromFlags("", path)
	Expect(err).NotTo(HaveOccurred(), "reading KUBECONFIG %s", path)
	config.QPS, config.UserAgent = -1, "trainingjob-incidents"
	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	kube, err = client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred(), "connecting to the cluster of KUBECONFIG %s", path)
	var nodes corev1.NodeList
	Expect(kube.List(ctx, &nodes, client.HasLabels{realNode})).To(Succeed())
	Expect(len(nodes.Items)).To(BeNumerically(">=", 2), "the lab has too few real nodes: run `make lab REAL=2`")
})

var _ = BeforeEach(func(ctx SpecContext) {
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "incidents-"}}
	Expect(kube.Create(ctx, made)).To(Succeed())
	namespace = made.Name
	Eventually(func() error {
		return kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "default"}, &corev1.ServiceAccount{})
	}).Should(Succeed(), "the namespace has no default service account, without which no pod is admitted")
	DeferCleanup(cleanUp)
})

// cleanUp leaves nothing behind that would take room on the nodes, and waits until it is gone. What a spec has broken is mended by then.
func cleanUp(ctx SpecContext) {
	if CurrentSpecReport().Failed() {
		AddReportEntry("what is there at the end", output(ctx, "kubectl", "get", "tj,pods,events", "-n", namespace, "-o", "wide"))
		AddReportEntry("the jobs", output(ctx, "kubectl", "get", "tj", "-n", namespace, "-o", "yaml"))
	}
	Expect(kube.DeleteAllOf(ctx, &v1alpha1.TrainingJob{}, client.InNamespace(namespace))).To(Succeed())
	Eventually(func() ([]corev1.Pod, error) {
		var pods corev1.PodList
		err := kube.List(ctx, &pods, client.InNamespace(namespace))
		return pods.Items, err
	}).WithTimeout(2*time.Minute).Should(BeEmpty(), "pods that are left")
	Expect(kube.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
}

// lab runs a command of bin/lab, which must succeed, and returns what it prints.
func lab(ctx context.Context, args ...string) string {
	GinkgoHelper()
	text, err := run(ctx, args)
	Expect(err).NotTo(HaveOccurred(), "lab %v: %s", args, text)
	return text
}

// output returns what a command of bin/lab prints, whether it succeeds or not.
func output(ctx context.Context, args ...string) string {
	text, _ := run(ctx, args)
	return text
}

func run(ctx context.Context, args []string) (string, error) {
	program := os.Getenv("LAB")
	if program == "" {
		program = filepath.Join("..", "..", "bin", "lab")
	}
	if args[0] == "node" || args[0] == "pod" {
		args = append(args, "--dir", os.Getenv("LAB_DIR"))
	}
	text, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	return string(text), err
}

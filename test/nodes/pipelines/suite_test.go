//go:build pipelines

package pipelines

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trainingjob/operator/test/api/testbed"
)

const (
	// namespace and account have the names of a standalone installation of Pipelines, as in manifests/integrations/kfp.
	namespace = "kubeflow"
	account   = "pipeline-runner"
	image     = "registry.example.com/pipelines/step:v1"
	bucket    = "mlpipeline"
)

var (
	given *testbed.Lab
	kube  client.WithWatch
	logs  *kubernetes.Clientset
	// store is the address of the store for artifacts, which pods reach.
	store string
	// root is the folder of the project.
	root string
)

func TestPipelines(t *testing.T) {
	RegisterFailHandler(Fail)
	log.SetLogger(GinkgoLogr)
	SetDefaultEventuallyTimeout(3 * time.Minute)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	RunSpecs(t, "Pipelines on Argo Workflows")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	given, err = testbed.GivenLab()
	Expect(err).NotTo(HaveOccurred(), "run make test-pipelines")
	root, err = filepath.Abs("../../..")
	Expect(err).NotTo(HaveOccurred())
	kube, err = testbed.Connect(given.Kubeconfig(), "trainingjob-pipelines")
	Expect(err).NotTo(HaveOccurred())
	config, err := testbed.Config(given.Kubeconfig(), "trainingjob-pipelines")
	Expect(err).NotTo(HaveOccurred())
	logs, err = kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	startStore(ctx)
	kubectl(ctx, "apply", "--filename", "installation.yaml")
	kubectl(ctx, "apply", "--namespace", namespace, "--kustomize", filepath.Join(root, "manifests/integrations/kfp"))
	startArgo(ctx)
})

// startStore starts a store for artifacts at an address of this machine that pods reach: the API server's.
func startStore(ctx SpecContext) {
	GinkgoHelper()
	address := kubectl(ctx, "get", "service", "kubernetes", "--output", "jsonpath={.spec.clusterIP}")
	free, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	Expect(err).NotTo(HaveOccurred())
	store = free.Addr().String()
	Expect(free.Close()).To(Succeed())
	start("s3", "bin/s3", "-host", store, "-backend", "memory", "-initialbucket", bucket)
	Eventually(func() error {
		connection, err := net.Dial("tcp", store)
		if err == nil {
			err = connection.Close()
		}
		return err
	}).Should(Succeed())
}

// startArgo starts Argo's controller for the namespace, with the artifact repository that an installation of Pipelines has.
func startArgo(ctx SpecContext) {
	GinkgoHelper()
	repository := fmt.Sprintf(`{archiveLogs: true, s3: {endpoint: "%s", insecure: true, bucket: %s, region: us-east-1,
accessKeySecret: {name: store, key: accesskey}, secretKeySecret: {name: store, key: secretkey}}}`, store, bucket)
	kubectl(ctx, "delete", "configmap", "workflow-controller-configmap", "--namespace", namespace, "--ignore-not-found")
	kubectl(ctx, "create", "configmap", "workflow-controller-configmap", "--namespace", namespace,
		"--from-literal=metricsConfig={enabled: false}", "--from-literal=artifactRepository="+repository)
	start("argo", "bin/argo/workflow-controller", "--kubeconfig", given.Kubeconfig(), "--namespaced", "--namespace", namespace,
		"--executor-image", image, "--executor-image-pull-policy", "Never")
}

// start runs a program of this project until the suite ends; its log is a file of the lab.
func start(name, program string, args ...string) {
	GinkgoHelper()
	file, err := os.Create(given.File(name + ".log"))
	Expect(err).NotTo(HaveOccurred())
	command := exec.Command(filepath.Join(root, program), args...)
	command.Stdout, command.Stderr = file, file
	command.Env = append(os.Environ(), "LEADER_ELECTION_DISABLE=true", "DEFAULT_REQUEUE_TIME=1s")
	Expect(command.Start()).To(Succeed())
	DeferCleanup(func() {
		Expect(command.Process.Kill()).To(Succeed(), "%s has ended before: see %s", name, file.Name())
		_ = command.Wait() // killed
		Expect(file.Close()).To(Succeed())
	})
}

func kubectl(ctx SpecContext, args ...string) string {
	GinkgoHelper()
	said, err := given.Kubectl(ctx, args...)
	Expect(err).NotTo(HaveOccurred())
	return said
}

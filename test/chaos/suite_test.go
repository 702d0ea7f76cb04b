//go:build chaos

package chaos

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

var (
	labBinary      = flag.String("lab", "../../bin/lab", "the lab's binary")
	operatorBinary = flag.String("operator", "../../bin/operator", "the operator's binary")
)

var (
	// lab is the cluster that is broken here.
	lab *laboratory
	// kube talks to it as its administrator.
	kube   client.Client
	scheme = runtime.NewScheme()
	began  = time.Now()
)

func TestChaos(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(2 * time.Minute) // the machine may be busy
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	suite, reporter := GinkgoConfiguration()
	if testing.Short() && suite.LabelFilter == "" {
		suite.LabelFilter = "!full"
	}
	suite.Timeout = scaled(9*time.Minute, 55*time.Minute) // before go test would end without cleaning up
	RunSpecs(t, "chaos", suite, reporter)
}

var _ = BeforeSuite(func() {
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	lab = startLaboratory()
	DeferCleanup(func() { lab.end(suiteFailed) })
	config, err := clientcmd.BuildConfigFromFlags("", lab.kubeconfig())
	Expect(err).NotTo(HaveOccurred())
	config.QPS, config.UserAgent = -1, "trainingjob-chaos"
	kube, err = client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	grantOperators()
})

// suiteFailed says whether a spec has failed, so that the lab's files are kept.
var suiteFailed bool

var _ = ReportAfterEach(func(report SpecReport) {
	suiteFailed = suiteFailed || report.Failed()
	if report.State != types.SpecStateSkipped {
		say("%s in %.0f s: %s", report.State, report.RunTime.Seconds(), report.LeafNodeText)
	}
})

// scaled returns how much there is to be of something in the short form and in the full one.
func scaled[T any](short, full T) T {
	if testing.Short() {
		return short
	}
	return full
}

// say prints a line of progress with the time since the start.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%6.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
}

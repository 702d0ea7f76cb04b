//go:build chaos

package chaos

import (
	"flag"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/test/api/testbed"
)

var (
	labBinary      = flag.String("lab", "../../../bin/lab", "the lab's binary")
	operatorBinary = flag.String("operator", "../../../bin/operator", "the operator's binary")
)

var (
	// lab is the cluster that is broken here.
	lab *laboratory
	// kube talks to it as its administrator.
	kube client.Client
	// progress is told as it goes.
	progress = testbed.NewProgress()
	say      = progress.Say
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
	lab = startLaboratory()
	DeferCleanup(func() { lab.end(progress.HasFailed()) })
	var err error
	kube, err = testbed.Connect(lab.Kubeconfig(), "trainingjob-chaos")
	Expect(err).NotTo(HaveOccurred())
	grantOperators()
})

var (
	_ = ReportAfterEach(progress.Report)
	_ = ReportAfterSuite("why specs failed", func(Report) { progress.Conclude() })
)

// scaled returns how much there is to be of something in the short form and in the full one.
func scaled[T any](short, full T) T {
	if testing.Short() {
		return short
	}
	return full
}

//go:build nodes

package nodes

import (
	"flag"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/test/api/testbed"
)

var labBinary = flag.String("lab", "../../bin/lab", "the lab's binary")

var (
	lab      *laboratory
	kube     client.WithWatch
	progress = testbed.NewProgress()
)

func TestNodes(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(2 * time.Minute) // the machine may be busy
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	suite, reporter := GinkgoConfiguration()
	suite.Timeout = 25 * time.Minute // before go test would end without cleaning up
	RunSpecs(t, "real nodes", suite, reporter)
}

var _ = BeforeSuite(func() {
	before := takeInventory()
	lab = newLaboratory()
	lab.run("up", "--nodes", "2", "--real", "2", "--real-gpus", "4", "--node-monitor-grace-period", silence.String())
	progress.Say("the lab is up in %s", lab.Dir)
	marks := lab.marks()
	DeferCleanup(func() {
		lab.end(progress.HasFailed())
		Expect(takeInventory().since(before, marks)).To(BeEmpty(), "lab down has left something of the lab on this machine")
	})
	var err error
	kube, err = testbed.Connect(lab.Kubeconfig(), "trainingjob-nodes")
	Expect(err).NotTo(HaveOccurred())
})

var (
	_ = ReportAfterEach(progress.Report)
	_ = ReportAfterSuite("why specs failed", func(Report) { progress.Conclude() })
)

//go:build nodes

package nodes

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var labBinary = flag.String("lab", "../../bin/lab", "the lab's binary")

var (
	lab   *laboratory
	kube  client.WithWatch
	began = time.Now()
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
	say("the lab is up in %s", lab.dir)
	marks := lab.marks()
	DeferCleanup(func() {
		lab.end(suiteFailed)
		Expect(takeInventory().since(before, marks)).To(BeEmpty(), "lab down has left something of the lab on this machine")
	})
	kube = lab.client()
})

// suiteFailed says whether a spec has failed, so that the lab's files are kept.
var suiteFailed bool

var _ = ReportAfterEach(func(report SpecReport) {
	suiteFailed = suiteFailed || report.Failed()
	if report.State != types.SpecStateSkipped {
		say("%s in %.0f s: %s", report.State, report.RunTime.Seconds(), report.LeafNodeText)
	}
})

func (l *laboratory) client() client.WithWatch {
	GinkgoHelper()
	config, err := clientcmd.BuildConfigFromFlags("", l.file("kubeconfig"))
	Expect(err).NotTo(HaveOccurred())
	config.QPS = -1
	made, err := client.NewWithWatch(config, client.Options{Scheme: clientgoscheme.Scheme})
	Expect(err).NotTo(HaveOccurred())
	return made
}

// say prints a line of progress with the time since the start.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%6.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
}

//go:build frameworks

package frameworks

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// An example is a folder of examples/.
type example struct {
	name string
	// goodLoss is what the model must reach, with a fault and without one. The noise in the data alone makes half of it, so
	// a model that has lost steps and not made up for them shows.
	goodLoss float64
	// victim is the replica that faults hit.
	victim victim
	// launched: a container's main process is not the training, but starts it.
	launched bool
	// server, if there is one, holds parameters.
	server *victim
}

// A victim is a replica and what must be restarted when it is lost.
type victim struct {
	role  v1alpha1.Role
	index int32
	scope v1alpha1.RestartScope
}

func (v victim) String() string {
	return fmt.Sprintf("%s-%d", strings.ToLower(string(v.role)), v.index)
}

var (
	rank1        = victim{v1alpha1.Worker, 0, v1alpha1.ScopeJob} // of a job with a master
	worker1      = victim{v1alpha1.Worker, 1, v1alpha1.ScopeJob}
	loneWorker   = victim{v1alpha1.Worker, 1, v1alpha1.ScopeReplica}
	server0      = victim{v1alpha1.PS, 0, v1alpha1.ScopeJob}
	examplesHere = []example{
		{name: "hello-ps", goodLoss: 0.02, victim: loneWorker, server: &server0},
		{name: "pytorch-ddp", goodLoss: 0.02, victim: worker1},
		{name: "tensorflow-ps", goodLoss: 0.02, victim: loneWorker, server: &server0},
		{name: "tensorflow-multiworker", goodLoss: 0.02, victim: worker1},
		{name: "jax", goodLoss: 0.02, victim: worker1},
		{name: "pytorch-elastic", goodLoss: 0.02, victim: loneWorker, launched: true},
		{name: "mpi", goodLoss: 0.02, victim: worker1, launched: true},
		{name: "xgboost", goodLoss: 0.2, victim: worker1},
		{name: "lightgbm", goodLoss: 0.2, victim: worker1},
		{name: "paddle", goodLoss: 0.02, victim: worker1},
		{name: "pytorch-fsdp", goodLoss: 0.02, victim: rank1},
	}
)

var _ = Describe("", func() {
	for _, e := range examplesHere {
		Describe(e.name, Ordered, ContinueOnFailure, Label(e.name), func() {
			BeforeAll(func() {
				e.bringImage()
			})
			BeforeEach(nodesAreWell)

			It("trains to the expected loss", Label("plain"), func(ctx SpecContext) {
				r := begin(ctx, e, e.victim, fault{})
				r.ends()
				Expect(r.job().Status.Restarts).To(BeZero(), "restarts")
				figures.start(r)
			}, NodeTimeout(15*time.Minute))

			for _, f := range faults {
				It(fmt.Sprintf("goes on when %s (%s)", f.name, e.victim), Label(f.label), func(ctx SpecContext) {
					breaks(ctx, e, e.victim, f)
				}, NodeTimeout(20*time.Minute))
			}
			if e.server != nil {
				It(fmt.Sprintf("goes on when %s (%s)", killed.name, e.server), Label(ofServer+killed.label), func(ctx SpecContext) {
					breaks(ctx, e, *e.server, killed)
				}, NodeTimeout(20*time.Minute))
			}
		})
	}
})

// ofServer begins the labels of faults that hit a server and not the victim.
const ofServer = "server-"

// bringImage builds the image and loads it into the nodes. The archive is as large as the image, so it does not stay.
func (e example) bringImage() {
	GinkgoHelper()
	archive := filepath.Join(root, "bin/images", e.name+".tar")
	lab("image", "build", "examples/"+e.name, "--tag", "registry.example.com/examples/"+e.name+":v1", "-o", archive)
	lab("image", "import", "--dir", labDir, archive)
	Expect(os.Remove(archive)).To(Succeed())
}

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
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
	"github.com/trainingjob/operator/test/sim/ledger"
)

// kube talks to the cluster under test.
var kube client.WithWatch

// here is what the running spec has to itself.
var here *place

// promise is the label of the specs that make test runs: one for each thing that README.md and docs/recovery.md promise to users.
var promise = Label("promise")

// place is one spec's namespace and the history of what happens in it.
type place struct {
	ctx       context.Context
	namespace string
	history   *history
	// counts are what the spec has counted, by name. Each is counted again at the end: the first sight of a number does not say
	// that it will not grow, and of none says nothing.
	counts map[string]counted
	// forged are the names of pods that the spec has made in a job's name: what must hold of the operator's pods does not of these.
	forged []string
}

// counted is how many there must be of something that can be counted again.
type counted struct {
	want int
	all  func() []string
}

// holds waits until there are so many of what is called name, which must be as many when the spec ends.
func (p *place) holds(name string, want int, all func() []string) {
	GinkgoHelper()
	p.counts[name] = counted{want, all}
	Eventually(all).Should(HaveLen(want), name)
}

// miscounts returns which numbers are not what the spec has found them to be.
func (p *place) miscounts() []string {
	GinkgoHelper()
	var wrong []string
	for name, c := range p.counts {
		if found := c.all(); len(found) != c.want {
			wrong = append(wrong, fmt.Sprintf("%s: want %d, there are %q", name, c.want, found))
		}
	}
	return wrong
}

// longest is how long a spec waits for what comes within a second or two on an idle machine.
const longest = time.Minute

func TestE2E(t *testing.T) {
	RegisterFailHandler(Fail)
	log.SetLogger(GinkgoLogr) // the API server's warnings: shown beside specs that fail
	SetDefaultEventuallyTimeout(longest)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	SetDefaultConsistentlyDuration(1500 * time.Millisecond)
	SetDefaultConsistentlyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "TrainingJob operator")
}

// The specs can run in several processes, as most of their time is waiting; those that need the cluster for themselves are Serial. What
// all of them share the first process sets up, and takes away after the last.
var _ = SynchronizedBeforeSuite(func(ctx SpecContext) {
	connect(ctx)
	letOperatorMakeKeys(ctx)
}, connect)

// connect makes kube, or says what is missing.
func connect(ctx SpecContext) {
	GinkgoHelper()
	path := os.Getenv("KUBECONFIG")
	if path == "" {
		Fail("KUBECONFIG is not set: run `make lab` and `. .lab/env`, or set it to a cluster with the operator and fake GPU nodes (test/api/e2e/kind/README.md)")
	}
	var err error
	kube, err = testbed.Connect(path, "trainingjob-e2e")
	Expect(err).NotTo(HaveOccurred())
	Expect(kube.List(ctx, &v1alpha1.TrainingJobList{}, client.Limit(1))).To(Succeed(),
		"the cluster of KUBECONFIG %s does not serve TrainingJobs: install manifests/base, or run `make lab`", path)
	var nodes corev1.NodeList
	Expect(kube.List(ctx, &nodes)).To(Succeed())
	Expect(slices.ContainsFunc(nodes.Items, func(n corev1.Node) bool { return testbed.IsFake(&n) })).To(BeTrue(),
		"the cluster of KUBECONFIG %s has no nodes that kwok plays with the stages of test/lab: see test/api/e2e/kind/README.md, or run `make lab`", path)
}

// An ordered container is one story: its specs share one place.
var _ = BeforeEach(OncePerOrdered, func(ctx SpecContext) {
	here = newPlace(ctx)
})

// newPlace makes a namespace in which pods can be created, and begins its history.
func newPlace(ctx context.Context) *place {
	namespace, err := testbed.NewNamespace(ctx, kube, "e2e-")
	Expect(err).NotTo(HaveOccurred())
	return &place{ctx: context.WithoutCancel(ctx), namespace: namespace, history: watchHistory(namespace), counts: map[string]counted{}}
}

// AfterEach judges the history of the spec before anything is cleaned up.
var _ = AfterEach(OncePerOrdered, func(ctx SpecContext) {
	var miscounted error
	if len(here.counts) > 0 {
		miscounted = InterceptGomegaFailure(func() {
			Consistently(here.miscounts).Should(BeEmpty(), "what was counted is something else at the end")
		})
	}
	all, lost := here.history.end()
	broken := ledger.Violations(slices.DeleteFunc(all, func(o ledger.Observation) bool {
		return o.Pod != nil && slices.Contains(here.forged, o.Pod.Name)
	}))
	if CurrentSpecReport().Failed() || len(broken) > 0 || miscounted != nil {
		AddReportEntry("what is there at the end", here.String())
	}
	Expect(kube.DeleteAllOf(ctx, &v1alpha1.TrainingJob{}, client.InNamespace(here.namespace), client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
	Expect(kube.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: here.namespace}})).To(Succeed())
	Expect(miscounted).NotTo(HaveOccurred())
	Expect(lost).To(BeEmpty(), "the history has gaps and proves nothing")
	Expect(broken).To(BeEmpty(), "invariants of the history that do not hold")
})

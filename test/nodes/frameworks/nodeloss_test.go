//go:build frameworks

package frameworks

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// blameNode ends a node under ranks of the example so many times, and holds that the status names the node in all but one in twenty.
// The ranks on the other node fail first, because their connections break. The node is silent for half a minute before it counts as lost.
func blameNode(ctx SpecContext, e example, times int) {
	GinkgoHelper()
	r := begin(ctx, e, e.victim, fault{prepare: func(r *run) {
		fourRanks(r)
		r.spread()
	}})
	sum := &tally{of: e.name, how: ofNode}
	DeferCleanup(func() { figures.attribution(sum) })
	for round := range times {
		r.losesNode(ctx, sum, round)
	}
	Expect(len(sum.wrong)).To(BeNumerically("<=", times/20), strings.Join(sum.wrong, "\n"))
}

// losesNode ends the node of one rank, another rank each round, and boots it once the job has restarted because of it.
func (r *run) losesNode(ctx SpecContext, sum *tally, round int) {
	GinkgoHelper()
	before := r.allRun()
	r.hit = r.victims()[round%4]
	pod := r.pod()
	node := pod.Spec.NodeName
	Eventually(func() []line { return r.tape.find(func(l line) bool { return l.pod == pod.Name && l.isStep() }) }).
		WithTimeout(2*time.Minute).ShouldNot(BeEmpty(), "%s steps with the others", pod.Name)
	began := time.Now()
	lab("node", "kill", node, "--dir", labDir)
	DeferCleanup(func(ctx SpecContext) { r.bootNode(ctx, node) })
	isNamed := func() bool {
		last := r.job().Status.LastFailure
		return last != nil && last.Time.After(began.Add(-time.Second)) && last.Reason == v1alpha1.ReasonNodeLost && last.Node == node
	}
	for !isNamed() && time.Since(began) < 2*time.Minute {
		time.Sleep(time.Second)
	}
	sum.decided = append(sum.decided, time.Since(began).Seconds())
	named := isNamed()
	r.bootNode(ctx, node)
	after := r.allRun()
	sum.again = append(sum.again, time.Since(began).Seconds())
	sum.rounds++
	if charged := after.ChargedRestarts - before.ChargedRestarts; !named || charged > 0 {
		sum.wrong = append(sum.wrong, fmt.Sprintf("round %d: %s died, %d restarts are charged, lastFailure is %v", round, node, charged, after.LastFailure))
	}
}

// allRun waits until all replicas run, and returns the status.
func (r *run) allRun() (status v1alpha1.TrainingJobStatus) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		status = r.job().Status
		g.Expect(status.Phase).To(Equal(v1alpha1.PhaseRunning), status.Message)
		g.Expect(status.ReadyReplicas).To(Equal(status.Replicas))
	}).WithTimeout(4 * time.Minute).Should(Succeed())
	return status
}

// bootNode boots the node unless it is there, and waits until it takes pods.
func (*run) bootNode(ctx SpecContext, name string) {
	GinkgoHelper()
	node := new(corev1.Node)
	Expect(kube.Get(ctx, client.ObjectKey{Name: name}, node)).To(Succeed())
	if !isReady(*node) {
		lab("node", "boot", name, "--dir", labDir)
	}
	nodesAreWell(ctx)
}

//go:build e2e

package e2e

import (
	"flag"
	"fmt"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/watch"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/ledger"
)

var rounds = flag.Int("rounds", 4, "how often two gangs contend for nodes that have room for one")

// A round has four nodes, of which each of its two gangs needs three. There are as many rounds at a time as there is room for.
const (
	contested = 4
	needed    = 3
)

// round is one contest.
type round struct {
	jobs  [2]*submitted
	nodes []string
}

// holding is what one gang holds at a time.
type holding struct {
	pods map[string]bool
	// whole is whether all of it held nodes since it last held none: with fewer after that, it is about to leave them.
	whole bool
}

func (h *holding) takesPart(size int) bool {
	return len(h.pods) > 0 && (!h.whole || len(h.pods) == size)
}

// enter notes what became of a pod of the gang.
func (h *holding) enter(o *ledger.Observation, size int) {
	if o.Event == watch.Deleted || !holdsNode(o.Pod) {
		delete(h.pods, o.Pod.Name)
	} else {
		h.pods[o.Pod.Name] = true
	}
	h.whole = len(h.pods) == size || h.whole && len(h.pods) > 0
}

// sharing replays the history and returns every time at which both gangs of that size held nodes and neither was leaving them.
func (h *history) sharing(one, other string, size int) []string {
	held := map[string]*holding{one: {pods: map[string]bool{}}, other: {pods: map[string]bool{}}}
	var shared []string
	for _, o := range h.sorted() {
		for job, holds := range held {
			if o.Pod == nil {
				continue
			}
			if _, ours := ledger.LifeOf(job, o.Pod.Name); ours {
				holds.enter(&o, size)
			}
		}
		if a, b := held[one], held[other]; a.takesPart(size) && b.takesPart(size) {
			shared = append(shared, fmt.Sprintf("revision %d: %d pods of %s and %d of %s have nodes", o.Revision, len(a.pods), one, len(b.pods), other))
		}
	}
	return shared
}

// oneOf waits until one of the jobs runs and the other waits whole, and returns them in this order.
func oneOf(by gangScheduler, jobs ...*submitted) (running, waiting *submitted) {
	GinkgoHelper()
	var seen [2]*view
	Eventually(func() bool {
		for i, j := range jobs {
			seen[i] = j.look()
		}
		for i := range jobs {
			one, other := seen[i], seen[1-i]
			if one.job.Status.Phase == v1alpha1.PhaseRunning && one.allRun() && other.placed() == 0 && other.waitsForNodes() {
				running, waiting = jobs[i], jobs[1-i]
				return true
			}
		}
		return false
	}).WithTimeout(by.sleep).Should(BeTrue(), func() string { return fmt.Sprintf("one runs and one waits\n%s%s", seen[0], seen[1]) })
	return running, waiting
}

// begin creates both gangs of the round at once.
func (r *round) begin(by gangScheduler, number int) {
	var requests sync.WaitGroup
	for i, name := range []string{"a", "b"} {
		job := pytorch(fmt.Sprintf("%s%d", name, number), gang(by.name), wholeNodes(needed, r.nodes...))
		requests.Go(func() {
			defer GinkgoRecover()
			r.jobs[i] = submit(job)
		})
	}
	requests.Wait()
}

// play holds rounds number first and on, one on each four of the nodes, until no more than last.
func play(by gangScheduler, nodes []string, first, last int) (played int) {
	GinkgoHelper()
	var batch []*round
	for n := first; n <= last && len(nodes) >= contested; n++ {
		r := &round{nodes: nodes[:contested]}
		r.begin(by, n)
		batch, nodes = append(batch, r), nodes[contested:]
	}
	later := map[*round]*submitted{}
	for _, r := range batch {
		running, waiting := oneOf(by, r.jobs[0], r.jobs[1])
		later[r] = waiting
		running.ends()
	}
	for _, r := range batch {
		later[r].runsWithin(by.sleep, 0, 0)
		later[r].ends()
		Expect(here.history.sharing(r.jobs[0].name, r.jobs[1].name, needed)).To(BeEmpty())
		for _, j := range r.jobs {
			j.delete(metav1.DeletePropagationBackground)
		}
	}
	return len(batch)
}

var _ = withEachGangScheduler("Two gangs for the nodes of one, scheduled", func(by gangScheduler) {
	It("never hold a part each, and both run, one after the other", func() {
		var all []string
		count, _ := gpuNodes()
		all = fakeNodes(count)
		for n := 1; n <= *rounds; {
			n += play(by, all, n, *rounds)
			GinkgoWriter.Printf("%s: %d of %d rounds\n", by.name, n-1, *rounds)
		}
	})
})

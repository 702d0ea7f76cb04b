//go:build chaos

package chaos

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/api/testbed"
	"github.com/trainingjob/operator/test/sim/ledger"
)

var _ = Describe("Nodes", func() {
	It("are lost, a whole rack at once, with pods that never terminate: their ranks run elsewhere and reach nobody", func() {
		p := newPlace()
		DeferCleanup(p.revive)
		lostAfter := scaled(2*time.Second, 15*time.Second)
		m := startMortal(p.namespace, scaled(3*time.Second, 10*time.Second), "--node-lost-after", lostAfter.String())
		for i := range scaled(6, 20) {
			name := fmt.Sprintf("n%d", i)
			p.submit(replaced(name), restarted(name))
		}
		Eventually(p.running).Should(Equal(len(p.plays)), "jobs that run")
		p.loses(rack(1)...)
		p.letGo()
		p.conclude(2 * time.Minute)
		m.spare()
	})
})

// rack returns the names of the lab's nodes in a rack.
func rack(number int) (nodes []string) {
	for i := range 8 {
		nodes = append(nodes, fmt.Sprintf("gpu-%d", 8*number+i))
	}
	return nodes
}

// loses kills the nodes and waits until no job needs them any more.
func (p *place) loses(nodes ...string) {
	GinkgoHelper()
	stranded := p.on(nodes)
	Expect(stranded).NotTo(BeEmpty(), "no pod is on %s: nothing can be lost", nodes)
	for _, pod := range stranded {
		tell(pod, "never-terminate", "true")
	}
	start := time.Now()
	for _, node := range nodes {
		p.dead[node] = true
		tell(testbed.NodeNamed(node), "dead", "true")
	}
	Eventually(p.needing).WithTimeout(2*time.Minute).Should(BeEmpty(), func() string { return "jobs that do not run without the lost nodes:\n" + p.unfinished() })
	say("%d pods lost with %s; all jobs run elsewhere after %.1f s", len(stranded), strings.Join(nodes, ", "), time.Since(start).Seconds())
	Eventually(p.addresses).Should(BeEmpty(), "what is wrong with the addresses that the jobs' Services give")
}

// on returns the pods on the nodes.
func (p *place) on(nodes []string) (found []*corev1.Pod) {
	p.tape.each(func(a *account) {
		for _, e := range a.pods {
			if !e.gone && ledger.CanRun(e.pod) && slices.Contains(nodes, e.pod.Spec.NodeName) {
				found = append(found, e.pod.DeepCopy())
			}
		}
	})
	return found
}

// needing returns the names of the jobs that do not run with all replicas on nodes that live.
func (p *place) needing() (names []string) {
	p.tape.each(func(a *account) {
		onDead := slices.ContainsFunc(a.pods, func(e *entry) bool { return !e.gone && ledger.CanAct(e.pod) && p.dead[e.pod.Spec.NodeName] })
		if onDead || p.plays[a.job.Name].settled(a) == nil {
			names = append(names, a.job.Name)
		}
	})
	return names
}

// addresses returns what is wrong with what DNS says: each host name is to stand for one pod, on a node that lives.
func (p *place) addresses() (wrong []string) {
	GinkgoHelper()
	var slices discoveryv1.EndpointSliceList
	Expect(kube.List(context.Background(), &slices, client.InNamespace(p.namespace))).To(Succeed())
	hosts := map[string]map[string]int{}
	for i := range slices.Items {
		service := slices.Items[i].Labels[discoveryv1.LabelServiceName]
		if hosts[service] == nil {
			hosts[service] = map[string]int{}
		}
		for _, e := range slices.Items[i].Endpoints {
			if e.Hostname == nil || e.NodeName == nil || p.dead[*e.NodeName] {
				wrong = append(wrong, fmt.Sprintf("%s: %v still has an address", service, e.TargetRef))
				continue
			}
			hosts[service][*e.Hostname]++
		}
	}
	p.tape.each(func(a *account) {
		if twice := slicesOf(hosts[a.job.Name], func(n int) bool { return n != 1 }); len(twice) > 0 {
			wrong = append(wrong, fmt.Sprintf("%s: more than one pod is called %v", a.job.Name, twice))
		}
		want := 1
		if ledger.AllNamed(a.job) {
			want = state.Total(&a.job.Spec)
		}
		if len(hosts[a.job.Name]) != want {
			wrong = append(wrong, fmt.Sprintf("%s: %d of %d ranks have an address", a.job.Name, len(hosts[a.job.Name]), want))
		}
	})
	return wrong
}

// slicesOf returns the sorted keys whose value is so.
func slicesOf(m map[string]int, is func(int) bool) (keys []string) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if is(m[key]) {
			keys = append(keys, key)
		}
	}
	return keys
}

// letGo shows that a pod on a lost node is deleted by force in the full form; the short form does not wait for that: it brings
// the nodes back, and their pods end as they were told to.
func (p *place) letGo() {
	GinkgoHelper()
	left := func() []*corev1.Pod { return p.on(slices.Collect(maps.Keys(p.dead))) }
	if !testing.Short() {
		Eventually(left).WithTimeout(90*time.Second).Should(BeEmpty(), "pods on lost nodes that nobody deletes by force")
	}
	for _, pod := range left() {
		tell(pod, "never-terminate", nil)
	}
	p.revive()
	Eventually(left).Should(BeEmpty(), "pods of nodes that are back, though they were told to go")
}

// revive brings the killed nodes back.
func (p *place) revive() {
	for node := range p.dead {
		tell(testbed.NodeNamed(node), "dead", nil)
	}
}

// tell tells fake nodes how to treat the object, if it is still there: nil for as always.
func tell(object client.Object, what string, value any) {
	GinkgoHelper()
	Expect(client.IgnoreNotFound(testbed.Tell(context.Background(), kube, object, testbed.Annotations{what: value}))).To(Succeed())
}

//go:build e2e

package e2e

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/ledger"
)

// dnsName returns the name under which the pod's Service publishes it.
func dnsName(pod *corev1.Pod) string {
	return pod.Spec.Hostname + "." + pod.Spec.Subdomain + "." + pod.Namespace + ".svc"
}

// naming says whose names DNS is to know.
func naming(names v1alpha1.DNSNames) jobOption {
	return func(job *v1alpha1.TrainingJob) { job.Spec.Network = &v1alpha1.Network{DNSNames: names} }
}

// reachable returns the names of the pods that the job's Service leads to, sorted.
func (j *submitted) reachable() []string {
	GinkgoHelper()
	var found discoveryv1.EndpointSliceList
	Expect(kube.List(here.ctx, &found, client.InNamespace(here.namespace), client.MatchingLabels{discoveryv1.LabelServiceName: j.name})).To(Succeed())
	var names []string
	for _, slice := range found.Items {
		for _, endpoint := range slice.Endpoints {
			names = append(names, endpoint.TargetRef.Name)
		}
	}
	slices.Sort(names)
	return names
}

var _ = Describe("Rendezvous", func() {
	It("takes names for those whom others look for: the leader of a collective that meets there, or all", promise, func() {
		leader, all, servers := submit(pytorch("leader", master(), workers(2))), submit(pytorch("all", naming(v1alpha1.DNSNamesAll), workers(2))), submit(tensorflow("ps", ps(1), workers(1)))
		for _, j := range []*submitted{leader, all, servers} {
			j.runs(0, 0)
		}
		Eventually(leader.reachable).Should(Equal([]string{"leader-master-0"}))
		v := leader.look()
		Expect(ledger.Env(v.pod("worker-1"))).To(HaveKeyWithValue("MASTER_ADDR", dnsName(v.pod("master-0"))))
		Eventually(all.reachable).Should(Equal([]string{"all-worker-0", "all-worker-1"}))
		Eventually(servers.reachable).Should(Equal([]string{"ps-ps-0", "ps-worker-0"}))
		leader.exits(1, "worker-1")
		leader.runs(1, 1)
		Eventually(leader.reachable).Should(Equal([]string{"leader-master-0-a1r0"}))
		leader.suspend()
		leader.becomes("it is suspended", func(v *view) bool { return v.isTrue(v1alpha1.ConditionSuspended) && v.haveEnded() })
		leader.change(naming(v1alpha1.DNSNamesAll))
		leader.resume()
		leader.runs(1, 1)
		Eventually(leader.reachable).Should(HaveLen(3))
	})
})

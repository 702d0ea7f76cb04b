//go:build e2e

package e2e

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// nearby keeps a role within one rack by Kueue's topology.
func nearby(r *v1alpha1.ReplicaSpec) {
	r.Template.Annotations = map[string]string{"kueue.x-k8s.io/podset-required-topology": rack}
}

// anywhere has Kueue choose the nodes of a role in any racks.
func anywhere(r *v1alpha1.ReplicaSpec) {
	r.Template.Annotations = map[string]string{"kueue.x-k8s.io/podset-unconstrained-topology": "true"}
}

// inRacks gives a flavor the topology of the lab's racks.
func inRacks(flavor, _ fields) {
	createKueue("Topology", here.namespace, fields{"levels": []any{fields{"nodeLabel": rack}, fields{"nodeLabel": corev1.LabelHostname}}})
	flavor["topologyName"], flavor["nodeLabels"] = here.namespace, fields{"type": "fake-gpu"}
}

// quotaIsFree waits until Kueue has forgotten the queues of earlier specs, and with them the nodes that it has assigned. It does not look again
// at a job of another ClusterQueue when they become free.
func quotaIsFree() {
	GinkgoHelper()
	gpusAreFree()
	Eventually(func(g Gomega) {
		queues := &unstructured.UnstructuredList{Object: fields{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueueList"}}
		g.Expect(kube.List(here.ctx, queues)).To(Succeed())
		g.Expect(queues.Items).To(BeEmpty(), "ClusterQueues of earlier specs")
	}).WithTimeout(time.Minute).Should(Succeed())
}

var _ = Describe("A job in a queue of Kueue that knows the topology", Serial, Label("Kueue"), func() {
	var q *queue
	var whole replicaOption
	var gpus int64

	BeforeEach(func() {
		quotaIsFree()
		_, gpus = gpuNodes()
		whole = limited(gpu, gpus)
	})
	AfterEach(func() { q.holds() })

	It("has its pods where Kueue puts them, in one rack, also after a restart of one or of all", func() {
		q = newQueue(3*gpus, inRacks)
		j := submit(pytorch("near", q.job(), workers(2, whole, nearby, scope(v1alpha1.ScopeReplica)), master(whole, anywhere)))
		v := j.runs(0, 0)
		j.runsAsAssigned(v)
		Expect(v.racksInOrder(v1alpha1.Worker)).To(HaveLen(1))
		assigned := j.assigned()
		j.exits(137, "worker-1")
		j.runsAsAssigned(j.runs(0, 1))
		j.exits(137, "master-0")
		j.runsAsAssigned(j.runs(1, 2))
		Expect(j.assigned()).To(Equal(assigned), "Kueue has assigned the nodes once")
		q.stops("HoldAndDrain")
		v = j.waits(q)
		template := v.job.Spec.ReplicaSpecs[v1alpha1.Worker].Template
		Expect(template.Spec.SchedulingGates).To(BeEmpty(), "the template is the user's again")
		for key := range template.Annotations {
			Expect(strings.HasPrefix(key, "kueue.x-k8s.io/podset-required")).To(BeTrue(), key)
		}
	})

	It("has its parameter servers in one rack and its workers in another, if they do not fit into one", func() {
		q = newQueue(11*gpus, inRacks)
		j := submit(tensorflow("roles", q.job(), chief(whole, anywhere), ps(3, nearby, whole), workers(7, nearby, whole)))
		v := j.runs(0, 0)
		j.runsAsAssigned(v)
		servers, rest := v.racksInOrder(v1alpha1.PS), v.racksInOrder(v1alpha1.Worker)
		Expect(servers).To(HaveLen(1))
		Expect(rest).To(HaveLen(1))
		Expect(servers).NotTo(Equal(rest))
		v.is("nothing restarted", v.job.Status.Restarts == 0)
	})

	It("has neighbouring ranks on one node, and on nodes of one rack", func() {
		q = newQueue(10*gpus, inRacks)
		j := submit(pytorch("ranks", q.job(), workers(20, limited(gpu, gpus/2), anywhere)))
		v := j.runs(0, 0)
		j.runsAsAssigned(v)
		Expect(v.racksInOrder(v1alpha1.Worker)).To(HaveLen(2))
		nodes := j.assigned()["worker"]
		for i := 0; i < len(nodes); i += 2 {
			Expect(nodes[i]).To(Equal(nodes[i+1]), "ranks %d and %d", i, i+1)
		}
	})

	It("keeps its pods and its nodes when it restarts in place", func() {
		q = newQueue(3*gpus, inRacks)
		j := submit(pytorch("stays", q.job(), workers(3, whole, nearby), inPlace))
		before := j.runs(0, 0)
		was := j.workload()
		j.asksForRestart("in place")
		v := j.runs(1, 1)
		v.is("its pods are the same", isSame(before.uids(), v))
		j.runsAsAssigned(v)
		Expect(admissionOf(j.workload())).To(Equal(admissionOf(was)))
		Expect(j.workload().GetUID()).To(Equal(was.GetUID()))
	})

	DescribeTable("restarts once and is not charged, on the node by which Kueue replaces one that", func(lose func(string), reason string) {
		q = newQueue(4*gpus, inRacks)
		j := submit(pytorch("loses", q.job(), maxRestarts(0), workers(4, whole, nearby)))
		before := j.runs(0, 0)
		workload, admitted := j.workload().GetUID(), j.queueSays("Admitted").LastTransitionTime
		lost, racks := before.pod("worker-1").Spec.NodeName, before.racksInOrder(v1alpha1.Worker)
		lose(lost)
		v := j.runsWithin(patience, 1, 1)
		incident(v, v1alpha1.CauseInfrastructure, reason)
		notCharged(v)
		j.runsOnlyAsAssigned(v)
		Expect(v.racksInOrder(v1alpha1.Worker)).To(Equal(racks))
		v.is("it has left "+lost, v.slotOn(lost) == "")
		Expect(j.workload().GetUID()).To(Equal(workload))
		Expect(j.queueSays("Admitted")).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("LastTransitionTime", admitted)))
		Expect(j.queueSays("Evicted")).To(BeZero())
		j.stays("it goes on", func(v *view) bool { return v.job.Status.Restarts == 1 && v.allRun() })
	},
		Entry("falls silent", silence, v1alpha1.ReasonNodeLost),
		Entry("is deleted", remove, v1alpha1.ReasonNodeDeleted),
	)
})

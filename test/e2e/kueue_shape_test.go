//go:build e2e

package e2e

import (
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/ledger"
)

// coveringAll has quota for CPUs and memory too, as much as anybody asks for.
func coveringAll(_, cluster fields) {
	group := cluster["resourceGroups"].([]any)[0].(fields)
	flavor := group["flavors"].([]any)[0].(fields)
	group["coveredResources"] = append(group["coveredResources"].([]any), "cpu", "memory")
	flavor["resources"] = append(flavor["resources"].([]any), fields{"name": "cpu", "nominalQuota": 1000}, fields{"name": "memory", "nominalQuota": "10Ti"})
}

var _ = Describe("A job in a queue of Kueue", Serial, Label("Kueue"), func() {
	var q *queue

	AfterEach(func() {
		q.isNeverExceeded()
		q.coversAllPods()
	})

	Context("that is elastic", func() {
		It("starts with fewer workers when the quota is short, and asks for all of them the next time", func() {
			q = newQueue(2)
			j := q.submit("partial", 4, elastic(2, 4))
			v := j.runs(0, 0)
			v.is("two run", v.job.Spec.Replicas(v1alpha1.Worker) == 2 && len(v.pods) == 2)
			q.stops("HoldAndDrain")
			v = j.waits(q)
			v.is("it asks for four", v.job.Spec.Replicas(v1alpha1.Worker) == 4)
			q.grows(4)
			q.stops("None")
			v = j.runs(0, 0)
			v.is("four run", len(v.pods) == 4)
		})

		It("goes back to its queue when it is scaled, and runs with the new size", func() {
			q = newQueue(3)
			j := q.submit("scaled", 2, elastic(1, 4))
			before := j.runs(0, 0)
			j.scale(3)
			v := j.becomes("three run, all of them new", func(v *view) bool {
				return len(v.pods) == 3 && v.allRun() && v.job.Status.Ready == "3/3" && v.uids()["worker-0"] != before.uids()["worker-0"]
			})
			v.is("nothing failed", v.job.Status.Restarts == 0 && v.job.Status.Attempt == 0)
		})
	})

	Context("that knows the topology", func() {
		const rack = "topology.kubernetes.io/rack"
		near := func(r *v1alpha1.ReplicaSpec) {
			r.Template.Annotations = map[string]string{"kueue.x-k8s.io/podset-required-topology": rack}
		}
		topology := func(flavor, _ fields) {
			levels := []any{fields{"nodeLabel": rack}, fields{"nodeLabel": corev1.LabelHostname}}
			createKueue("Topology", here.namespace, fields{"levels": levels})
			flavor["topologyName"], flavor["nodeLabels"] = here.namespace, fields{"type": "fake-gpu"}
		}
		// racks returns where the workers are, and fails if a pod is elsewhere than Kueue says.
		racks := func(v *view) []string {
			var all []string
			for i := range v.pods {
				p := &v.pods[i]
				if !ledger.CanRun(p) {
					continue
				}
				Expect(p.Spec.SchedulingGates).To(BeEmpty())
				Expect(p.Spec.NodeName).To(Equal(p.Spec.NodeSelector[corev1.LabelHostname]), "%s runs where Kueue says", p.Name)
				if p.Labels[v1alpha1.LabelRole] == "worker" {
					all = append(all, getNode(p.Spec.NodeName).Labels[rack])
				}
			}
			slices.Sort(all)
			return slices.Compact(all)
		}

		It("has its pods where Kueue puts them, in one rack, also after a restart of one or of all", func() {
			gpusAreFree()
			_, gpus := gpuNodes()
			q = newQueue(3*gpus, topology)
			whole := workers(2, limited(gpu, gpus), near, scope(v1alpha1.ScopeReplica))
			j := submit(pytorch("near", q.job(), whole, master(limited(gpu, gpus))))
			v := j.runs(0, 0)
			Expect(racks(v)).To(HaveLen(1))
			j.exits(137, "worker-1")
			v = j.runs(0, 1)
			Expect(racks(v)).To(HaveLen(1))
			j.exits(137, "master-0")
			v = j.runs(1, 2)
			Expect(racks(v)).To(HaveLen(1))
			q.stops("HoldAndDrain")
			v = j.waits(q)
			template := v.job.Spec.ReplicaSpecs[v1alpha1.Worker].Template
			Expect(template.Spec.SchedulingGates).To(BeEmpty(), "the template is the user's again")
			for key := range template.Annotations {
				Expect(strings.HasPrefix(key, "kueue.x-k8s.io/podset-required")).To(BeTrue(), key)
			}
		})

		It("has its parameter servers in one rack and its workers in one", func() {
			gpusAreFree()
			_, gpus := gpuNodes()
			q = newQueue(4*gpus, topology)
			j := submit(tensorflow("roles", q.job(), chief(limited(gpu, gpus)), ps(1, near, limited(gpu, gpus)), workers(2, near, limited(gpu, gpus))))
			v := j.runs(0, 0)
			Expect(racks(v)).To(HaveLen(1))
			Expect(v.pod("worker-0").Spec.NodeName).NotTo(Equal(v.pod("worker-1").Spec.NodeName))
			v.is("nothing restarted", v.job.Status.Restarts == 0)
		})
	})
})

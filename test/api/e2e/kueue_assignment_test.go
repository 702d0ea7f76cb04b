//go:build e2e

package e2e

import (
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/ledger"
)

// assignment is where Kueue puts the pods of a pod set.
// Source: sigs.k8s.io/kueue, apis/kueue/v1beta2, TopologyAssignment.
type assignment struct {
	Levels []string `json:"levels"`
	Slices []struct {
		DomainCount    int           `json:"domainCount"`
		ValuesPerLevel []levelValues `json:"valuesPerLevel"`
		PodCounts      struct {
			Universal  int   `json:"universal"`
			Individual []int `json:"individual"`
		} `json:"podCounts"`
	} `json:"slices"`
}

// levelValues is either one value for all domains, or the parts of a value for each.
type levelValues struct {
	Universal  string `json:"universal"`
	Individual struct {
		Prefix string   `json:"prefix"`
		Suffix string   `json:"suffix"`
		Roots  []string `json:"roots"`
	} `json:"individual"`
}

func (v levelValues) of(domain int) string {
	if v.Universal != "" {
		return v.Universal
	}
	return v.Individual.Prefix + v.Individual.Roots[domain] + v.Individual.Suffix
}

// nodes returns the assigned node of each pod, in the order of their ranks.
func (a *assignment) nodes() (nodes []string) {
	Expect(a.Levels).NotTo(BeEmpty())
	Expect(a.Levels[len(a.Levels)-1]).To(Equal(corev1.LabelHostname))
	for _, slice := range a.Slices {
		for domain := range slice.DomainCount {
			pods := slice.PodCounts.Universal
			if len(slice.PodCounts.Individual) > 0 {
				pods = slice.PodCounts.Individual[domain]
			}
			nodes = append(nodes, slices.Repeat([]string{slice.ValuesPerLevel[len(a.Levels)-1].of(domain)}, pods)...)
		}
	}
	return nodes
}

// assigned returns the nodes that Kueue has assigned to the job, by pod set.
func (j *submitted) assigned() map[string][]string {
	GinkgoHelper()
	var workload struct {
		Status struct {
			Admission struct {
				PodSetAssignments []struct {
					Name               string     `json:"name"`
					TopologyAssignment assignment `json:"topologyAssignment"`
				} `json:"podSetAssignments"`
			} `json:"admission"`
		} `json:"status"`
	}
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(j.workload().Object, &workload)).To(Succeed())
	nodes := map[string][]string{}
	for _, set := range workload.Status.Admission.PodSetAssignments {
		nodes[set.Name] = set.TopologyAssignment.nodes()
	}
	return nodes
}

// runsAsAssigned fails unless every rank runs on the node that Kueue has assigned to it, and Kueue has assigned no other.
func (j *submitted) runsAsAssigned(v *view) {
	GinkgoHelper()
	Expect(v.nodesByRank()).To(Equal(j.assigned()), "the node of each rank, and the node that Kueue has assigned to it\n%s", v)
}

// runsOnlyAsAssigned fails unless the ranks run on the nodes that Kueue has assigned, in any order, and Kueue has assigned no other.
func (j *submitted) runsOnlyAsAssigned(v *view) {
	GinkgoHelper()
	runs, assigned := v.nodesByRank(), j.assigned()
	for _, nodes := range []map[string][]string{runs, assigned} {
		for role := range nodes {
			slices.Sort(nodes[role])
		}
	}
	Expect(runs).To(Equal(assigned), "the nodes of the ranks, and the nodes that Kueue has assigned\n%s", v)
}

// nodesByRank returns the nodes of the replicas, by role. It fails if a pod waits at a gate or is not where its node selector says.
func (v *view) nodesByRank() map[string][]string {
	GinkgoHelper()
	nodes := map[string][]string{}
	for role := range v.job.Spec.ReplicaSpecs {
		nodes[strings.ToLower(string(role))] = make([]string, v.job.Spec.Replicas(role))
	}
	for i := range v.pods {
		p := &v.pods[i]
		if !ledger.CanRun(p) || isGivenUp(p) {
			continue
		}
		Expect(p.Spec.SchedulingGates).To(BeEmpty(), p.Name)
		Expect(p.Spec.NodeName).To(Equal(p.Spec.NodeSelector[corev1.LabelHostname]), "%s runs where Kueue says", p.Name)
		index, err := strconv.Atoi(p.Labels[v1alpha1.LabelIndex])
		Expect(err).NotTo(HaveOccurred())
		nodes[p.Labels[v1alpha1.LabelRole]][index] = p.Spec.NodeName
	}
	return nodes
}

// racksInOrder returns the racks of a role's ranks, without repetitions in a row.
func (v *view) racksInOrder(role v1alpha1.Role) (racks []string) {
	GinkgoHelper()
	for i := range v.job.Spec.Replicas(role) {
		racks = append(racks, getNode(v.pod(strings.ToLower(string(role)) + "-" + strconv.Itoa(int(i))).Spec.NodeName).Labels[rack])
	}
	return slices.Compact(racks)
}

//go:build e2e

package e2e

import (
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

// rack is the label of the lab's nodes that names their rack.
const rack = "topology.kubernetes.io/rack"

// racksOf returns in how many racks the job's pods are.
func racksOf(v *view) int {
	GinkgoHelper()
	found := map[string]bool{}
	for i := range v.pods {
		if v.pods[i].Spec.NodeName != "" {
			found[getNode(v.pods[i].Spec.NodeName).Labels[rack]] = true
		}
	}
	return len(found)
}

var _ = withEachGangScheduler("The group of a gang scheduled", func(by gangScheduler) {
	It("is one for each attempt, is none while the job rests, and goes with it", func() {
		j := submit(custom("groups", gang(by.name), workers(2), ps(1)))
		j.runsWithin(by.sleep, 0, 0)
		Expect(by.minimumOf(j, "groups-0")).To(BeEquivalentTo(3))
		j.exits(1, "ps-0")
		v := j.runsWithin(by.sleep, 1, 1)
		Expect(by.groupOf(v.pod("worker-1"))).To(Equal("groups-1"))
		by.hasGroups(j, "groups-1")
		j.suspend()
		j.reaches(v1alpha1.PhaseSuspended)
		by.hasGroups(j)
		j.resume()
		j.runsWithin(by.sleep, 1, 1)
		by.hasGroups(j, "groups-1")
		j.delete(metav1.DeletePropagationBackground)
		by.hasGroups(j)
	})

	It("goes when the job is given to another scheduler, in the same write as its suspension", func() {
		j := submit(pytorch("moves", gang(by.name), workers(2)))
		j.runsWithin(by.sleep, 0, 0)
		j.change(func(job *v1alpha1.TrainingJob) {
			job.Spec.Suspend, job.Spec.Scheduling.Gang = ptr.To(true), v1alpha1.GangNone
		})
		by.hasGroups(j)
		j.resume()
		v := j.runsWithin(by.sleep, 0, 0)
		Expect(by.groupOf(v.pod("worker-0"))).To(BeEmpty())
	})

	It("asks for fewer when some replicas have finished and another is replaced", func() {
		j := submit(custom("fewer", gang(by.name), allWorkers, wholeNodes(3, fakeNodes(3)...)))
		j.runsWithin(by.sleep, 0, 0)
		j.exits(0, "worker-2")
		j.becomes("one has succeeded", func(v *view) bool { return v.job.Status.ReplicaStatuses[v1alpha1.Worker].Succeeded == 1 })
		j.exits(1, "worker-1")
		j.becomesWithin(by.sleep, "the replaced one runs beside it", func(v *view) bool { return v.job.Status.Restarts == 1 && v.job.Status.Ready == "2/3" })
		Expect(by.minimumOf(j, "fewer-0")).To(BeEquivalentTo(2))
	})

	// The scheduler would be content with any two of them, but without worker 0 they do not meet.
	It("asks for minReplicas of an elastic job's workers, which runs with the first of them", func() {
		nodes := fakeNodes(3)
		j := submit(pytorch("elastic", gang(by.name), elastic(2, 4), wholeNodes(4, nodes[:2]...)))
		j.becomesWithin(by.sleep, "it runs with two", func(v *view) bool {
			return v.job.Status.Phase == v1alpha1.PhaseRunning && v.slots(corev1.PodRunning) == "worker-0 worker-1" && v.slots(corev1.PodPending) == "worker-2 worker-3"
		})
		Expect(by.minimumOf(j, "elastic-0")).To(BeEquivalentTo(2))
		few := submit(pytorch("few", gang(by.name), elastic(2, 4), wholeNodes(4, nodes[2])))
		v := few.becomes("it waits whole", (*view).waitsForNodes)
		Expect(v.job.Status.Message).To(HavePrefix("The gang needs 2 x "))
	})

	It("keeps a job with a Required topology in one rack", func() {
		nodes, _ := gpuNodes()
		j := submit(pytorch("near", gang(by.name, within(rack)), wholeNodes(4)))
		Expect(racksOf(j.runsWithin(by.sleep, 0, 0))).To(Equal(1))
		far := submit(pytorch("far", gang(by.name, within(rack)), wholeNodes(nodes-4)))
		far.becomesWithin(by.sleep, "no rack is large enough", (*view).waitsForNodes)
		far.stays("none of it has a node", func(v *view) bool { return v.placed() == 0 })
	})

	It("gives up after scheduling.timeoutSeconds, in the scheduler's words", func() {
		j := submit(pytorch("patience", gang(by.name, builder.SchedulingTimeout(4)), wholeNodes(2, fakeNodes(1)...)))
		v := j.fails(v1alpha1.ReasonSchedulingTimeout)
		Expect(v.job.Status.Message).To(And(ContainSubstring("The gang needs 2 x "), ContainSubstring(by.words)))
		by.hasGroups(j)
	})
})

var _ = Describe("A gang whose scheduler is missing", Label("bare"), func() {
	It("waits without pods, says what is missing, and runs when it is given to another", func() {
		missing := slices.DeleteFunc(slices.Clone(gangSchedulers), gangScheduler.isServed)
		requires(len(missing) > 0, "the cluster serves the groups of every gang scheduler: leave this spec out with --ginkgo.label-filter='!bare'")
		for _, by := range missing {
			j := submit(pytorch("missing-"+strings.ToLower(string(by.name)), gang(by.name), workers(1)))
			v := j.becomes("it says what is missing", func(v *view) bool {
				return v.condition(v1alpha1.ConditionScheduled).Reason == v1alpha1.ReasonGangUnavailable
			})
			Expect(v.job.Status.Phase).To(Equal(v1alpha1.PhasePending))
			words := []string{"PodGroup of " + by.groups.GroupVersion().String(), by.missing}
			Expect(containsAll(v.job.Status.Message, words)).To(BeTrue(), "%q has %q", v.job.Status.Message, words)
			j.tells(v1alpha1.ReasonGangUnavailable, words...)
			j.stays("it has no pods", func(v *view) bool { return len(v.pods) == 0 })
			j.change(func(job *v1alpha1.TrainingJob) {
				job.Spec.Suspend, job.Spec.Scheduling.Gang = ptr.To(true), v1alpha1.GangNone
			})
			j.resume()
			j.runs(0, 0)
		}
	})
})

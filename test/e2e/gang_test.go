//go:build e2e

package e2e

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// gang has the job's pods scheduled all at once or not at all.
func gang(scheduler v1alpha1.Gang, how ...func(*v1alpha1.Scheduling)) jobOption {
	return func(j *v1alpha1.TrainingJob) {
		j.Spec.Scheduling = &v1alpha1.Scheduling{Gang: scheduler}
		for _, change := range how {
			change(j.Spec.Scheduling)
		}
	}
}

func important(class string) func(*v1alpha1.Scheduling) {
	return func(s *v1alpha1.Scheduling) { s.PriorityClassName = class }
}

// priorityClass makes a priority class for the spec.
func priorityClass(value int32) string {
	GinkgoHelper()
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{GenerateName: "gang-"}, Value: value}
	Expect(kube.Create(here.ctx, class)).To(Succeed())
	DeferCleanup(func() { Expect(kube.Delete(here.ctx, class)).To(Succeed()) })
	return class.Name
}

// groups returns the names of the job's native pod groups, sorted.
func (j *submitted) groups() []string {
	GinkgoHelper()
	var list schedulingv1beta1.PodGroupList
	Expect(kube.List(here.ctx, &list, client.InNamespace(here.namespace), client.MatchingLabels{v1alpha1.LabelJobName: j.name})).To(Succeed())
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	slices.Sort(names)
	return names
}

func (v *view) waitsForNodes() bool {
	scheduled := v.condition(v1alpha1.ConditionScheduled)
	return scheduled.Status == metav1.ConditionFalse && scheduled.Reason == v1alpha1.ReasonGangWaiting
}

func (v *view) placed() int {
	return len(slices.DeleteFunc(slices.Clone(v.pods), func(p corev1.Pod) bool { return p.Spec.NodeName == "" }))
}

var _ = Describe("A gang that Kubernetes schedules", Serial, func() {
	whole := func(nodes []string, n int32) jobOption {
		return workers(n, only(nodes...), limited("nvidia.com/gpu", 8))
	}

	BeforeEach(func() {
		if err := kube.List(here.ctx, &schedulingv1beta1.PodGroupList{}); err != nil {
			Skip("the cluster serves no scheduling.k8s.io/v1beta1 PodGroup")
		}
		gpusAreFree()
	})

	It("waits whole while one of its pods fits nowhere, says what it needs, and runs when there is room (volcano#3834, #3671)", func() {
		nodes := fakeNodes(3)
		cordon(nodes[2])
		j := submit(pytorch("whole", gang(v1alpha1.GangNative), whole(nodes, 3)))
		v := j.becomes("it waits as a gang", (*view).waitsForNodes)
		Expect(v.job.Status.Phase).To(Equal(v1alpha1.PhasePending))
		Expect(v.job.Status.Message).To(And(HavePrefix("The gang needs 3 x 8 nvidia.com/gpu at once: "), ContainSubstring("minCount (3) cannot be satisfied: 2 scheduled")))
		j.stays("no pod has a node", func(v *view) bool { return v.placed() == 0 })
		Expect(j.groups()).To(Equal([]string{"whole-0"}))
		uncordon(nodes[2])
		j.runs(0, 0)
		j.told(v1alpha1.ReasonGangWaiting, 1)
	})

	It("never holds half of the nodes against another that holds the other half", func() {
		nodes := fakeNodes(4)
		first := submit(pytorch("first", gang(v1alpha1.GangNative), whole(nodes, 3)))
		second := submit(pytorch("second", gang(v1alpha1.GangNative), whole(nodes, 3)))
		Eventually(func() []int { return []int{first.look().placed(), second.look().placed()} }).Should(ConsistOf(0, 3))
		running, waiting := first, second
		if second.look().placed() == 3 {
			running, waiting = second, first
		}
		running.runs(0, 0)
		waiting.becomes("the other waits whole", (*view).waitsForNodes)
		running.exits(0, "worker-0", "worker-1", "worker-2")
		running.succeeds()
		waiting.runs(0, 0)
	})

	It("has a group for each attempt, takes a replaced worker in, and none while it rests", func() {
		j := submit(custom("groups", gang(v1alpha1.GangNative), workers(2), ps(1), backOff(0)))
		j.runs(0, 0)
		j.exits(1, "worker-1")
		v := j.runs(0, 1)
		Expect(*v.pod("worker-1").Spec.SchedulingGroup.PodGroupName).To(Equal("groups-0"))
		j.exits(1, "ps-0")
		v = j.runs(1, 2)
		Expect(*v.pod("worker-1").Spec.SchedulingGroup.PodGroupName).To(Equal("groups-1"))
		Eventually(j.groups).Should(Equal([]string{"groups-1"}))
		j.suspend()
		j.reaches(v1alpha1.PhaseSuspended)
		Eventually(j.groups).Should(BeEmpty())
		j.resume()
		j.runs(1, 2)
	})

	It("makes way whole for a more important one, charged nothing, and comes back", func() {
		nodes := fakeNodes(2)
		class := priorityClass(1000)
		low := submit(pytorch("low", gang(v1alpha1.GangNative), whole(nodes, 2), backOff(0)))
		low.runs(0, 0)
		high := submit(pytorch("high", gang(v1alpha1.GangNative, important(class)), whole(nodes, 1)))
		high.runs(0, 0)
		v := low.becomes("it waits whole", (*view).waitsForNodes)
		Expect(v.job.Status.FirstFailure.Cause).To(Equal(v1alpha1.CausePreempted))
		Expect(v.job.Status.BilledRestarts).To(BeZero())
		Expect(v.placed()).To(BeZero())
		high.exits(0, "worker-0")
		high.succeeds()
		low.runs(1, 1)
	})

	It("asks for fewer when some of its replicas have finished and another is replaced", func() {
		nodes := fakeNodes(3)
		j := submit(custom("fewer", gang(v1alpha1.GangNative), allWorkers, backOff(0), whole(nodes, 3)))
		j.runs(0, 0)
		j.exits(0, "worker-2")
		j.becomes("one has succeeded", func(v *view) bool { return v.job.Status.ReplicaStatuses[v1alpha1.Worker].Succeeded == 1 })
		j.exits(1, "worker-1")
		v := j.becomes("the replaced one runs beside it", func(v *view) bool { return v.job.Status.Restarts == 1 && v.job.Status.Ready == "2/3" })
		group := &schedulingv1beta1.PodGroup{}
		Expect(kube.Get(here.ctx, client.ObjectKey{Namespace: here.namespace, Name: *v.pod("worker-1").Spec.SchedulingGroup.PodGroupName}, group)).To(Succeed())
		Expect(group.Spec.SchedulingPolicy.Gang.MinCount).To(BeEquivalentTo(2))
	})

	It("fails with a reason when it has waited for scheduling.timeoutSeconds", func() {
		nodes := fakeNodes(1)
		j := submit(pytorch("patience", gang(v1alpha1.GangNative, func(s *v1alpha1.Scheduling) { s.TimeoutSeconds = ptr.To[int32](3) }), whole(nodes, 2)))
		v := j.fails(v1alpha1.ReasonSchedulingTimeout)
		Expect(v.job.Status.Message).To(ContainSubstring("2 x 8 nvidia.com/gpu"))
	})

	It("does not crash the operator where its scheduler is missing, but says so", func() {
		j := submit(pytorch("missing", gang(v1alpha1.GangCoscheduling), workers(1)))
		v := j.becomes("it says what is missing", func(v *view) bool {
			return v.condition(v1alpha1.ConditionScheduled).Reason == v1alpha1.ReasonGangUnavailable
		})
		Expect(v.job.Status.Message).To(ContainSubstring("PodGroup of scheduling.x-k8s.io/v1alpha1"))
		Expect(v.pods).To(BeEmpty())
	})
})

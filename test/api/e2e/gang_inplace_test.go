//go:build e2e

package e2e

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/ledger"
)

// inPlace restarts the pods that are well where they are.
var inPlace = recovering(func(r *v1alpha1.Recovery) { r.RestartMethod = v1alpha1.RestartInPlace })

// restartsForThe makes the job restart: by a request, or the fourth time because all ranks, which are those slots, end.
func (j *submitted) restartsForThe(n int32, slots ...string) {
	GinkgoHelper()
	if n < 4 {
		j.asksForRestart(fmt.Sprint("for the ", n))
		return
	}
	j.endsBehindGates(slots...)
}

// notOnlyRunning returns what the watch has shown of the job's pods since the first of them was seen that a scheduler or a queue could take for
// anything but pods that run: each was created, got its node and ran, and stayed so.
func (h *history) notOnlyRunning(job string) []string {
	ran := map[string]string{}
	var found []string
	for _, o := range h.sorted() {
		if o.Pod == nil {
			continue
		}
		if _, ours := ledger.LifeOf(job, o.Pod.Name); !ours {
			continue
		}
		node, hasRun := ran[o.Pod.Name]
		runs := o.Event != watch.Deleted && o.Pod.Status.Phase == corev1.PodRunning && o.Pod.DeletionTimestamp == nil
		if runs && !hasRun {
			ran[o.Pod.Name], node = o.Pod.Spec.NodeName, o.Pod.Spec.NodeName
		}
		isDisrupted := false
		for _, c := range o.Pod.Status.Conditions {
			isDisrupted = isDisrupted || c.Type == corev1.DisruptionTarget
		}
		if hasRun && !runs || isDisrupted || o.Pod.DeletionTimestamp != nil || hasRun && o.Pod.Spec.NodeName != node {
			found = append(found, fmt.Sprintf("revision %d: %s %s is %s on %q, deleted %v, disrupted %t", o.Revision, o.Event, o.Pod.Name,
				o.Pod.Status.Phase, o.Pod.Spec.NodeName, o.Pod.DeletionTimestamp, isDisrupted))
		}
	}
	return found
}

var _ = withEachGangScheduler("A gang that restarts in place, scheduled", func(by gangScheduler) {
	It("keeps its pods, its nodes and its group, and one that waits for these nodes gets none", func() {
		nodes := fakeNodes(3)
		j := submit(pytorch("stays", gang(by.name), wholeNodes(3, nodes...), inPlace))
		before := j.runsWithin(by.sleep, 0, 0)
		group := by.groupsOf(j)["stays-0"]
		other := submit(pytorch("other", gang(by.name), wholeNodes(3, nodes...)))
		other.becomes("the other waits whole", (*view).waitsForNodes)
		for n := range int32(4) {
			j.restartsForThe(n+1, "worker-0", "worker-1", "worker-2")
			v := j.runs(n+1, n+1)
			v.is("its pods are the same", isSame(before.uids(), v))
			Expect(nodesOf(v)).To(ConsistOf(nodesOf(before)))
			Expect(by.joined(v)).To(Equal([]string{"stays-0"}))
			for i := range v.pods {
				Expect(v.pods[i].Status.ContainerStatuses[0].RestartCount).To(Equal(n+1), v.pods[i].Name)
			}
		}
		by.hasGroups(j, "stays-0")
		now := by.groupsOf(j)["stays-0"]
		Expect([]any{now.GetUID(), now.Object["spec"]}).To(Equal([]any{group.GetUID(), group.Object["spec"]}))
		Expect(here.history.notOnlyRunning("stays")).To(BeEmpty())
		other.stays("the other waits", func(v *view) bool { return v.placed() == 0 && v.waitsForNodes() })
	})

	It("takes a pod that is created anew into the group in which the others stay", func() {
		nodes := fakeNodes(3)
		j := submit(pytorch("mends", gang(by.name), wholeNodes(3, nodes...), inPlace))
		before := j.runsWithin(by.sleep, 0, 0)
		group := by.groupsOf(j)["mends-0"]
		Expect(kube.Delete(here.ctx, j.pod("worker-1"))).To(Succeed())
		v := j.runsWithin(by.sleep, 1, 1)
		Expect(v.uids("worker-1")).To(Equal(before.uids("worker-1")), "the others stay")
		Expect(v.uids()["worker-1"]).NotTo(Equal(before.uids()["worker-1"]))
		Expect(by.joined(v)).To(Equal([]string{"mends-0"}))
		by.hasGroups(j, "mends-0")
		now := by.groupsOf(j)["mends-0"]
		Expect(now.GetUID()).To(Equal(group.GetUID()))
	})
})

var _ = Describe("A job in a queue of Kueue that restarts in place", Serial, Label("Kueue"), func() {
	It("keeps its pods, its Workload and its admission, and one that waits for this quota gets none", func() {
		q := newQueue(2)
		j := q.submit("stays", 2, inPlace)
		before := j.runs(0, 0)
		was, admitted := j.workload(), j.queueSays("Admitted").LastTransitionTime
		other := q.submit("other", 2)
		other.waits(q)
		for n := range int32(4) {
			j.restartsForThe(n+1, "worker-0", "worker-1")
			v := j.runs(n+1, n+1)
			v.is("its pods are the same", isSame(before.uids(), v))
		}
		now := j.workload()
		Expect(now.GetUID()).To(Equal(was.GetUID()))
		Expect(now.GetGeneration()).To(Equal(was.GetGeneration()), "nobody has changed what it asks for")
		Expect(admissionOf(now)).To(Equal(admissionOf(was)))
		Expect(j.queueSays("Admitted")).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("LastTransitionTime", admitted)))
		Expect(j.queueSays("Evicted")).To(BeZero())
		Expect(here.history.notOnlyRunning("stays")).To(BeEmpty())
		var suspended []string
		for _, version := range here.history.versions("stays") {
			if version.Status.Attempt > 0 && version.Spec.IsSuspended() {
				suspended = append(suspended, version.ResourceVersion)
			}
		}
		Expect(strings.Join(suspended, ", ")).To(BeEmpty(), "versions in which it was suspended again")
		other.stays("the other waits", func(v *view) bool { return len(v.pods) == 0 && v.job.Status.Phase == v1alpha1.PhaseQueued })
		q.holds()
	})
})

// admissionOf returns what Kueue has given the Workload.
func admissionOf(workload *unstructured.Unstructured) any {
	admission, _, _ := unstructured.NestedFieldNoCopy(workload.Object, "status", "admission")
	return admission
}

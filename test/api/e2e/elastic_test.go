//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/ledger"
)

var _ = Describe("Scaling", func() {
	// #2070 #1452: scale-in of a worker marked the job failed.
	It("of an elastic job out and in never fails it, restarts nothing and leaves the others alone #2070 #1452", promise, func() {
		j := submit(pytorch("p", maxRestarts(0), elastic(1, 6), workers(3)))
		before := j.runs(0, 0)
		j.scale(5)
		v := j.runs(0, 0)
		v.is("there are five", len(v.pods) == 5)
		v.is("the first three are the same pods", isSame(before.uids(), &view{job: v.job, pods: without(&view{job: v.job, pods: without(v, "worker-3")}, "worker-4")}))
		Expect(ledger.Env(v.pod("worker-4"))["PET_NNODES"]).To(Equal(ledger.Env(v.pod("worker-0"))["PET_NNODES"]), "late workers see the same cluster")
		j.scale(2)
		v = j.becomes("two are left", func(v *view) bool { return v.job.Status.Ready == "2/2" && len(v.pods) == 2 })
		v.is("they are the first two", before.uids()["worker-0"] == v.uids()["worker-0"] && before.uids()["worker-1"] == v.uids()["worker-1"])
		j.stays("it runs and counts nothing", func(v *view) bool {
			return v.job.Status.Phase == v1alpha1.PhaseRunning && v.job.Status.Restarts == 0 && v.job.Status.LastFailure == nil
		})
	})

	It("in and out again at once brings new pods under the old names in DNS", func() {
		j := submit(pytorch("p", maxRestarts(0), elastic(1, 6), workers(3, doing("terminate-after", "1s"))))
		before := j.runs(0, 0)
		j.scale(1)
		j.becomes("two are ending", func(v *view) bool { return v.slots(corev1.PodRunning) == "worker-0" })
		j.scale(3)
		v := j.runs(0, 0)
		v.is("worker 0 was not touched", before.uids()["worker-0"] == v.uids()["worker-0"])
		v.is("worker 2 is a new pod", before.uids()["worker-2"] != v.uids()["worker-2"])
		Expect(v.pod("worker-2").Spec.Hostname).To(Equal("p-worker-2"))
	})

	It("shows autoscalers the number of workers and how to select them", func() {
		j := submit(pytorch("p", elastic(1, 6), workers(3)))
		j.runs(0, 0)
		j.becomes("its status counts all workers", func(v *view) bool { return v.job.Status.ReplicaStatuses[v1alpha1.Worker].Active == 3 })
		scale := &autoscalingv1.Scale{}
		Expect(kube.SubResource("scale").Get(here.ctx, j.look().job, scale)).To(Succeed())
		Expect(scale.Status.Replicas).To(BeEquivalentTo(3))
		selector, err := labels.Parse(scale.Status.Selector)
		Expect(err).NotTo(HaveOccurred())
		var pods corev1.PodList
		Expect(kube.List(here.ctx, &pods, client.InNamespace(here.namespace), client.MatchingLabelsSelector{Selector: selector})).To(Succeed())
		Expect(pods.Items).To(HaveLen(3))
	})

	DescribeTable("is refused with a sentence", func(to int32, sentence string, options ...jobOption) {
		j := submit(pytorch("p", append(options, workers(3))...))
		j.runs(0, 0)
		job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: here.namespace, Name: j.name}}
		err := kube.SubResource("scale").Update(here.ctx, job, client.WithSubResourceBody(&autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: to}}))
		Expect(err).To(MatchError(ContainSubstring(sentence)))
	},
		Entry("for a job that is not elastic", int32(4), "set elastic (minReplicas, maxReplicas)"),
		Entry("above maxReplicas", int32(7), "between elastic.minReplicas and elastic.maxReplicas", elastic(2, 6)),
		Entry("below minReplicas", int32(1), "between elastic.minReplicas and elastic.maxReplicas", elastic(2, 6)),
	)

	It("is not needed to begin: an elastic job runs from minReplicas on", func() {
		j := submit(pytorch("p", elastic(2, 4), workers(4, doing("waiting", "ContainerCreating"))))
		j.becomes("all wait", func(v *view) bool { return v.slots(corev1.PodPending) == "worker-0 worker-1 worker-2 worker-3" })
		j.does(map[string]any{"waiting": nil}, "worker-0")
		j.becomes("one is ready", func(v *view) bool { return v.job.Status.Ready == "1/4" })
		j.stays("it does not run", func(v *view) bool { return !v.isTrue(v1alpha1.ConditionRunning) })
		j.does(map[string]any{"waiting": nil}, "worker-2")
		j.becomes("it runs", func(v *view) bool { return v.isTrue(v1alpha1.ConditionRunning) && v.job.Status.Ready == "2/4" })
	})

	It("lets no job begin without worker 0, at which the others meet", func() {
		j := submit(pytorch("p", elastic(1, 3), workers(3, doing("waiting", "ContainerCreating"))))
		j.becomes("all wait", func(v *view) bool { return v.slots(corev1.PodPending) == "worker-0 worker-1 worker-2" })
		j.does(map[string]any{"waiting": nil}, "worker-1", "worker-2")
		j.becomes("two are ready", func(v *view) bool { return v.job.Status.Ready == "2/3" })
		j.stays("it does not run", func(v *view) bool { return !v.isTrue(v1alpha1.ConditionRunning) })
		j.does(map[string]any{"waiting": nil}, "worker-0")
		j.runs(0, 0)
	})
})

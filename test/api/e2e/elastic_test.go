//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/ledger"
)

// scaleStatus returns the number of replicas that autoscalers read, and how many pods the selector selects that they read.
func (j *submitted) scaleStatus() (replicas int32, selected int) {
	GinkgoHelper()
	scale := &autoscalingv1.Scale{}
	Expect(kube.SubResource("scale").Get(here.ctx, j.look().job, scale)).To(Succeed())
	selector, err := labels.Parse(scale.Status.Selector)
	Expect(err).NotTo(HaveOccurred())
	var pods corev1.PodList
	Expect(kube.List(here.ctx, &pods, client.InNamespace(here.namespace), client.MatchingLabelsSelector{Selector: selector})).To(Succeed())
	return scale.Status.Replicas, len(pods.Items)
}

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
		j.becomes("its status counts all workers", func(v *view) bool { return v.job.Status.ReplicaStatuses[v1alpha1.Worker].Active == 5 })
		replicas, selected := j.scaleStatus()
		v.is("autoscalers see the number of workers and how to select them", replicas == 5 && selected == 5)
		j.scale(2)
		v = j.becomes("two are left", func(v *view) bool { return v.job.Status.Ready == "2/2" && len(v.pods) == 2 })
		v.is("they are the first two", before.uids()["worker-0"] == v.uids()["worker-0"] && before.uids()["worker-1"] == v.uids()["worker-1"])
		j.stays("it runs and counts nothing", func(v *view) bool {
			return v.job.Status.Phase == v1alpha1.PhaseRunning && v.job.Status.Restarts == 0 && v.job.Status.LastFailure == nil
		})
	})
})

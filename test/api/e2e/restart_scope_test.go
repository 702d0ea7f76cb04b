//go:build e2e

package e2e

import (
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/ledger"
)

// everyRole is a TensorFlow job with a replica of every role that TensorFlow has.
func everyRole(options ...jobOption) *v1alpha1.TrainingJob {
	return tensorflow("t", append([]jobOption{chief(), ps(2), workers(3), evaluator()}, options...)...)
}

// onlyReplaced fails if any but the slot's pod was replaced, or if that pod came back as somebody else.
func onlyReplaced(slot string, before, after *view) {
	GinkgoHelper()
	after.is("no other pod was touched", isSame(before.uids(slot), &view{job: after.job, pods: without(after, slot)}))
	was, is := before.pod(slot), after.pod(slot)
	after.is(slot+" has another pod", was.UID != is.UID)
	Expect(is.Spec.Hostname+"."+is.Spec.Subdomain).To(Equal(was.Spec.Hostname+"."+was.Spec.Subdomain), "the DNS name of %s", slot)
	Expect(is.Labels[v1alpha1.LabelRank]).To(Equal(was.Labels[v1alpha1.LabelRank]), "the rank of %s", slot)
	former, present := ledger.Env(was), ledger.Env(is)
	Expect(number(present)).To(BeNumerically(">", number(former)), "the fencing token of %s", slot)
	delete(former, v1alpha1.EnvLife)
	delete(present, v1alpha1.EnvLife)
	Expect(present).To(Equal(former), "the environment of %s", slot)
}

// number returns the number of a pod's life.
func number(environment map[string]string) int {
	GinkgoHelper()
	n, err := strconv.Atoi(environment[v1alpha1.EnvLife])
	Expect(err).NotTo(HaveOccurred())
	return n
}

// allReplaced fails if a pod of before is still there.
func allReplaced(before, after *view) {
	GinkgoHelper()
	was := before.uids()
	for slot, uid := range after.uids() {
		after.is(slot+" has another pod", was[slot] != "" && was[slot] != uid)
	}
	after.is("every slot has a pod again", len(after.uids()) == len(was))
}

// What each role of each framework restarts by default is in TestDefaultScopes and in the simulator's scenarios; here it is seen to happen.
var _ = Describe("Restart scope", promise, func() {
	It("replaces just the replica that died", func() {
		j := submit(everyRole())
		before := j.runs(0, 0)
		j.exits(137, "worker-1")
		onlyReplaced("worker-1", before, j.runs(0, 1))
		j.tells(v1alpha1.EventReplicaRestarting, "worker-1", "137")
	})

	It("keeps the pods of ranks that have ended, where the namespace has room for no new pod", func() {
		j := submit(pytorch("p", workers(3), inPlace))
		before := j.runs(0, 0)
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "team", Namespace: here.namespace},
			Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}}}
		limits := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "team", Namespace: here.namespace},
			Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m")}}}}}
		Expect(kube.Create(here.ctx, quota)).To(Succeed())
		Expect(kube.Create(here.ctx, limits)).To(Succeed())
		j.endsBehindGates("worker-0", "worker-1", "worker-2")
		v := j.runs(1, 1)
		v.is("its pods are the same", isSame(before.uids(), v))
		Expect(kube.Get(here.ctx, client.ObjectKeyFromObject(quota), quota)).To(Succeed())
		Expect(quota.Status.Used.Pods().Value()).To(Equal(int64(3)), "pods that the quota counts")
	})

	// #2000 #2269 #1478: only the dead rank's pod was restarted, and the others hung. jobset#665 jobset#684: ranks of both attempts met.
	It("restarts the whole job, once, when three PyTorch ranks die at once #2000 #2269 #1478 jobset#665 jobset#684", func() {
		j := submit(pytorch("p", master(doing("terminate-after", "2s")), workers(4)))
		before := j.runs(0, 0)
		j.exits(137, "worker-0", "worker-1", "worker-3")
		j.becomes("it waits for former pods", func(v *view) bool {
			return v.condition(v1alpha1.ConditionRunning).Reason == v1alpha1.ReasonFormerPodsEnding
		})
		v := j.runs(1, 1)
		allReplaced(before, v)
		v.is("one restart was charged", v.job.Status.ChargedRestarts == 1)
		j.told(v1alpha1.EventRestarting, 1)
	})
})

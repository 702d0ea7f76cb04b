//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/test/api/testbed"
	"github.com/trainingjob/operator/test/sim/ledger"
)

// patience is how long a cluster may take to notice that a node is silent (50 s, unless it was told otherwise), the
// operator to count it as lost (15 s), and Kubernetes to act on it.
const patience = 2 * time.Minute

// fakeNodes returns the names of n fake nodes that are well. Specs that break nodes are Serial, and mend them again.
func fakeNodes(n int) []string {
	GinkgoHelper()
	var names []string
	Eventually(func() int {
		var all corev1.NodeList
		Expect(kube.List(here.ctx, &all)).To(Succeed())
		names = nil
		for i := range all.Items {
			if node := &all.Items[i]; testbed.IsFake(node) && testbed.TakesPods(node) {
				names = append(names, node.Name)
			}
		}
		return len(names)
	}).WithTimeout(patience).Should(BeNumerically(">=", n), "fake nodes that are well")
	slices.Sort(names)
	return names[:n]
}

func getNode(name string) *corev1.Node {
	GinkgoHelper()
	node := &corev1.Node{}
	Expect(kube.Get(here.ctx, client.ObjectKey{Name: name}, node)).To(Succeed())
	return node
}

// becomesWell waits until pods can go to the node again.
func becomesWell(name string) {
	GinkgoHelper()
	Eventually(func() bool { return testbed.TakesPods(getNode(name)) }).WithTimeout(patience).Should(BeTrue(), "node %s becomes well again", name)
}

func patchNode(name, patch string) {
	GinkgoHelper()
	Expect(kube.Patch(here.ctx, testbed.NodeNamed(name), client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}

// silence makes the node die, until the spec ends. Nothing happens to the pods on it from then on.
func silence(name string) {
	GinkgoHelper()
	Expect(testbed.Tell(here.ctx, kube, testbed.NodeNamed(name), testbed.Annotations{"dead": "true"})).To(Succeed())
	DeferCleanup(func() {
		wake(name)
		becomesWell(name)
	})
}

// wake brings a silent node back.
func wake(name string) {
	GinkgoHelper()
	Expect(testbed.Tell(here.ctx, kube, testbed.NodeNamed(name), testbed.Annotations{"dead": nil})).To(Succeed())
}

// taint taints a node until the spec ends.
func taint(name, key string, effect corev1.TaintEffect) {
	GinkgoHelper()
	patchNode(name, fmt.Sprintf(`{"spec":{"taints":[{"key":%q,"effect":%q}]}}`, key, effect))
	DeferCleanup(func() {
		patchNode(name, `{"spec":{"taints":null}}`)
		becomesWell(name)
	})
}

// reportUnhealthy has a monitor say of the node that it is unhealthy, until the spec ends.
func reportUnhealthy(name, kind, message string) {
	GinkgoHelper()
	say := func(status corev1.ConditionStatus) {
		patch := fmt.Sprintf(`{"status":{"conditions":[{"type":%q,"status":%q,"reason":"Monitored","message":%q,"lastTransitionTime":%q}]}}`,
			kind, status, message, time.Now().UTC().Format(time.RFC3339))
		merge := client.RawPatch(types.StrategicMergePatchType, []byte(patch))
		Expect(kube.Status().Patch(here.ctx, testbed.NodeNamed(name), merge)).To(Succeed())
	}
	say(corev1.ConditionTrue)
	DeferCleanup(func() { say(corev1.ConditionFalse) })
}

// remove deletes the Node object, as a cloud provider does with a machine that is gone, until the spec ends.
func remove(name string) {
	GinkgoHelper()
	was := getNode(name)
	Expect(kube.Delete(here.ctx, was.DeepCopy())).To(Succeed())
	DeferCleanup(func() {
		again := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: was.Labels, Annotations: was.Annotations}, Status: was.Status}
		again.Status.Conditions = nil
		Expect(kube.Create(here.ctx, again)).To(Succeed())
		becomesWell(name)
	})
}

// nodeEvents returns the messages of the node's Events of that reason which speak of this spec's job.
func nodeEvents(node, reason string, j *submitted) []string {
	GinkgoHelper()
	var events corev1.EventList
	Expect(kube.List(here.ctx, &events, client.InNamespace(metav1.NamespaceDefault), client.MatchingFields{"involvedObject.name": node})).To(Succeed())
	var messages []string
	for i := range events.Items {
		if e := &events.Items[i]; e.Reason == reason && e.InvolvedObject.Kind == "Node" && strings.Contains(e.Message, j.key().String()) {
			messages = append(messages, e.Message)
		}
	}
	return messages
}

// slotOn returns the slot of the job's latest pod on the node: "worker-1". It is empty if there is none.
func (v *view) slotOn(node string) string {
	for i := range v.pods {
		if is, _ := ledger.LifeOf(v.job.Name, v.pods[i].Name); v.pods[i].Spec.NodeName == node && v.pod(is.Slot()).UID == v.pods[i].UID {
			return is.Slot()
		}
	}
	return ""
}

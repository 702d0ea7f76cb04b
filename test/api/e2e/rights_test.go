//go:build e2e

package e2e

import (
	"bytes"
	"os"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/testbed"
)

// grantedVerbs returns what manifests/base and its components let the operator do with jobs, their children and nodes: "create pods".
func grantedVerbs() []string {
	GinkgoHelper()
	granted := verbsIn("../../../manifests/base/operator-role.yaml")
	Expect(granted).To(ContainElement("create pods"))
	for _, component := range []string{"mpi", "ttl", "native-gang", "volcano", "coscheduling"} {
		granted = append(granted, verbsIn("../../../manifests/components/"+component+"/role.yaml")...)
	}
	slices.Sort(granted)
	return slices.Compact(granted) // the pod groups of three schedulers have one name
}

// verbsIn returns what the ClusterRoles in the file grant. A Role is for the election of a leader, which no lab has.
func verbsIn(file string) []string {
	GinkgoHelper()
	text, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred(), "run the suite in test/api/e2e")
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	var granted []string
	for role := (rbacv1.ClusterRole{}); decoder.Decode(&role) == nil; role = (rbacv1.ClusterRole{}) {
		if role.Kind != "ClusterRole" {
			continue
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					granted = append(granted, verb+" "+resource)
				}
			}
		}
	}
	return granted
}

// usedVerbs returns what the lab's operator has asked for since the lab was started, whatever the namespace.
func usedVerbs() []string {
	GinkgoHelper()
	return verbsOf(operatorAgent)
}

// verbsOf returns what the user agents that begin so have asked for since the lab was started, whatever the namespace.
func verbsOf(agent string) []string {
	GinkgoHelper()
	var used []string
	for _, r := range requestsOf(agent, func(*testbed.Request) bool { return true }) {
		used = append(used, r.Kind())
	}
	slices.Sort(used)
	return slices.Compact(used)
}

// operatorAccount is the operator's account in manifests/base.
const operatorAccount = "system:serviceaccount:trainingjob-system:trainingjob-operator"

// The story makes the operator do the rare things; the common ones it does anyway.
var _ = Describe("The operator's rights", Serial, Label("lab", "since-1.37"), func() {
	It("are used, all of them, and suffice", func() {
		nodes := fakeNodes(2)
		foreignService("conflict")
		conflict := submit(pytorch("conflict", reporting(600, v1alpha1.StallNotify), workers(1)))
		conflict.becomes("it meets a foreign Service", func(v *view) bool { return v.isTrue(v1alpha1.ConditionStalled) })
		Expect(kube.Delete(here.ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: here.namespace, Name: "conflict"}})).To(Succeed())
		foreignPod("met-worker-0")
		met := submit(custom("met", workers(1)))
		met.becomes("it meets a foreign pod", func(v *view) bool { return v.isTrue(v1alpha1.ConditionStalled) })
		expiring := submit(pytorch("expiring", timeToLive(1), workers(1, preferring(nodes[0]))))
		moved := submit(custom("moved", master(preferring(nodes[1])), workers(1, off(nodes...))))
		expiring.runs(0, 0)
		moved.runs(0, 0)
		taint(nodes[1], corev1.TaintNodeOutOfService, corev1.TaintEffectNoExecute)
		moved.runs(0, 1)
		Expect(kube.Delete(here.ctx, moved.pod("worker-0"), client.GracePeriodSeconds(0))).To(Succeed())
		moved.runs(0, 2)
		remove(nodes[0])
		expiring.runs(1, 1)
		expiring.exits(0, "worker-0")
		expiring.isDeleted()
		submit(job("launched", v1alpha1.MPI, launcher(), workers(1))).runs(0, 0)
		gangsComeAndGo()

		strangers := auditLog(func(r *testbed.Request) bool { return r.User.Username != operatorAccount })
		Expect(strangers).To(BeEmpty(), "what the operator asks as somebody else, such as an administrator: start the lab with --operator-manifests test/lab/installation")
		granted, used := grantedVerbs(), usedVerbs()
		Expect(granted).To(ContainElements(used), "nothing is asked for that manifests/base and its components do not grant")
		granted = slices.DeleteFunc(granted, func(verb string) bool {
			return strings.HasPrefix(verb, "list ") || strings.HasPrefix(verb, "watch ") // its caches ask at the start, and one of them suffices
		})
		rare := []string{
			"update trainingjobs/finalizers", // asked by admission, where OwnerReferencesPermissionEnforcement is on
			"get trainingjobs",               // only when an operator has just started
			"patch events",                   // only for an Event that repeats
		}
		Expect(append(used, rare...)).To(ContainElements(granted), "nothing is granted that is never asked for")
	})
})

// gangsComeAndGo makes the operator meet a foreign pod group, and create, resize and delete its own.
func gangsComeAndGo() {
	GinkgoHelper()
	foreign := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: here.namespace, Name: "thinner-0"}}
	foreign.Spec.SchedulingPolicy.Basic = &schedulingv1beta1.BasicSchedulingPolicy{}
	Expect(kube.Create(here.ctx, foreign)).To(Succeed())
	thinner := submit(custom("thinner", gang(v1alpha1.GangNative), allWorkers, workers(2)))
	thinner.becomes("it meets a foreign group", func(v *view) bool { return v.isTrue(v1alpha1.ConditionStalled) })
	Expect(kube.Delete(here.ctx, foreign)).To(Succeed())
	thinner.runs(0, 0)
	thinner.exits(0, "worker-1")
	thinner.becomes("one has succeeded", func(v *view) bool { return v.job.Status.ReplicaStatuses[v1alpha1.Worker].Succeeded == 1 })
	thinner.exits(1, "worker-0")
	thinner.becomes("the other is replaced", func(v *view) bool { return v.job.Status.Restarts == 1 && v.job.Status.Ready == "1/2" })
	thinner.suspend()
	gangSchedulers[0].hasGroups(thinner)
}

// foreignPod makes somebody else's pod of that name.
func foreignPod(name string) {
	GinkgoHelper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: here.namespace, Name: name}}
	pod.Spec.Containers = []corev1.Container{{Name: "mine", Image: "example.test/mine:1"}}
	Expect(kube.Create(here.ctx, pod)).To(Succeed())
}

// foreignService makes somebody else's Service under the name that the job of that name needs.
func foreignService(job string) {
	GinkgoHelper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: here.namespace, Name: job}}
	service.Spec.ClusterIP = corev1.ClusterIPNone
	Expect(kube.Create(here.ctx, service)).To(Succeed())
}

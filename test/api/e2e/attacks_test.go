//go:build e2e

package e2e

import (
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/testbed"
)

// tenant returns a client of somebody who has Kubernetes' role edit in the spec's namespace, with which that of manifests/base is
// aggregated on a cluster that has both, and nothing elsewhere.
func tenant() client.Client {
	GinkgoHelper()
	return tenantCalled("tenant-" + here.namespace)
}

func tenantCalled(user string) client.Client {
	GinkgoHelper()
	edits := rbacv1.PolicyRule{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"trainingjobs"}, Verbs: []string{"*"}}
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: here.namespace, Name: "jobs"}, Rules: []rbacv1.PolicyRule{edits}}
	Expect(kube.Create(here.ctx, role)).To(Succeed())
	for kind, name := range map[string]string{"ClusterRole": "edit", "Role": "jobs"} {
		Expect(kube.Create(here.ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: here.namespace, Name: "tenant-" + name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		})).To(Succeed())
	}
	config, err := testbed.Config(os.Getenv("KUBECONFIG"), "trainingjob-e2e-tenant")
	Expect(err).NotTo(HaveOccurred())
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	attacker, err := client.New(config, client.Options{Scheme: testbed.Scheme})
	Expect(err).NotTo(HaveOccurred())
	Eventually(func() error {
		return attacker.List(here.ctx, &corev1.PodList{}, client.InNamespace(here.namespace))
	}).Should(Succeed(), "roles take a moment")
	return attacker
}

// The list of docs/security.md, as far as it takes a cluster and nothing else of the specs plays it.
var _ = Describe("A tenant", func() {
	It("writes no status: neither with a manifest nor with a patch", promise, func() {
		attacker := tenant()
		forged := pytorch("p", workers(1))
		forged.Namespace = here.namespace
		forged.Status = v1alpha1.TrainingJobStatus{Phase: v1alpha1.PhaseSucceeded, Restarts: 7}
		Expect(attacker.Create(here.ctx, forged)).To(Succeed())
		j := &submitted{name: forged.Name, generation: forged.Generation}
		v := j.runs(0, 0)
		v.is("the status is the operator's", v.job.Status.Restarts == 0 && v.job.Status.Phase == v1alpha1.PhaseRunning)
		verdict := client.RawPatch(types.MergePatchType, []byte(`{"status": {"phase": "Succeeded", "chargedRestarts": 99}}`))
		Expect(apierrors.IsForbidden(attacker.Status().Patch(here.ctx, v.job.DeepCopy(), verdict))).To(BeTrue(), "the status is patched")
		Expect(attacker.Patch(here.ctx, v.job.DeepCopy(), verdict)).To(Succeed(), "of a patch of the job the status is dropped")
		j.stays("the status is the operator's", func(v *view) bool {
			return v.job.Status.ChargedRestarts == 0 && v.job.Status.Phase == v1alpha1.PhaseRunning
		})
	})

	It("reaches no other namespace", func() {
		attacker := tenant()
		there, err := testbed.NewNamespace(here.ctx, kube, "e2e-victim-")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() {
			Expect(kube.Delete(here.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: there}})).To(Succeed())
		})
		elsewhere := pytorch("p", workers(1))
		elsewhere.Namespace = there
		Expect(apierrors.IsForbidden(attacker.Create(here.ctx, elsewhere))).To(BeTrue(), "a job is made elsewhere")
		// A template's namespace is not one of the pod's.
		smuggled := pytorch("p", workers(1))
		smuggled.Namespace = here.namespace
		worker := smuggled.Spec.ReplicaSpecs[v1alpha1.Worker]
		worker.Template.Namespace, worker.Template.Name = there, "smuggled"
		smuggled.Spec.ReplicaSpecs[v1alpha1.Worker] = worker
		Expect(attacker.Create(here.ctx, smuggled)).To(Succeed())
		j := &submitted{name: smuggled.Name, generation: smuggled.Generation}
		j.runs(0, 0)
		var pods corev1.PodList
		Expect(kube.List(here.ctx, &pods, client.InNamespace(there))).To(Succeed())
		Expect(pods.Items).To(BeEmpty())
	})

	It("forges a pod of a later life: the job says who is in its way, and goes on without", func() {
		attacker := tenant()
		j := submit(pytorch("p", workers(2)))
		v := j.runs(0, 0)
		yes := true
		forged := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: here.namespace, Name: "p-worker-0-a9r0", OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "TrainingJob", Name: j.name, UID: v.job.UID, Controller: &yes,
		}}}}
		forged.Labels = v.pod("worker-0").Labels
		forged.Spec.Containers = []corev1.Container{{Name: "mine", Image: "example.test/mine:1"}}
		here.forged = append(here.forged, forged.Name)
		Expect(attacker.Create(here.ctx, forged)).To(Succeed())
		j.becomes("it names the pod", func(v *view) bool {
			c := v.condition(v1alpha1.ConditionStalled)
			return c.Status == metav1.ConditionTrue && c.Reason == v1alpha1.ReasonNameConflict && strings.Contains(c.Message, forged.Name)
		})
		Expect(attacker.Delete(here.ctx, forged, client.GracePeriodSeconds(0))).To(Succeed())
		j.exits(137, "worker-1")
		j.runs(1, 1)
	})
})

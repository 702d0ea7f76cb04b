//go:build multikueue

package multikueue

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/testbed"
)

const (
	kueueNamespace = "kueue-system"
	gpu            = "nvidia.com/gpu"
	// queueName is the name of the LocalQueue and the ClusterQueue in each cluster.
	queueName = "training"
)

type fields = map[string]any

// place is one cluster: its lab and a client of it.
type place struct {
	client.WithWatch
	lab  *testbed.Lab
	name string
}

var manager, worker1, worker2 *place

func TestMultiKueue(t *testing.T) {
	RegisterFailHandler(Fail)
	log.SetLogger(GinkgoLogr)
	SetDefaultEventuallyTimeout(90 * time.Second) // three clusters share the machine
	EnforceDefaultTimeoutsWhenUsingContexts()
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	RunSpecs(t, "TrainingJobs and MultiKueue")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	manager, worker1, worker2 = newPlace("manager"), newPlace("worker1"), newPlace("worker2")
	for _, component := range []string{"role.yaml", "policy.yaml"} {
		manager.applies(ctx, "multikueue", component)
	}
	for _, worker := range []*place{worker1, worker2} {
		worker.applies(ctx, "multikueue-worker", "role.yaml")
		kubeconfig := worker.admitsTheManager(ctx)
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: kueueNamespace, Name: worker.name}, Data: map[string][]byte{"kubeconfig": kubeconfig}}
		Expect(manager.Create(ctx, secret)).To(Succeed())
		manager.makes(ctx, "MultiKueueCluster", worker.name, fields{"clusterSource": fields{"kubeConfig": fields{"locationType": "Secret", "location": worker.name}}})
		worker.hasQueue(ctx, 0, nil)
	}
	manager.makes(ctx, "MultiKueueConfig", "both", fields{"clusters": []any{worker1.name, worker2.name}})
	manager.makes(ctx, "AdmissionCheck", "multikueue", fields{"controllerName": "kueue.x-k8s.io/multikueue",
		"parameters": fields{"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "both"}})
	manager.hasQueue(ctx, 64, fields{"admissionChecks": []any{fields{"name": "multikueue"}}})
	for _, worker := range []*place{worker1, worker2} {
		manager.eventually(ctx, "MultiKueueCluster", worker.name, "Active")
	}
	manager.eventually(ctx, "AdmissionCheck", "multikueue", "Active")
	manager.eventually(ctx, "ClusterQueue", queueName, "Active")
	Eventually(ctx, func(ctx context.Context) string { // the API server takes a moment to see the policy and the queue
		probe := draft("probe")
		Expect(manager.Create(ctx, probe, client.DryRunAll)).To(Succeed())
		return probe.Spec.ManagedBy
	}).Should(Equal(v1alpha1.MultiKueue), "the policy of the queue's label")
})

// newPlace connects to the lab of that name in the folder LABS.
func newPlace(name string) *place {
	GinkgoHelper()
	labs := os.Getenv("LABS")
	Expect(labs).NotTo(BeEmpty(), "LABS names no folder of labs: run make test-multikueue")
	lab := &testbed.Lab{Binary: filepath.Join("..", "..", "..", "bin", "lab"), Dir: filepath.Join(labs, name)}
	kube, err := testbed.Connect(lab.Kubeconfig(), "trainingjob-multikueue-tests")
	Expect(err).NotTo(HaveOccurred())
	return &place{WithWatch: kube, lab: lab, name: name}
}

// applies applies a file of a component.
func (p *place) applies(ctx context.Context, component, file string) {
	GinkgoHelper()
	said, err := p.lab.Kubectl(ctx, "apply", "--filename", filepath.Join("..", "..", "..", "manifests", "components", component, file))
	Expect(err).NotTo(HaveOccurred(), said)
}

// admitsTheManager returns a kubeconfig with what the role of the component allows, and what Kueue asks for of the kinds of its own.
func (p *place) admitsTheManager(ctx context.Context) []byte {
	GinkgoHelper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: kueueNamespace, Name: "multikueue"}}
	Expect(p.Create(ctx, account)).To(Succeed())
	ofKueue := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "multikueue-own-kinds"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"", "batch"}, Resources: []string{"pods", "jobs"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"kubeflow.org"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch", "create", "delete"}},
	}}
	Expect(p.Create(ctx, ofKueue)).To(Succeed())
	for _, role := range []string{"trainingjob-multikueue-worker", ofKueue.Name} {
		Expect(p.Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: kueueNamespace, Name: account.Name}}})).To(Succeed())
	}
	token := &authenticationv1.TokenRequest{}
	Expect(p.SubResource("token").Create(ctx, account, token)).To(Succeed())
	config, err := clientcmd.LoadFromFile(p.lab.Kubeconfig())
	Expect(err).NotTo(HaveOccurred())
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	}
	Expect(clientcmdapi.FlattenConfig(config)).To(Succeed())
	written, err := clientcmd.Write(*config)
	Expect(err).NotTo(HaveOccurred())
	return written
}

// makes creates an object of Kueue.
func (p *place) makes(ctx context.Context, kind, name string, spec fields) {
	GinkgoHelper()
	object := kueueObject(kind, name)
	object.Object["spec"] = spec
	if kind == "LocalQueue" {
		object.SetNamespace(metav1.NamespaceDefault)
		object.SetLabels(map[string]string{"trainingjob.dev/multikueue": "true"})
	}
	Expect(p.Create(ctx, object)).To(Succeed(), "Kueue's %s", kind)
}

func kueueObject(kind, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: fields{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind}}
	object.SetName(name)
	return object
}

// hasQueue makes the queue, with that many GPUs.
func (p *place) hasQueue(ctx context.Context, gpus int64, checks fields) {
	GinkgoHelper()
	p.makes(ctx, "ResourceFlavor", queueName, fields{})
	spec := fields{"namespaceSelector": fields{}, "resourceGroups": quota(gpus)}
	if checks != nil {
		spec["admissionChecksStrategy"] = checks
	}
	p.makes(ctx, "ClusterQueue", queueName, spec)
	p.makes(ctx, "LocalQueue", queueName, fields{"clusterQueue": queueName})
}

func quota(gpus int64) []any {
	return []any{fields{"coveredResources": []any{gpu}, "flavors": []any{
		fields{"name": queueName, "resources": []any{fields{"name": gpu, "nominalQuota": gpus}}}}}}
}

// offers sets the quota of the cluster, and whether it evicts what runs.
func (p *place) offers(ctx context.Context, gpus int64, stopPolicy string) {
	GinkgoHelper()
	queue := kueueObject("ClusterQueue", queueName)
	Eventually(ctx, func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKeyFromObject(queue), queue); err != nil {
			return err
		}
		spec := queue.Object["spec"].(fields)
		spec["resourceGroups"], spec["stopPolicy"] = quota(gpus), stopPolicy
		return p.Update(ctx, queue)
	}).Should(Succeed())
}

// eventually waits until a condition of an object of Kueue is true.
func (p *place) eventually(ctx context.Context, kind, name, condition string) {
	GinkgoHelper()
	Eventually(ctx, func(ctx context.Context) any {
		object := kueueObject(kind, name)
		if err := p.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		return conditions
	}).Should(ContainElement(And(HaveKeyWithValue("type", condition), HaveKeyWithValue("status", "True"))), "%s %s in %s", kind, name, p.name)
}

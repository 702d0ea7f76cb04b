//go:build e2e

package api_test

import (
	"context"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

const policyName = "trainingjob-creator"

// policed returns a namespace in which the admission policy holds, and only there, under a name of its own.
func policed(t *testing.T) string {
	t.Helper()
	ns := namespace(t, nil)
	objects := rendered(t, admission)
	policy := find[admissionv1.ValidatingAdmissionPolicy](t, objects, "ValidatingAdmissionPolicy", policyName)
	binding := find[admissionv1.ValidatingAdmissionPolicyBinding](t, objects, "ValidatingAdmissionPolicyBinding", policyName)
	policy.Name, binding.Name, binding.Spec.PolicyName = ns, ns, ns
	binding.Spec.MatchResources = &admissionv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": ns}},
	}
	create(t, policy)
	create(t, binding)
	return ns
}

// allow gives user a right in namespace.
func allow(t *testing.T, namespace, user, name string, rule rbacv1.PolicyRule) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: name, Namespace: namespace}
	create(t, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}})
	create(t, &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	})
}

func TestThePolicyAsksForTheRightsThatThePodsNeed(t *testing.T) {
	const user = "alice"
	ns := policed(t)
	alice, err := connectAs(user)
	if err != nil {
		t.Fatal(err)
	}
	allow(t, ns, user, "jobs", rbacv1.PolicyRule{
		APIGroups: []string{"trainingjob.dev"}, Resources: []string{"trainingjobs"}, Verbs: []string{"create", "update", "patch", "get"},
	})
	asRobot := `spec: {replicaSpecs: {Worker: {template: {spec: {serviceAccountName: robot}}}}}`
	try := func(change string) func() error {
		return func() error { return alice.Create(t.Context(), job(t, ns, change), client.DryRunAll) }
	}

	eventually(t, "a job without the right to create pods", try(`{}`), "alice may not create pods in namespace "+ns+", so neither a TrainingJob: ask for a role with the verb create on pods")
	allow(t, ns, user, "pods", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create"}})
	eventually(t, "a job with the right to create pods", try(`{}`), "")
	eventually(t, "a job of another service account", try(asRobot), "alice may not use service account robot in namespace "+ns+": leave template.spec.serviceAccountName out")
	allow(t, ns, user, "robot", rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"robot"}, Verbs: []string{"use"},
	})
	eventually(t, "a job of a service account that may be used", try(asRobot), "")
}

func TestThePolicyLetsControllersChangeWhatMakesNoPods(t *testing.T) {
	const queue = "queue"
	ns := policed(t)
	controller, err := connectAs(queue)
	if err != nil {
		t.Fatal(err)
	}
	allow(t, ns, queue, "jobs", rbacv1.PolicyRule{
		APIGroups: []string{"trainingjob.dev"}, Resources: []string{"trainingjobs"}, Verbs: []string{"create", "update", "get"},
	})
	waiting := typed(t, job(t, ns, suspendedJob))
	create(t, waiting)
	eventually(t, "a job of the queue's own", func() error {
		return controller.Create(t.Context(), job(t, ns, `metadata: {name: other}`), client.DryRunAll)
	}, "queue may not create pods")

	resumed := waiting.DeepCopy()
	resumed.Spec.Suspend = ptr.To(false)
	expectRefusal(t, controller.Update(t.Context(), resumed, client.DryRunAll), "")
	changed := waiting.DeepCopy()
	worker := changed.Spec.ReplicaSpecs["Worker"]
	worker.Template.Spec.Containers[0].Image = "other"
	changed.Spec.ReplicaSpecs["Worker"] = worker
	expectRefusal(t, controller.Update(t.Context(), changed, client.DryRunAll), "queue may not create pods")
}

// Kueue's adapter is rendered from its own manifests, and may do there what they allow.
func TestThePolicyLetsKueuesAdapterStartAndSuspendJobs(t *testing.T) {
	const user, editor = "system:serviceaccount:trainingjob-system:" + adapterName, "editor"
	ns := policed(t)
	rights := rbacv1.PolicyRule{APIGroups: []string{"trainingjob.dev"}, Resources: []string{"trainingjobs"}, Verbs: []string{"create", "update", "get"}}
	allow(t, ns, user, "adapter", rights)
	allow(t, ns, editor, "editor", rights)
	adapter, err := connectAs(user)
	if err != nil {
		t.Fatal(err)
	}
	person, err := connectAs(editor)
	if err != nil {
		t.Fatal(err)
	}
	waiting := typed(t, job(t, ns, suspendedJob))
	create(t, waiting)
	running := typed(t, job(t, ns, `metadata: {name: running}`))
	create(t, running)
	eventually(t, "a job of the adapter's own", func() error {
		return adapter.Create(t.Context(), job(t, ns, `metadata: {name: other}`), client.DryRunAll)
	}, user+" may not create pods")

	cases := []struct {
		name    string
		job     *v1alpha1.TrainingJob
		suspend bool
	}{
		{"starting a job with a flavor's node selector", waiting, false},
		{"suspending a job and changing its node selector", running, true},
		{"changing a job that waits", waiting, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			changed := c.job.DeepCopy()
			changed.Spec.Suspend = ptr.To(c.suspend)
			worker := changed.Spec.ReplicaSpecs[v1alpha1.Worker]
			worker.Template.Spec.NodeSelector = map[string]string{"flavor": "gpu"}
			changed.Spec.ReplicaSpecs[v1alpha1.Worker] = worker
			expectRefusal(t, person.Update(t.Context(), changed.DeepCopy(), client.DryRunAll), "editor may not create pods")
			expectRefusal(t, adapter.Update(t.Context(), changed, client.DryRunAll), "")
		})
	}
}

// eventually waits for do to have the outcome that expectRefusal describes: policies and roles take a moment.
func eventually(t *testing.T, what string, do func() error, sentence string) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		last = do()
		return matches(last, sentence), nil
	})
	if err != nil {
		t.Log(what)
		expectRefusal(t, last, sentence)
	}
}

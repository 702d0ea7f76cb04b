//go:build e2e

package api_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// errNotYet is the answer of a server that has not read a policy yet.
var errNotYet = errors.New("not yet")

// adapterName is the name of Kueue's adapter: its Deployment, service account and main role.
const adapterName = "trainingjob-kueue-adapter"

// mutatingPolicies is the first Kubernetes that serves v1 of MutatingAdmissionPolicy.
const mutatingPolicies = "1.36"

func TestKueuesAdapterMayDoThisAndNothingElse(t *testing.T) {
	want := map[string]grants{
		"ClusterRole trainingjob-kueue-adapter": {
			"trainingjob.dev/trainingjobs":            {"list", "patch", "watch"},
			"trainingjob.dev/trainingjobs/finalizers": {"update"},
			"kueue.x-k8s.io/workloads":                {"create", "delete", "list", "patch", "update", "watch"},
			"kueue.x-k8s.io/workloads/status":         {"patch"},
			"kueue.x-k8s.io/resourceflavors":          {"list", "watch"},
			"kueue.x-k8s.io/workloadpriorityclasses":  {"list", "watch"},
			"scheduling.k8s.io/priorityclasses":       {"list", "watch"},
			"/namespaces":                             {"list", "watch"},
			"events.k8s.io/events":                    {"create", "patch"},
		},
		"ClusterRole trainingjob-metrics-auth":           onCallers,
		"Role trainingjob-kueue-adapter-leader-election": atHome(adapterName),
	}
	if diff := cmp.Diff(want, granted(t, adapterName, rendered(t, kueue))); diff != "" {
		t.Errorf("what the adapter may do (-want +got):\n%s", diff)
	}
}

// queued returns a namespace in which the policy of Kueue's adapter holds, and only there, under a name of its own.
func queued(t *testing.T) string {
	t.Helper()
	since(t, mutatingPolicies, "the policy that suspends jobs of a queue")
	const name = "trainingjob-queued"
	ns := namespace(t, nil)
	objects := rendered(t, kueue)
	policy := find[admissionv1.MutatingAdmissionPolicy](t, objects, "MutatingAdmissionPolicy", name)
	binding := find[admissionv1.MutatingAdmissionPolicyBinding](t, objects, "MutatingAdmissionPolicyBinding", name)
	policy.Name, binding.Name, binding.Spec.PolicyName = ns, ns, ns
	binding.Spec.MatchResources = &admissionv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": ns}},
	}
	create(t, policy)
	create(t, binding)
	return ns
}

func TestAJobOfAQueueIsCreatedSuspended(t *testing.T) {
	ns := queued(t)
	const ours, inQueue = `spec: {managedBy: null}`, `metadata: {labels: {kueue.x-k8s.io/queue-name: team}}`
	// created asks the API server what it would make of the good job with these changes.
	created := func(t *testing.T, changes ...string) bool {
		t.Helper()
		j := job(t, ns, changes...)
		if err := admin.Create(t.Context(), j, client.DryRunAll); err != nil {
			t.Fatal(err)
		}
		return typed(t, j).Spec.IsSuspended()
	}
	eventually(t, "the policy holds", func() error {
		if !created(t, ours, inQueue) {
			return errNotYet
		}
		return nil
	}, "")
	cases := []struct {
		name    string
		changes []string
		want    bool
	}{
		{"in a queue", []string{ours, inQueue}, true},
		{"in a queue, though its author says otherwise", []string{ours, inQueue, `spec: {suspend: false}`}, true},
		{"in a queue, and the operator's by name", []string{inQueue, `spec: {managedBy: trainingjob.dev/operator}`}, true},
		{"in a queue, and suspended by its author", []string{ours, inQueue, suspendedJob}, true},
		{"in no queue", []string{ours}, false},
		{"with other labels", []string{ours, `metadata: {labels: {team: a}}`}, false},
		{"with an empty queue name", []string{ours, `metadata: {labels: {kueue.x-k8s.io/queue-name: ""}}`}, false},
		{"in a queue, run by another controller", []string{inQueue}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := created(t, c.changes...); got != c.want {
				t.Errorf("suspended: %v, want %v", got, c.want)
			}
		})
	}
}

// A status that is carried is worth as much as a status that is written: users of a namespace do neither, whatever roles they have there.
func TestOnlyTheAdapterAndMultiKueueCarryAStatus(t *testing.T) {
	ns := namespace(t, nil)
	install(t, kueue, ns, &admissionv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": ns}},
	})
	const tenant, multikueue = "tenant", "multikueue"
	const adapter = "system:serviceaccount:trainingjob-system:" + adapterName
	all := rbacv1.PolicyRule{APIGroups: []string{v1alpha1.Group}, Resources: []string{"*"}, Verbs: []string{"*"}}
	as := map[string]client.Client{}
	for _, user := range []string{tenant, multikueue, adapter} {
		allow(t, ns, user, user, all)
		c, err := connectAs(user)
		if err != nil {
			t.Fatal(err)
		}
		as[user] = c
	}
	allowInCluster(t, ns, multikueue, rbacv1.PolicyRule{APIGroups: []string{v1alpha1.Group}, Resources: []string{"trainingjobs/status"}, Verbs: []string{"carry"}})

	const carried, other, refused = `metadata: {annotations: {trainingjob.dev/carried-status: "{}"}}`, `metadata: {labels: {team: a}}`, "Kueue's adapter alone writes the annotation"
	known := job(t, ns, carried)
	known.SetName("known")
	eventually(t, "MultiKueue's account has its right", func() error { return as[multikueue].Create(t.Context(), job(t, ns, carried), client.DryRunAll) }, "")
	create(t, known)
	eventually(t, "the policy holds", func() error { return as[tenant].Create(t.Context(), job(t, ns, carried), client.DryRunAll) }, refused)
	patch := func(user, text string) func() error {
		return func() error {
			return as[user].Patch(t.Context(), known.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(text)), client.DryRunAll)
		}
	}
	for _, c := range []struct {
		name string
		do   func() error
		want string
	}{
		{"a tenant creates a job without it", func() error { return as[tenant].Create(t.Context(), job(t, ns, other), client.DryRunAll) }, ""},
		{"a tenant labels a job that has it", patch(tenant, `{"metadata": {"labels": {"team": "a"}}}`), ""},
		{"a tenant changes it", patch(tenant, `{"metadata": {"annotations": {"trainingjob.dev/carried-status": "{\"restarts\": 1}"}}}`), refused},
		{"a tenant removes it", patch(tenant, `{"metadata": {"annotations": {"trainingjob.dev/carried-status": null}}}`), refused},
		{"the adapter changes it", patch(adapter, `{"metadata": {"annotations": {"trainingjob.dev/carried-status": "{\"restarts\": 1}"}}}`), ""},
	} {
		t.Run(c.name, func(t *testing.T) { expectRefusal(t, c.do(), c.want) })
	}
}

package docs_test

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// The rule that recovery.md shows, and that of manifests/tenant, let in the pods of the operator's Deployment from its namespace, and no other
// pods. The operator's own policy and that of the tenant select the pods that the operator creates.
func TestPoliciesLetInTheOperator(t *testing.T) {
	operator := parse[appsv1.Deployment](t, read(t, "../manifests/base/deployment.yaml")).Spec.Template.Labels
	namespace := parse[corev1.Namespace](t, read(t, "../manifests/base/namespace.yaml")).Name
	tenant := parse[networkingv1.NetworkPolicy](t, read(t, "../manifests/tenant/networkpolicy.yaml")).Spec
	own := parse[networkingv1.NetworkPolicy](t, read(t, "../manifests/base/networkpolicy.yaml")).Spec
	replica := build.Pod(builder.Job("j", builder.Workers(1)), state.Slot{Role: "Worker"}, state.Life{}, nil, nil).Labels
	shown := shownPolicy(t, "ingress:\n").Ingress
	for name, rules := range map[string][]networkingv1.NetworkPolicyIngressRule{"recovery.md": shown, "manifests/tenant": tenant.Ingress} {
		if !letsIn(t, rules, operator, namespace) {
			t.Errorf("%s does not let in pods with the labels %v of namespace %s", name, operator, namespace)
		}
		if letsIn(t, rules, operator, "team-b") || letsIn(t, rules, map[string]string{"app": "notebook"}, namespace) {
			t.Errorf("%s lets in other pods", name)
		}
	}
	if !selects(t, &own.PodSelector, operator) || !selects(t, &tenant.PodSelector, replica) || !selects(t, own.Egress[1].To[0].PodSelector, replica) {
		t.Error("the policies do not select the operator and the replicas")
	}
	out := shownPolicy(t, "egress:\n").Egress
	if len(out) != 1 || out[0].To[0].IPBlock == nil || out[0].Ports[0].Port.IntVal != 1024 || *out[0].Ports[0].EndPort != 65535 {
		t.Errorf("recovery.md shows %v as the rule for pages on nodes", out)
	}
}

// shownPolicy returns the block of recovery.md that begins so, as the spec of a policy.
func shownPolicy(t *testing.T, begin string) networkingv1.NetworkPolicySpec {
	t.Helper()
	blocks := yamlBlock.FindAllStringSubmatch(read(t, "recovery.md"), -1)
	at := slices.IndexFunc(blocks, func(block []string) bool { return strings.HasPrefix(block[1], begin) })
	if at < 0 {
		t.Fatalf("recovery.md has no block that begins with %q", begin)
	}
	return parse[networkingv1.NetworkPolicySpec](t, blocks[at][1])
}

func parse[T any](t *testing.T, text string) (parsed T) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), &parsed); err != nil {
		t.Fatal(err)
	}
	return parsed
}

// letsIn reports whether a rule with a selector of namespaces lets in the pod.
func letsIn(t *testing.T, rules []networkingv1.NetworkPolicyIngressRule, pod map[string]string, namespace string) bool {
	t.Helper()
	return slices.ContainsFunc(rules, func(rule networkingv1.NetworkPolicyIngressRule) bool {
		return slices.ContainsFunc(rule.From, func(peer networkingv1.NetworkPolicyPeer) bool {
			return peer.NamespaceSelector != nil && selects(t, peer.NamespaceSelector, map[string]string{corev1.LabelMetadataName: namespace}) && selects(t, peer.PodSelector, pod)
		})
	})
}

func selects(t *testing.T, by *metav1.LabelSelector, set map[string]string) bool {
	t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(by)
	if err != nil {
		t.Fatal(err)
	}
	return selector.Matches(labels.Set(set))
}

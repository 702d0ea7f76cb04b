package rights_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/trainingjob/operator/pkg/cli/rights"
)

// rules returns the rules of the roles in a file, by the name of the role that a user is given.
func rules(t *testing.T, into map[string][]rbacv1.PolicyRule, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var role rbacv1.ClusterRole
		if err := decoder.Decode(&role); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(role.Name, "system:aggregate-to-")
		into[name] = append(into[name], role.Rules...)
	}
}

func allows(rules []rbacv1.PolicyRule, r rights.Right) bool {
	resource := strings.TrimSuffix(r.Resource+"/"+r.Field, "/")
	return slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool {
		return slices.Contains(rule.APIGroups, r.Group) && slices.Contains(rule.Resources, resource) && slices.Contains(rule.Verbs, r.Verb)
	})
}

// The role that is named has the right, and no smaller one has it.
func TestTheRoleThatIsNamedHasTheRight(t *testing.T) {
	granted := map[string][]rbacv1.PolicyRule{}
	rules(t, granted, "testdata/kubernetes-1.37.1.yaml")
	rules(t, granted, "../../../manifests/base/user-roles.yaml")
	rules(t, granted, "../../../manifests/components/kubeflow-kinds/user-roles.yaml")
	granted["edit"] = append(granted["edit"], granted["view"]...)
	for _, r := range []rights.Right{
		{"get", "trainingjob.dev", "trainingjobs", ""}, {"list", "trainingjob.dev", "trainingjobs", ""}, {"watch", "trainingjob.dev", "trainingjobs", ""},
		{"create", "trainingjob.dev", "trainingjobs", ""}, {"patch", "trainingjob.dev", "trainingjobs", ""}, {"delete", "trainingjob.dev", "trainingjobs", ""},
		{"list", "", "pods", ""}, {"watch", "", "pods", ""}, {"get", "", "pods", "log"}, {"delete", "", "pods", ""},
		{"list", "", "events", ""}, {"create", "", "events", ""}, {"list", "", "resourcequotas", ""}, {"get", "", "services", ""},
		{"get", "coordination.k8s.io", "leases", ""}, {"list", "", "nodes", ""}, {"get", "", "secrets", ""},
		{"get", "kubeflow.org", "pytorchjobs", ""}, {"list", "kubeflow.org", "jaxjobs", ""}, {"patch", "kubeflow.org", "tfjobs", ""}, {"delete", "kubeflow.org", "paddlejobs", ""},
		{"list", "kubeflow.org", "mpijobs", ""},
	} {
		role := r.Role()
		if role != "" && !allows(granted[role], r) {
			t.Errorf("%s: role %s does not have it", r, role)
		}
		smaller := map[string][]string{"": {"view", "trainingjob-view", "trainingjob-edit"}, "edit": {"view"}, "trainingjob-edit": {"trainingjob-view", "view"}, "view": {"trainingjob-view", "trainingjob-edit"}, "kubeflow-training-edit": {"kubeflow-training-view", "edit"}, "kubeflow-training-view": {"view"}}
		for _, other := range smaller[role] {
			if allows(granted[other], r) {
				t.Errorf("%s: role %q is named, and %s has it", r, role, other)
			}
		}
	}
}

func TestRolesIncludeOneAnother(t *testing.T) {
	got := rights.Roles([]rights.Right{{"list", "trainingjob.dev", "trainingjobs", ""}, {"list", "", "pods", ""}, {"get", "", "pods", "log"}})
	if !slices.Equal(got, []string{"view"}) {
		t.Errorf("roles %v", got)
	}
}

// Answers of API servers 1.34 to 1.37.
func TestDenied(t *testing.T) {
	for answer, want := range map[string]string{
		`pods is forbidden: User "ann" cannot list resource "pods" in API group "" in the namespace "team-a"`:                                           "list pods in team-a",
		`trainingjobs.trainingjob.dev is forbidden: User "ann" cannot list resource "trainingjobs" in API group "trainingjob.dev" at the cluster scope`: "list trainingjobs.trainingjob.dev in ",
		`pods "m-worker-0" is forbidden: User "ann" cannot get resource "pods/log" in API group "" in the namespace "team-a"`:                           "get pods/log in team-a",
		`trainingjobs.trainingjob.dev "m" is forbidden: exceeded quota: jobs, requested: count/trainingjobs.trainingjob.dev=1, used: 1, limited: 1`:     "",
	} {
		right, namespace, ok := rights.Denied(answer)
		if got := right.String() + " in " + namespace; ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q, want %q", answer, got, want)
		}
	}
}

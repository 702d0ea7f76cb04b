//go:build e2e

package api_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// grants says by resource ("group/resource", with ":name" if the right is on that object only) which verbs are granted.
type grants map[string][]string

// What the operator may do with jobs and their children, where it watches: everywhere, or in one namespace.
var onJobs = grants{
	"trainingjob.dev/trainingjobs":            {"get", "list", "watch"},
	"trainingjob.dev/trainingjobs/status":     {"update"},
	"trainingjob.dev/trainingjobs/finalizers": {"update"},
	"/pods":                {"create", "delete", "get", "list", "patch", "watch"},
	"/services":            {"create", "get", "list", "watch"},
	"events.k8s.io/events": {"create", "patch"},
}

// What it may do with the pod groups of a gang scheduler that is there.
var onGroups = []string{"create", "delete", "get", "list", "patch", "watch"}

// What it may know of nodes. They belong to no namespace: an operator for some namespaces knows nothing of them.
var onNodes = grants{"/nodes": {"get", "list", "watch"}, "coordination.k8s.io/leases": {"list"}}

// onKubeflowJobs is what it may do with Kubeflow jobs and for them, besides.
func onKubeflowJobs() grants {
	all := grants{
		"trainingjob.dev/trainingjobs":         {"create", "delete", "patch"},
		"/services":                            {"delete"},
		"autoscaling/horizontalpodautoscalers": {"create", "delete", "get"},
	}
	for _, kind := range []string{"pytorchjobs", "tfjobs", "xgboostjobs", "paddlejobs", "jaxjobs"} {
		all["kubeflow.org/"+kind] = []string{"delete", "get", "list", "watch"}
		all["kubeflow.org/"+kind+"/status"] = []string{"update"}
		all["kubeflow.org/"+kind+"/finalizers"] = []string{"update"}
	}
	return all
}

// atHome is what a program may do in its own namespace: lead by the Lease of its name.
func atHome(name string) grants {
	return grants{
		"coordination.k8s.io/leases":         {"create"},
		"coordination.k8s.io/leases:" + name: {"get", "update"},
		"/events":                            {"create"},
	}
}

// What it may ask about those who read its metrics.
var onCallers = grants{
	"authentication.k8s.io/tokenreviews":        {"create"},
	"authorization.k8s.io/subjectaccessreviews": {"create"},
}

func TestTheOperatorMayDoThisAndNothingElse(t *testing.T) {
	for name, c := range map[string]struct {
		folder string
		want   map[string]grants // by kind and name of the role
	}{
		"in the whole cluster": {base, map[string]grants{
			"ClusterRole trainingjob-operator":     onJobs,
			"ClusterRole trainingjob-nodes":        onNodes,
			"ClusterRole trainingjob-metrics-auth": onCallers,
			"Role trainingjob-leader-election":     atHome(operatorName),
		}},
		"in some namespaces": {someNamespaces, map[string]grants{
			"ClusterRole trainingjob-operator." + ownNamespace: onJobs,
			"ClusterRole trainingjob-metrics-auth":             onCallers,
			"Role trainingjob-leader-election":                 atHome(operatorName),
		}},
		"with MPI jobs, beside the others":     {mpi, map[string]grants{"ClusterRole trainingjob-mpi": {"/secrets": {"create"}}}},
		"with a time to live, beside":          {ttl, map[string]grants{"ClusterRole trainingjob-ttl": {"trainingjob.dev/trainingjobs": {"delete"}}}},
		"with Kubernetes' own gangs, beside":   {nativeGang, map[string]grants{"ClusterRole trainingjob-native-gang": {"scheduling.k8s.io/podgroups": onGroups}}},
		"with Volcano, beside the others":      {volcano, map[string]grants{"ClusterRole trainingjob-volcano": {"scheduling.volcano.sh/podgroups": onGroups}}},
		"with coscheduling, beside the others": {coscheduling, map[string]grants{"ClusterRole trainingjob-coscheduling": {"scheduling.x-k8s.io/podgroups": onGroups}}},
		"with JobSets, beside": {jobSet, map[string]grants{"ClusterRole trainingjob-jobset": {
			"jobset.x-k8s.io/jobsets": {"delete", "get", "list", "watch"}, "jobset.x-k8s.io/jobsets/status": {"update"}, "jobset.x-k8s.io/jobsets/finalizers": {"update"},
			"trainingjob.dev/trainingjobs": {"create", "patch"},
			"/persistentvolumeclaims":      {"create"},
		}}},
		"with Kubeflow jobs, beside": {kubeflowKinds, map[string]grants{"ClusterRole trainingjob-kubeflow": onKubeflowJobs()}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, granted(t, operatorName, rendered(t, c.folder))); diff != "" {
				t.Errorf("what the operator may do (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoRoleHasAWildcardOrSeesSecretsAndConfigMaps(t *testing.T) {
	for _, folder := range []string{base, someNamespaces, kueue} {
		for _, object := range rendered(t, folder) {
			for _, rule := range rules(t, object) {
				for _, word := range slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs, rule.NonResourceURLs) {
					if slices.Contains([]string{"*", "secrets", "configmaps", "escalate", "bind", "impersonate"}, word) {
						t.Errorf("%s %s has %s", object.GetKind(), object.GetName(), word)
					}
				}
			}
		}
	}
}

func TestTheOperatorOfSomeNamespacesDoesWithoutNodes(t *testing.T) {
	args := find[appsv1.Deployment](t, rendered(t, someNamespaces), "Deployment", operatorName).Spec.Template.Spec.Containers[0].Args
	if !slices.Contains(args, "--watch-nodes=false") {
		t.Errorf("the operator runs with %q", args)
	}
}

func TestWhoeverEditsANamespaceMayEditAndScaleItsJobs(t *testing.T) {
	objects := rendered(t, base)
	edit := find[rbacv1.ClusterRole](t, objects, "ClusterRole", "trainingjob-edit")
	view := find[rbacv1.ClusterRole](t, objects, "ClusterRole", "trainingjob-view")
	for role, labels := range map[*rbacv1.ClusterRole][]string{
		edit: {"aggregate-to-edit", "aggregate-to-admin"},
		view: {"aggregate-to-view", "aggregate-to-edit", "aggregate-to-admin"},
	} {
		for _, label := range labels {
			if role.Labels["rbac.authorization.k8s.io/"+label] != "true" {
				t.Errorf("%s has no label %s", role.Name, label)
			}
		}
	}
	want := grants{
		"trainingjob.dev/trainingjobs":        {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
		"trainingjob.dev/trainingjobs/scale":  {"get", "patch", "update"},
		"trainingjob.dev/trainingjobs/status": {"get"},
	}
	if diff := cmp.Diff(want, flat(edit.Rules)); diff != "" {
		t.Errorf("trainingjob-edit (-want +got):\n%s", diff)
	}
	want = grants{
		"trainingjob.dev/trainingjobs":        {"get", "list", "watch"},
		"trainingjob.dev/trainingjobs/scale":  {"get"},
		"trainingjob.dev/trainingjobs/status": {"get"},
	}
	if diff := cmp.Diff(want, flat(view.Rules)); diff != "" {
		t.Errorf("trainingjob-view (-want +got):\n%s", diff)
	}
}

// granted follows every binding to its role; each must be of the service account.
func granted(t *testing.T, account string, objects []*unstructured.Unstructured) map[string]grants {
	t.Helper()
	all := map[string]grants{}
	for _, object := range objects {
		if kind := object.GetKind(); kind != "ClusterRoleBinding" && kind != "RoleBinding" {
			continue
		}
		// Both kinds have the same fields.
		binding := find[rbacv1.RoleBinding](t, []*unstructured.Unstructured{object}, object.GetKind(), object.GetName())
		for _, subject := range binding.Subjects {
			if subject.Name != account {
				t.Errorf("%s is bound to %s", binding.Name, subject.Name)
			}
		}
		role := find[rbacv1.ClusterRole](t, slices.Concat(objects, rendered(t, base)), binding.RoleRef.Kind, binding.RoleRef.Name)
		all[binding.RoleRef.Kind+" "+role.Name] = flat(role.Rules)
	}
	return all
}

// rules returns those of object, if it is a role.
func rules(t *testing.T, object *unstructured.Unstructured) []rbacv1.PolicyRule {
	t.Helper()
	if kind := object.GetKind(); kind != "ClusterRole" && kind != "Role" {
		return nil
	}
	return find[rbacv1.ClusterRole](t, []*unstructured.Unstructured{object}, object.GetKind(), object.GetName()).Rules
}

// flat returns what the rules grant together. A verb that is granted twice is there twice.
func flat(rules []rbacv1.PolicyRule) grants {
	flat := grants{}
	add := func(resource string, verbs []string) {
		all := slices.Concat(flat[resource], verbs) // what two rules grant is granted
		slices.Sort(all)
		flat[resource] = all
	}
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, name := range rule.ResourceNames {
					add(group+"/"+resource+":"+name, rule.Verbs)
				}
				if len(rule.ResourceNames) == 0 {
					add(group+"/"+resource, rule.Verbs)
				}
			}
		}
	}
	return flat
}

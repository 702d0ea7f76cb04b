// Package rights names the ClusterRole that holds a right: of those that Kubernetes brings for users, and of the project's own.
package rights

import (
	"regexp"
	"slices"
	"strings"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Right is a verb on a resource. Field is the subresource, such as log; empty for none.
type Right struct{ Verb, Group, Resource, Field string }

// String returns the right as a person writes it: "list pods", "get pods/log", "patch trainingjobs.trainingjob.dev".
func (r Right) String() string {
	text := strings.TrimSuffix(r.Resource+"/"+r.Field, "/")
	if r.Group != "" {
		text += "." + r.Group
	}
	return r.Verb + " " + text
}

// The roles, in the order in which a user should ask for them: each holds what kubectl tj needs of the resources below it, and no more than it must.
const (
	roleView    = "view"
	roleEdit    = "edit"
	roleJobView = "trainingjob-view"
	roleJobEdit = "trainingjob-edit"
	// Of manifests/components/kubeflow-kinds, under the names of Kubeflow's operator.
	roleKubeflowView = "kubeflow-training-view"
	roleKubeflowEdit = "kubeflow-training-edit"
	// Of Kueue. Its role for readers is part of view.
	roleWorkloadEdit = "kueue-workload-editor-role"
)

var reading = []string{"get", "list", "watch"}

// Role returns the smallest ClusterRole that has the right; empty if none of them has it, as with nodes and Secrets.
func (r Right) Role() string {
	reads := slices.Contains(reading, r.Verb)
	switch r.Group + "/" + strings.TrimSuffix(r.Resource+"/"+r.Field, "/") {
	case v1alpha1.Group + "/trainingjobs", v1alpha1.Group + "/trainingjobs/scale":
		if reads {
			return roleJobView
		}
		return roleJobEdit
	case "/pods", "/services", "/events", "events.k8s.io/events":
		if reads {
			return roleView
		}
		return roleEdit
	case "/pods/proxy":
		return roleEdit
	case "/pods/log", "/resourcequotas", "/namespaces":
		if reads {
			return roleView
		}
	case "kubeflow.org/pytorchjobs", "kubeflow.org/tfjobs", "kubeflow.org/xgboostjobs", "kubeflow.org/paddlejobs", "kubeflow.org/jaxjobs":
		if reads {
			return roleKubeflowView
		}
		return roleKubeflowEdit
	case "kueue.x-k8s.io/workloads":
		if reads {
			return roleView
		}
		return roleWorkloadEdit
	case "coordination.k8s.io/leases":
		return roleEdit
	}
	return ""
}

// Roles returns the roles that the rights need, each once. view and edit include the project's roles of that kind.
func Roles(all []Right) []string {
	var roles []string
	for _, r := range all {
		if role := r.Role(); role != "" && !slices.Contains(roles, role) {
			roles = append(roles, role)
		}
	}
	included := map[string][]string{roleJobView: {roleView, roleEdit, roleJobEdit}, roleJobEdit: {roleEdit}, roleView: {roleEdit}, roleKubeflowView: {roleKubeflowEdit}}
	named := slices.Clone(roles)
	return slices.DeleteFunc(roles, func(role string) bool {
		return slices.ContainsFunc(included[role], func(more string) bool { return slices.Contains(named, more) })
	})
}

// denied matches the answer of the API server's RBAC authorizer.
var denied = regexp.MustCompile(`cannot ([a-z]+) resource "([^"/]+)/?([^"]*)" in API group "([^"]*)"(?: in the namespace "([^"]+)"| at the cluster scope)`)

// Denied returns the right whose lack an answer of the API server reports, and the namespace; ok is false for any other answer.
func Denied(answer string) (right Right, namespace string, ok bool) {
	found := denied.FindStringSubmatch(answer)
	if found == nil {
		return Right{}, "", false
	}
	return Right{Verb: found[1], Resource: found[2], Field: found[3], Group: found[4]}, found[5], true
}

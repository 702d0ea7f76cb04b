//go:build e2e

package api_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
)

// harmless says of the policies that leave a subresource out why that opens no way around them.
var harmless = map[string]map[string]string{
	"trainingjob-creator": {
		"trainingjobs/scale":  "trainingjob-scaler asks about it",
		"trainingjobs/status": "users may only read it, and it makes no pods",
		"pytorchjobs/scale":   "trainingjob-scaler asks about it", "paddlejobs/scale": "trainingjob-scaler asks about it", "jaxjobs/scale": "trainingjob-scaler asks about it",
		"pytorchjobs/status": noSpec, "tfjobs/status": noSpec, "xgboostjobs/status": noSpec, "paddlejobs/status": noSpec, "jaxjobs/status": noSpec,
		"jobsets/status": noSpec,
	},
	"trainingjob-kubeflow-kinds": {
		"pytorchjobs/scale": workersOnly, "paddlejobs/scale": workersOnly, "jaxjobs/scale": workersOnly,
		"pytorchjobs/status": noSpec, "tfjobs/status": noSpec, "xgboostjobs/status": noSpec, "paddlejobs/status": noSpec, "jaxjobs/status": noSpec,
	},
	"trainingjob-kubeflow-mpijobs": {"mpijobs/scale": "none is created", "mpijobs/status": "none is created"},
	"trainingjob-scaler": {
		"trainingjobs/status": "it makes no pods", "pytorchjobs/status": noSpec, "paddlejobs/status": noSpec, "jaxjobs/status": noSpec,
	},
	"trainingjob-queued":         {"trainingjobs/scale": workersOnly, "trainingjobs/status": noSpec},
	"trainingjob-queued-size":    {"trainingjobs/scale": "the adapter suspends the job a moment later, as docs/kueue.md says", "trainingjobs/status": noSpec},
	"trainingjob-queued-orphans": {"trainingjobs/scale": workersOnly, "trainingjobs/status": noSpec},
	"trainingjob-carried-status": {"trainingjobs/scale": workersOnly, "trainingjobs/status": noSpec},
	"trainingjob-default-queue":  {"trainingjobs/scale": "none is created", "trainingjobs/status": "none is created"},
	"trainingjob-confine-pods":   {"pods/*": "trainingjob-confine-children refuses all subresources"},
}

const (
	workersOnly = "it changes the number of workers alone, which the TrainingJob checks"
	noSpec      = "it has no spec and no metadata"
)

// A policy on a kind does not hold for its subresources. Discovery lists them, so that a new one in the CRD or in Kubernetes fails here.
func TestEveryPolicyMindsEverySubresource(t *testing.T) {
	withKubeflowKinds(t)
	withJobSets(t)
	served := subresources(t)
	policies := 0
	for _, folder := range []string{admission, confine, kueue, kubeflowKinds} {
		for _, object := range rendered(t, folder) {
			if !strings.HasSuffix(object.GetKind(), "AdmissionPolicy") {
				continue
			}
			policies++
			matched := matchedBy(t, object)
			for _, resource := range matched {
				base, _, _ := strings.Cut(resource, "/")
				for _, sub := range served[base] {
					excused := harmless[object.GetName()]
					if !slices.Contains(matched, base+"/*") && !slices.Contains(matched, sub) && excused[sub] == "" && excused[base+"/*"] == "" {
						t.Errorf("%s does not match %s: test here that it opens no way around the policy", object.GetName(), sub)
					}
				}
			}
		}
	}
	if policies != 16 {
		t.Errorf("%d policies were looked at", policies)
	}
}

// subresources returns by resource the subresources that the API server lists: pods/exec.
func subresources(t *testing.T) map[string][]string {
	t.Helper()
	server, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := server.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	served := map[string][]string{}
	for _, list := range lists {
		for i := range list.APIResources {
			name := list.APIResources[i].Name
			if base, _, isSub := strings.Cut(name, "/"); isSub {
				served[base] = append(served[base], name)
			}
		}
	}
	if !slices.Contains(served["trainingjobs"], "trainingjobs/scale") || !slices.Contains(served["pods"], "pods/exec") {
		t.Fatalf("the API server lists %v", served)
	}
	return served
}

// matchedBy returns the resources in the rules of a policy of either kind.
func matchedBy(t *testing.T, policy *unstructured.Unstructured) []string {
	t.Helper()
	rules, _, err := unstructured.NestedSlice(policy.Object, "spec", "matchConstraints", "resourceRules")
	if err != nil || len(rules) == 0 {
		t.Fatalf("%s has no rules: %v", policy.GetName(), err)
	}
	var matched []string
	for _, rule := range rules {
		resources, _, err := unstructured.NestedStringSlice(rule.(map[string]any), "resources")
		if err != nil {
			t.Fatal(err)
		}
		matched = append(matched, resources...)
	}
	return matched
}

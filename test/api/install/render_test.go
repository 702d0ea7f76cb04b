//go:build install

package install_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// byName returns the objects by kind, namespace and name. There must not be two of one name. What helm alone has or lacks is left out: the
// Namespace, which helm install --create-namespace makes, and the annotation that keeps the CRD.
func byName(t *testing.T, objects []*unstructured.Unstructured) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, object := range objects {
		key := strings.Join([]string{object.GetKind(), object.GetNamespace(), object.GetName()}, " ")
		if all[key] != nil {
			t.Errorf("there are two of %s", key)
		}
		if object.GetKind() == "Namespace" {
			continue
		}
		if object.GetKind() == "CustomResourceDefinition" {
			unstructured.RemoveNestedField(object.Object, "metadata", "annotations", "helm.sh/resource-policy")
		}
		// Both writers of YAML and their readers know one kind of number.
		text, err := json.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		var plain map[string]any
		if err := json.Unmarshal(text, &plain); err != nil {
			t.Fatal(err)
		}
		all[key] = plain
	}
	return all
}

func TestTheChartInstallsWhatKustomizeInstalls(t *testing.T) {
	everything := []string{"mpi", "ttl", "native-gang", "volcano", "coscheduling", "confine", "admission", "kueue", "multikueue", "multikueue-worker",
		"kubeflow", "kubeflow-kinds", "jobset"}
	for name, c := range map[string]struct {
		resource, namespace string
		components, values  []string
		objects             int // at least
	}{
		"the base, by default": {"base", "trainingjob-system", nil, nil, 17},
		"with every add-on": {"base", "trainingjob-system", everything,
			[]string{"mpi.enabled=true", "ttl.enabled=true", "gangs.native=true", "gangs.volcano=true", "gangs.coscheduling=true",
				"confine.enabled=true", "admission.enabled=true", "kueue.enabled=true", "kueue.multiKueue.manager=true",
				"kueue.multiKueue.worker=true", "clusterRoles.kubeflow=true", "kubeflow.enabled=true", "jobset.enabled=true"}, 70},
		"some namespaces": {"overlays/namespaces", "trainingjob-training", nil, []string{"operator.flags.namespaces={team-a,team-b}"}, 16},
	} {
		t.Run(name, func(t *testing.T) {
			_, objects := kustomized(t, c.resource, c.components...)
			args := slices.Clone(registry)
			for _, value := range c.values {
				args = append(args, "--set", value)
			}
			want, got := byName(t, objects), byName(t, templated(t, c.namespace, args...))
			if len(want) < c.objects {
				t.Errorf("kustomize makes %d objects, want at least %d", len(want), c.objects)
			}
			if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
				t.Errorf("objects (-kustomize +chart):\n%s", diff)
			}
			for key := range want {
				if diff := cmp.Diff(want[key], got[key]); diff != "" && got[key] != nil {
					t.Errorf("%s (-kustomize +chart):\n%s", key, diff)
				}
			}
		})
	}
}

func TestTheChartCanLeaveThingsOut(t *testing.T) {
	for kind, value := range map[string][]string{
		"CustomResourceDefinition": {"--set", "crds.enabled=false"},
		"NetworkPolicy":            {"--set", "networkPolicy.enabled=false"},
		"PodDisruptionBudget":      {"--set", "podDisruptionBudget.enabled=false"},
		"Service":                  {"--set-string", "operator.flags.metrics-bind-address=0"},
	} {
		isOfKind := func(o *unstructured.Unstructured) bool { return o.GetKind() == kind }
		if !slices.ContainsFunc(templated(t, "n", registry...), isOfKind) {
			t.Errorf("by default there is no %s", kind)
		}
		if slices.ContainsFunc(templated(t, "n", append(slices.Clone(registry), value...)...), isOfKind) {
			t.Errorf("with %s there is a %s", value[1], kind)
		}
	}
}

// The operator's own --help is what says which flags there are: test/api/chart compares them with the schema.
func TestFlagsBecomeArguments(t *testing.T) {
	values := `{"operator": {"flags": {"leader-elect": false, "node-lost-after": "30s", "concurrent-jobs": 100, "kube-api-qps": 1000000,
		"lost-node-taints": ["a", "b"], "log-format": "text", "health-probe-bind-address": null}}}`
	file := t.TempDir() + "/values.json"
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, object := range templated(t, "n", append(slices.Clone(registry), "--values", file)...) {
		if object.GetKind() != "Deployment" {
			continue
		}
		containers, _, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
		want := []string{"--concurrent-jobs=100", "--kube-api-qps=1000000", "--leader-elect=false", "--log-format=text", "--lost-node-taints=a,b",
			"--metrics-bind-address=:8443", "--node-lost-after=30s"}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("error %v, arguments (-want +got):\n%s", err, diff)
		}
		return
	}
	t.Error("there is no Deployment")
}

func TestWrongValuesAreRefusedWithASentence(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no registry":               {nil, "image.registry is empty, and no registry is the project's own: write where the image operator is"},
		"a flag that is none":       {append(slices.Clone(registry), "--set", "operator.flags.frobnicate=true"), "frobnicate"},
		"a time without unit":       {append(slices.Clone(registry), "--set-string", "operator.flags.node-lost-after=15"), "node-lost-after"},
		"a value that is none":      {append(slices.Clone(registry), "--set", "replicas=3"), "replicas"},
		"a kind that is not served": {append(slices.Clone(registry), "--set", "kubeflow.kinds={MPIJob}"), "kinds"},
		"other clusters, no Kueue":  {append(slices.Clone(registry), "--set", "kueue.multiKueue.worker=true"), "set kueue.enabled=true"},
		"a digest that is a tag":    {append(slices.Clone(registry), "--set", "image.digest=v1"), "digest"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := execute(t.Context(), "", helm, append([]string{"template", "trainingjob", chart}, c.args...)...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("helm says %v, want %q", err, c.want)
			}
		})
	}
}

func TestTheChartIsWithoutComplaint(t *testing.T) {
	said := must(t, "", helm, append([]string{"lint", "--strict", chart}, registry...)...)
	if !strings.Contains(said, "0 chart(s) failed") {
		t.Errorf("helm lint says\n%s", said)
	}
}

package convert_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/trainingjob/operator/pkg/kubeflow/convert"
	"github.com/trainingjob/operator/test/others/kubeflow"
)

// crds are those of the kinds that are converted, with the roles that a small job needs.
var crds = []struct {
	module              kubeflow.Module
	file, version, kind string
	specs               string
	roles               []string
}{
	{kubeflow.TrainingOperator, folder + "tfjobs.yaml", "v1", "TFJob", "tfReplicaSpecs", []string{"Worker", "PS"}},
	{kubeflow.TrainingOperator, folder + "pytorchjobs.yaml", "v1", "PyTorchJob", "pytorchReplicaSpecs", []string{"Worker"}},
	{kubeflow.TrainingOperator, folder + "jaxjobs.yaml", "v1", "JAXJob", "jaxReplicaSpecs", []string{"Worker"}},
	{kubeflow.TrainingOperator, folder + "xgboostjobs.yaml", "v1", "XGBoostJob", "xgbReplicaSpecs", []string{"Worker", "Master"}},
	{kubeflow.TrainingOperator, folder + "paddlejobs.yaml", "v1", "PaddleJob", "paddleReplicaSpecs", []string{"Worker"}},
	{kubeflow.TrainingOperator, folder + "mpijobs.yaml", "v1", "MPIJob", "mpiReplicaSpecs", []string{"Worker", "Launcher"}},
	{kubeflow.MPIOperator, "manifests/base/kubeflow.org_mpijobs.yaml", "v2beta1", "MPIJob", "mpiReplicaSpecs", []string{"Worker", "Launcher"}},
}

const folder = "manifests/base/crds/kubeflow.org_"

// Each field that the CRDs of the source have, set alone in a small job, shows: the TrainingJob is another one than without it, or
// a note has its path. The CRDs say what fields there are, and nobody here says which are converted.
func TestNoFieldIsLostInSilence(t *testing.T) {
	for _, c := range crds {
		t.Run(c.kind+" "+c.version, func(t *testing.T) {
			t.Parallel()
			whole, err := c.module.Schema(t.Context(), c.file, c.version)
			if err != nil {
				t.Fatal(err)
			}
			leaves := leavesOf(property(whole, "spec"), []string{"spec"})
			if len(leaves) < 600 {
				t.Fatalf("the CRD has %d fields, want at least 600: is the search wrong?", len(leaves))
			}
			small := func() map[string]any { return smallJob(c.kind, c.version, c.specs, c.roles) }
			for _, leaf := range leaves {
				shows(t, small, leaf)
			}
		})
	}
}

// smallJob returns a job with roles of one container each.
func smallJob(kind, version, specs string, roles []string) map[string]any {
	replicas := map[string]any{}
	for _, role := range roles {
		container := map[string]any{"name": "main", "image": "image"}
		replicas[role] = map[string]any{"replicas": int64(1), "template": map[string]any{"spec": map[string]any{"containers": []any{container}}}}
	}
	return map[string]any{"apiVersion": "kubeflow.org/" + version, "kind": kind, "metadata": map[string]any{"name": "j"}, "spec": map[string]any{specs: replicas}}
}

// leaf is a field that holds no others, with a value of its type.
type leaf struct {
	path  []string
	value any
}

// leavesOf returns the leaves of a schema. A map has the key Worker, as those of roles do, and a list one item.
func leavesOf(schema map[string]any, path []string) []leaf {
	at := func(name string) []string { return append(slices.Clone(path), name) }
	if properties, found := schema["properties"].(map[string]any); found {
		var leaves []leaf
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			leaves = append(leaves, leavesOf(properties[name].(map[string]any), at(name))...)
		}
		return leaves
	}
	if items, found := schema["items"].(map[string]any); found {
		return leavesOf(items, at("[0]"))
	}
	if values, found := schema["additionalProperties"].(map[string]any); found {
		return leavesOf(values, at("Worker"))
	}
	return []leaf{{path, sample(path, schema)}}
}

func property(schema map[string]any, name string) map[string]any {
	return schema["properties"].(map[string]any)[name].(map[string]any)
}

// samples are values of fields that do not take any of their type. None is a default.
var samples = map[string]any{
	"restartPolicy": "ExitCode", "cleanPodPolicy": "All", "successPolicy": "AllWorkers", "nprocPerNode": "4", "rdzvHost": "etcd.example",
	"rdzvBackend": "etcd", "launcherCreationPolicy": "WaitForWorkersReady", "mpiImplementation": "Intel", "fieldPath": "metadata.name",
}

func sample(path []string, schema map[string]any) any {
	if value, found := samples[path[len(path)-1]]; found {
		return value
	}
	if schema["x-kubernetes-int-or-string"] == true {
		return "7"
	}
	switch schema["type"] {
	case "integer":
		return int64(7)
	case "boolean":
		return true
	case "object":
		return map[string]any{}
	}
	if schema["format"] == "date-time" {
		return "2026-01-02T03:04:05Z"
	}
	return "sample"
}

// companions are fields that another one means nothing without.
var companions = map[string]leaf{
	"rdzvBackend": {[]string{"spec", "elasticPolicy", "rdzvHost"}, "etcd.example"},
	"minReplicas": {[]string{"spec", "elasticPolicy", "maxReplicas"}, int64(9)},
	"key":         {[]string{"spec", "elasticPolicy", "rdzvConf", "[0]", "value"}, "v"},
	"value":       {[]string{"spec", "elasticPolicy", "rdzvConf", "[0]", "key"}, "k"},
}

// shows reports an error if the field makes no difference and has no note.
func shows(t *testing.T, small func() map[string]any, own leaf) {
	t.Helper()
	without, with := small(), small()
	if companion, needed := companions[own.path[len(own.path)-1]]; needed && own.path[1] == "elasticPolicy" {
		set(without, companion)
		set(with, companion)
	}
	around := own.path[:len(own.path)-1]
	if own.path[len(around)] == "[0]" {
		around = around[:len(around)-1]
	}
	set(without, leaf{around, nil})
	set(with, own)
	path := strings.ReplaceAll(strings.Join(own.path, "."), ".[0]", "[0]")
	before, _, err := convert.Job(without)
	if err != nil {
		t.Fatalf("without %s: %v", path, err)
	}
	after, report, err := convert.Job(with)
	if err != nil {
		t.Errorf("%s = %v: %v", path, own.value, err)
		return
	}
	noted := slices.ContainsFunc(report.Notes, func(n convert.Note) bool { return n.Value != "" && isWithin(path, n.Path) })
	if cmp.Equal(before, after) && !noted {
		t.Errorf("%s = %v is lost in silence", path, own.value)
	}
}

// isWithin reports whether a path is another one or below it.
func isWithin(path, other string) bool {
	rest, found := strings.CutPrefix(path, other)
	return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// set writes a leaf into an object, with what is between. One without a value is an object, unless there is one.
func set(object map[string]any, own leaf) {
	var into func(at any, path []string) any
	into = func(at any, path []string) any {
		switch {
		case len(path) > 0:
		case own.value != nil:
			return own.value
		case at == nil:
			return map[string]any{}
		default:
			return at
		}
		if path[0] == "[0]" {
			list, _ := at.([]any)
			if len(list) == 0 {
				list = []any{nil}
			}
			list[0] = into(list[0], path[1:])
			return list
		}
		inner, isObject := at.(map[string]any)
		if !isObject {
			inner = map[string]any{}
		}
		inner[path[0]] = into(inner[path[0]], path[1:])
		return inner
	}
	into(object, own.path)
}

// The same for whole jobs as they come from a cluster, and for names that nobody knows.
func TestWhatIsNoFieldIsNoted(t *testing.T) {
	job := smallJob("PyTorchJob", "v1", "pytorchReplicaSpecs", []string{"Worker"})
	for _, own := range []leaf{
		{[]string{"status"}, map[string]any{"conditions": []any{map[string]any{"type": "Running"}}}},
		{[]string{"extra"}, "x"},
		{[]string{"metadata", "uid"}, "u-1"},
		{[]string{"metadata", "finalizers"}, []any{"example.com/keep"}},
		{[]string{"metadata", "ownerReferences"}, []any{map[string]any{"kind": "Experiment"}}},
		{[]string{"metadata", "anotations"}, map[string]any{"a": "b"}},
		{[]string{"spec", "backoffLimit"}, int64(3)},
		{[]string{"spec", "runPolicy", "backOffLimit"}, int64(3)},
		{[]string{"spec", "runPolicy", "schedulingPolicy", "minMember"}, int64(3)},
		{[]string{"spec", "elasticPolicy", "min"}, int64(3)},
		{[]string{"spec", "pytorchReplicaSpecs", "Worker", "scale"}, int64(3)},
		{[]string{"spec", "pytorchReplicaSpecs", "Worker", "template", "kind"}, "Pod"},
		{[]string{"spec", "pytorchReplicaSpecs", "Worker", "template", "metadata", "name"}, "n"},
		{[]string{"spec", "pytorchReplicaSpecs", "Worker", "template", "spec", "containers", "[0]", "comand"}, []any{"x"}},
	} {
		with := runtime.DeepCopyJSON(job)
		set(with, own)
		_, report, err := convert.Job(with)
		if err != nil {
			t.Fatal(err)
		}
		path := strings.ReplaceAll(strings.Join(own.path, "."), ".[0]", "[0]")
		i := slices.IndexFunc(report.Notes, func(n convert.Note) bool { return n.Path == path })
		if i < 0 {
			t.Errorf("%s has no note: %v", path, report)
			continue
		}
		if n := report.Notes[i]; n.Effect != convert.Dropped || n.Value == "" || n.Object != "PyTorchJob j" || len(n.Advice) < 20 {
			t.Errorf("%s has the note %s", path, fmt.Sprintf("%+v", n))
		}
	}
}

package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

const jaxJob = `apiVersion: kubeflow.org/v1
kind: JAXJob
metadata: {name: spmd, namespace: team-a}
spec: {runPolicy: {backOffLimit: 3}, jaxReplicaSpecs: {Worker: {template: {spec: {containers: [{name: jax, image: i}]}}}}}
`

// converted runs convert with the arguments, on a cluster that has a JAXJob spmd.
func converted(t *testing.T, in string, args ...string) (status int, out, errOut string) {
	t.Helper()
	job := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "kubeflow.org/v1", "kind": "JAXJob",
		"metadata": map[string]any{"name": "spmd", "namespace": "team-a"},
		"spec": map[string]any{"jaxReplicaSpecs": map[string]any{"Worker": map[string]any{"template": map[string]any{
			"spec": map[string]any{"containers": []any{map[string]any{"name": "jax", "image": "i"}}}}}}}}}
	gvk := schema.GroupVersionKind{Group: "kubeflow.org", Version: "v1", Kind: "JAXJob"}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(gvk, meta.RESTScopeNamespace)
	kube := fake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithRESTMapper(mapper).WithObjects(job).Build()
	var stdout, stderr bytes.Buffer
	tool := &tool{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(in), Out: &stdout, ErrOut: &stderr},
		flags:     genericclioptions.NewConfigFlags(true),
		connect:   func() (*connection, error) { return &connection{kube: kube, namespace: "team-a"}, nil },
	}
	status = tool.run(t.Context(), append([]string{"convert"}, args...))
	return status, stdout.String(), stderr.String()
}

func TestConvertWritesJobsAndReport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(file, []byte(jaxJob), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		in     string
		args   []string
		jobs   int
		errOut string
	}{
		"a file":                     {"", []string{"-f", file}, 1, "backOffLimit: 3"},
		"the standard input":         {jaxJob, []string{"-f", "-"}, 1, "1 converted"},
		"a file and the cluster":     {"", []string{"-f", file, "--from-cluster", "jaxjob/spmd"}, 2, "2 converted"},
		"a plural, and a capital":    {"", []string{"--from-cluster", "JAXJobs/spmd"}, 1, "1 converted"},
		"a report as JSON":           {jaxJob, []string{"-f", "-", "--report=json"}, 1, `"path":"spec.runPolicy.backOffLimit"`},
		"no report, as it was asked": {jaxJob, []string{"-f", "-", "--report=none"}, 1, ""},
	} {
		status, out, errOut := converted(t, c.in, c.args...)
		if status != 0 || strings.Count(out, "kind: TrainingJob") != c.jobs || strings.Count(out, "---") != c.jobs-1 {
			t.Errorf("%s: status %d, written:\n%s\n%s", name, status, out, errOut)
		}
		if !strings.Contains(errOut, c.errOut) || c.errOut == "" && errOut != "" {
			t.Errorf("%s: reported %q, want %q", name, errOut, c.errOut)
		}
	}
}

func TestConvertRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		args []string
		want string
	}{
		"nothing to convert": {"", nil, "Give a file with -f FILE, or a job of the cluster with --from-cluster KIND/NAME"},
		"a job of Trainer v2": {"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: m}\n", []string{"-f", "-"},
			"TrainJob m of trainer.kubeflow.org/v1alpha1 is not read: convert reads TFJob, PyTorchJob, JAXJob, XGBoostJob, PaddleJob and MPIJob of kubeflow.org/v1"},
		"a job of Volcano":   {"apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: m}\n", []string{"-f", "-"}, "Job m of batch.volcano.sh/v1alpha1 is not read"},
		"no such file":       {"", []string{"-f", "/nowhere/job.yaml"}, "/nowhere/job.yaml: no such file or directory"},
		"a role of another":  {strings.Replace(jaxJob, "Worker", "Master", 1), []string{"-f", "-"}, "standard input: document 1: JAXJob team-a/spmd: spec.jaxReplicaSpecs.Master is no role of JAXJob: write Worker"},
		"no kind":            {"", []string{"--from-cluster", "spmd"}, "write KIND/NAME, for example pytorchjob/mnist"},
		"a kind that is not": {"", []string{"--from-cluster", "tfjob/spmd"}, "the cluster has no kind tfjob of kubeflow.org"},
		"a job that is not":  {"", []string{"--from-cluster", "jaxjob/gone"}, "reading jaxjob/gone in namespace team-a"},
		"a report in Latin":  {jaxJob, []string{"-f", "-", "--report=latin"}, "--report=latin: write text, json or none"},
	} {
		status, out, errOut := converted(t, c.in, c.args...)
		if status != 1 || out != "" || !strings.Contains(errOut, c.want) {
			t.Errorf("%s: status %d, written %q, said %q, want %q", name, status, out, errOut, c.want)
		}
	}
}

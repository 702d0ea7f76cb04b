//go:build e2e

package api_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

const crdFile = "../../manifests/crd/trainingjob.dev_trainingjobs.yaml"

// maxCRD leaves room for what later versions add: kubectl apply stores the whole in annotations, 262,144 bytes at most.
const maxCRD = 200 * 1024

func readCRD(t *testing.T) (*apiextensions.CustomResourceDefinition, int) {
	t.Helper()
	text, err := os.ReadFile(crdFile)
	if err != nil {
		t.Fatal(err)
	}
	compact, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	crd := new(apiextensions.CustomResourceDefinition)
	if err := json.Unmarshal(compact, crd); err != nil {
		t.Fatal(err)
	}
	return crd, len(compact)
}

func TestTheCRDIsSmallEnoughForPlainKubectlApply(t *testing.T) {
	_, size := readCRD(t)
	t.Logf("the CRD's compact JSON has %d bytes", size)
	if size > maxCRD {
		t.Errorf("the CRD's compact JSON has %d bytes, more than %d", size, maxCRD)
	}
	kubectl(t, "apply", "-f", crdFile)
	if out := kubectl(t, "apply", "-f", crdFile); !strings.Contains(out, "unchanged") {
		t.Errorf("the second kubectl apply said %q, want unchanged", out)
	}
	stored := kubectl(t, "get", "crd", "trainingjobs.trainingjob.dev", "-o", `jsonpath={.metadata.annotations.kubectl\.kubernetes\.io/last-applied-configuration}`)
	if len(stored) < size/2 {
		t.Errorf("kubectl apply stored %d bytes of %d", len(stored), size)
	}
}

func TestKubectlExplainsEveryFieldOfOurs(t *testing.T) {
	crd, _ := readCRD(t)
	root := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	for _, field := range []string{"spec", "status"} {
		schema := root.Properties[field]
		explained(t, "trainingjob."+field, &schema)
	}
}

// explained checks path and every object below it, down to the pod template, which is explained elsewhere.
func explained(t *testing.T, path string, schema *apiextensions.JSONSchemaProps) {
	t.Helper()
	if schema.AdditionalProperties != nil {
		schema = schema.AdditionalProperties.Schema
	}
	if schema.Items != nil {
		schema = schema.Items.Schema
	}
	if len(schema.Properties) == 0 || strings.HasSuffix(path, ".template") {
		return
	}
	said := kubectl(t, "explain", path)
	if strings.Contains(said, "<no description>") || strings.Contains(said, "<empty>") {
		t.Errorf("kubectl explain %s leaves something out:\n%s", path, said)
	}
	for name, below := range schema.Properties {
		if !strings.Contains(said, "  "+name+"\t") {
			t.Errorf("kubectl explain %s does not name %s:\n%s", path, name, said)
		}
		explained(t, path+"."+name, &below)
	}
}

// withPhase creates a job that nobody runs and writes its status, as an operator would.
func withPhase(t *testing.T, ns, name string, phase v1alpha1.Phase) {
	t.Helper()
	j := typed(t, job(t, ns, "metadata: {name: "+name+"}"))
	create(t, j)
	j.Status = v1alpha1.TrainingJobStatus{
		Phase: phase, Reason: "BecauseOfTest", Ready: "3/4", Restarts: 5, Attempt: 2,
		Progress:        &v1alpha1.ProgressStatus{Step: 4200, Checkpoint: "s3://runs/4200"},
		ReplicaStatuses: map[v1alpha1.Role]v1alpha1.ReplicaStatus{v1alpha1.Worker: {Active: 3, Selector: "a=b"}},
	}
	if err := admin.Status().Update(t.Context(), j); err != nil {
		t.Fatal(err)
	}
}

func TestJobsCanBeSelectedByPhase(t *testing.T) {
	ns := namespace(t, nil)
	withPhase(t, ns, "works", v1alpha1.PhaseRunning)
	withPhase(t, ns, "broke", v1alpha1.PhaseFailed)
	var names string
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		names = kubectl(t, "get", "trainingjobs", "-n", ns, "--field-selector=status.phase=Running", "-o", "name")
		return names == "trainingjob.trainingjob.dev/works\n", nil
	})
	if err != nil {
		t.Errorf("jobs with phase Running: %q, want works only", names)
	}
}

func TestKubectlGetShowsTheColumns(t *testing.T) {
	ns := namespace(t, nil)
	withPhase(t, ns, "works", v1alpha1.PhaseRunning)
	for _, c := range []struct{ flags, want, row string }{
		{"", "NAME PHASE READY RESTARTS AGE REASON", "BecauseOfTest"},
		{"-o=wide", "NAME PHASE READY RESTARTS AGE REASON FRAMEWORK QUEUE ATTEMPT STEP CHECKPOINT LAST FAILURE", "BecauseOfTest TensorFlow 2 4200 s3://runs/4200"},
	} {
		lines := strings.Split(kubectl(t, append([]string{"get", "tj", "-n", ns}, strings.Fields(c.flags)...)...), "\n")
		if got := strings.Join(strings.Fields(lines[0]), " "); got != c.want {
			t.Errorf("kubectl get tj %s shows %q, want %q", c.flags, got, c.want)
		}
		said := strings.Join(strings.Fields(lines[1]), " ")
		if !strings.Contains(said, "works Running 3/4 5") || !strings.Contains(said, c.row) {
			t.Errorf("kubectl get tj %s shows %q, want %q in it", c.flags, said, c.row)
		}
	}
	if out := kubectl(t, "get", "all", "-n", ns); !strings.Contains(out, "trainingjob.trainingjob.dev/works") {
		t.Errorf("kubectl get all does not show the job:\n%s", out)
	}
}

func TestTheScaleSubresourceShowsActiveWorkersAndTheirSelector(t *testing.T) {
	ns := namespace(t, nil)
	withPhase(t, ns, "works", v1alpha1.PhaseRunning)
	scale := new(unstructured.Unstructured)
	out := kubectl(t, "get", "--raw", "/apis/trainingjob.dev/v1alpha1/namespaces/"+ns+"/trainingjobs/works/scale")
	if err := scale.UnmarshalJSON([]byte(out)); err != nil {
		t.Fatal(err)
	}
	spec, _, _ := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	active, _, _ := unstructured.NestedInt64(scale.Object, "status", "replicas")
	selector, _, _ := unstructured.NestedString(scale.Object, "status", "selector")
	if spec != 4 || active != 3 || selector != "a=b" {
		t.Errorf("the scale shows %d wanted, %d active, selector %q; want 4, 3, a=b", spec, active, selector)
	}
}

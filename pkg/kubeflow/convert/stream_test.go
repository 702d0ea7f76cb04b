package convert_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/trainingjob/operator/pkg/kubeflow/convert"
)

const jaxJob = `apiVersion: kubeflow.org/v1
kind: JAXJob
metadata: {name: %s}
spec: {jaxReplicaSpecs: {Worker: {template: {spec: {containers: [{name: jax, image: i}]}}}}}
`

const service = `apiVersion: v1 # the store
kind: Service
metadata: {name: store}
`

func TestStream(t *testing.T) {
	one, two := fmt.Sprintf(jaxJob, "one"), fmt.Sprintf(jaxJob, "two")
	list := "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(one), "\n", "\n  ") + "\n- " + strings.ReplaceAll(strings.TrimSpace(service), "\n", "\n  ") + "\n"
	json := `{"apiVersion":"kubeflow.org/v1","kind":"JAXJob","metadata":{"name":"one"},"spec":{"jaxReplicaSpecs":{"Worker":{"template":{"spec":{"containers":[{"name":"jax","image":"i"}]}}}}}}`
	for name, c := range map[string]struct {
		source string
		want   []string // kind and name of each document
	}{
		"one job":                          {one, []string{"TrainingJob one"}},
		"a job as JSON":                    {json, []string{"TrainingJob one"}},
		"jobs, and what belongs to them":   {one + "---\n" + service + "---\n" + two, []string{"TrainingJob one", "Service store", "TrainingJob two"}},
		"documents of nothing":             {"---\n# nothing\n---\n" + one + "---\n", []string{"TrainingJob one"}},
		"a list, as kubectl get prints it": {list, []string{"TrainingJob one", "Service store"}},
		"no job at all":                    {service, []string{"Service store"}},
		"an object that has items":         {"apiVersion: example.com/v1\nkind: Menu\nmetadata: {name: menu}\nitems: [{name: soup}]\n", []string{"Menu menu"}},
		"another kind of the same group":   {"apiVersion: kubeflow.org/v1\nkind: Notebook\nmetadata: {name: notes}\n", []string{"Notebook notes"}},
	} {
		var out bytes.Buffer
		if _, err := convert.Stream(strings.NewReader(c.source), &out); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var got []string
		for _, document := range strings.Split(out.String(), "---\n") {
			object := read(t, document)
			got = append(got, fmt.Sprintf("%s %s", object["kind"], object["metadata"].(map[string]any)["name"]))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// kubectl takes all of these from a file: a merge key with a field that is written over, a number as a quantity, and what Go clients write.
func TestManifestsThatKubectlTakes(t *testing.T) {
	const source = `apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: m, creationTimestamp: null}
spec:
  pytorchReplicaSpecs:
    Master: &role
      replicas: 1
      template:
        metadata: {creationTimestamp: null}
        spec: {containers: [{name: pytorch, image: i, resources: {limits: {cpu: 0.5}}}]}
    Worker:
      <<: *role
      replicas: 2
`
	var out bytes.Buffer
	if _, err := convert.Stream(strings.NewReader(source), &out); err != nil {
		t.Fatal(err)
	}
	roles := read(t, out.String())["spec"].(map[string]any)["replicaSpecs"].(map[string]any)
	for role, replicas := range map[string]string{"Master": "1", "Worker": "2"} {
		got := fmt.Sprint(roles[role])
		for _, want := range []string{"replicas:" + replicas, "image:i", "cpu:500m"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s is %s, without %s", role, got, want)
			}
		}
	}
	if strings.Contains(out.String(), "creationTimestamp") {
		t.Errorf("kubectl's strict validation refuses a creationTimestamp:\n%s", out.String())
	}
}

func TestWhatIsNoJobIsPassedOnToTheLetter(t *testing.T) {
	indented := "  " + strings.ReplaceAll(strings.TrimSpace(service), "\n", "\n  ") + "\n"
	for _, text := range []string{service, indented, service + "---\n" + indented} {
		var out bytes.Buffer
		if _, err := convert.Stream(strings.NewReader(text), &out); err != nil || out.String() != text {
			t.Errorf("error %v, written:\n%s", err, out.String())
		}
	}
	report, err := convert.Stream(strings.NewReader(service), new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Notes) != 1 || report.Notes[0].Effect != convert.Kept || report.Notes[0].Object != "Service store" || report.Jobs != 0 {
		t.Errorf("the report is %+v", report)
	}
}

// Half of a file must not be applied: with an error nothing is written, and every document that has one is named.
func TestAnErrorWritesNothing(t *testing.T) {
	good, bad := fmt.Sprintf(jaxJob, "one"), strings.Replace(fmt.Sprintf(jaxJob, "two"), "Worker", "Master", 1)
	for name, c := range map[string]struct {
		source string
		want   []string
	}{
		"a job that cannot be converted": {good + "---\n" + bad, []string{"document 2: JAXJob two: spec.jaxReplicaSpecs.Master is no role of JAXJob"}},
		"two of them":                    {bad + "---\n" + good + "---\n" + bad, []string{"document 1: JAXJob two", "document 3: JAXJob two"}},
		"no YAML":                        {good + "---\n\tx: [", []string{"document 2: this is no YAML of one object"}},
		"a text":                         {"hello", []string{"document 1: this is no YAML of one object"}},
		"a field twice":                  {good + "kind: JAXJob\n", []string{"document 1: this is no YAML of one object", `"kind" already set`}},
		"nothing":                        {"", []string{"there is nothing to convert"}},
	} {
		var out bytes.Buffer
		_, err := convert.Stream(strings.NewReader(c.source), &out)
		if err == nil || out.Len() > 0 {
			t.Errorf("%s: error %v, written %q", name, err, out.String())
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want one with %q", name, err, want)
			}
		}
	}
}

// broken is a reader or writer that is not there any more.
type broken struct{}

var errGone = errors.New("gone")

func (broken) Read([]byte) (int, error)  { return 0, errGone }
func (broken) Write([]byte) (int, error) { return 0, errGone }

func TestBrokenReadersAndWritersAreErrors(t *testing.T) {
	if _, err := convert.Stream(broken{}, new(bytes.Buffer)); !errors.Is(err, errGone) {
		t.Errorf("reading: %v", err)
	}
	if _, err := convert.Stream(strings.NewReader(fmt.Sprintf(jaxJob, "one")), broken{}); !errors.Is(err, errGone) {
		t.Errorf("writing: %v", err)
	}
}

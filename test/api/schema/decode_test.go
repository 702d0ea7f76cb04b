package schema_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/trainingjob/operator/test/api/schema"
)

// Jobs are listed as a whole: one that cannot be decoded would hide all others from the operator.
func TestGoDecodesWhateverTheSchemaAccepts(t *testing.T) {
	root := root(t)
	leaves := leaves(t, root)
	if len(leaves) < 800 {
		t.Errorf("%d leaves: there were 840 in Kubernetes 1.37", len(leaves))
	}
	for _, wrong := range undecodable(t, root, leaves) {
		t.Error(wrong)
	}
}

// undecodable returns the leaves and the values that the schema accepts, but that Go cannot decode.
func undecodable(t *testing.T, root *schema.Props, leaves []schema.Leaf) []string {
	t.Helper()
	whole := judge(t, root)
	var wrong []string
	for _, leaf := range leaves {
		plain, err := json.Marshal(schema.Plain(leaf.Schema))
		if err != nil {
			t.Fatal(err)
		}
		if _, refusal := whole(document(t, root, leaf, string(plain))); refusal != nil {
			t.Errorf("%s: the schema refuses %s, so the test sees nothing of it: %v", leaf, plain, refusal)
		}
		accepts := judge(t, leaf.Schema)
		for _, value := range schema.Extremes() {
			stored, refusal := accepts([]byte(value))
			if refusal != nil {
				continue
			}
			if err := schema.Decode(document(t, root, leaf, string(stored))); err != nil {
				wrong = append(wrong, leaf.String()+": the schema accepts "+value[:min(80, len(value))]+": "+err.Error())
			}
		}
	}
	return wrong
}

// judge returns what the API server does with a value: it refuses it, or stores it as JSON of its own. It does not rely on the formats int32
// and int64, which Kubernetes 1.36 and older do not enforce.
func judge(t *testing.T, props *schema.Props) func(value []byte) ([]byte, error) {
	t.Helper()
	props = props.DeepCopy()
	withoutIntegerFormats(props)
	internal := new(apiextensions.JSONSchemaProps)
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, internal, nil); err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		t.Fatal(err)
	}
	return func(value []byte) ([]byte, error) {
		var object any
		if err := utiljson.Unmarshal(value, &object); err != nil {
			return nil, err
		}
		if err := validation.ValidateCustomResource(nil, object, validator).ToAggregate(); err != nil {
			return nil, err
		}
		return json.Marshal(object)
	}
}

func withoutIntegerFormats(props *schema.Props) {
	if props.Type == "integer" {
		props.Format = ""
	}
	for name, below := range props.Properties {
		withoutIntegerFormats(&below)
		props.Properties[name] = below
	}
	if props.Items != nil {
		withoutIntegerFormats(props.Items.Schema)
	}
	if props.AdditionalProperties != nil && props.AdditionalProperties.Schema != nil {
		withoutIntegerFormats(props.AdditionalProperties.Schema)
	}
}

// document returns a job with a value at the leaf.
func document(t *testing.T, root *schema.Props, leaf schema.Leaf, value string) []byte {
	t.Helper()
	job := map[string]any{"apiVersion": "trainingjob.dev/v1alpha1", "kind": "TrainingJob"}
	leaf.Set(root, job, value)
	text, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A bound that is taken out is found, at the place where it was.
func TestAMissingBoundIsFound(t *testing.T) {
	pattern := `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`
	for name, c := range map[string]struct {
		place  string
		change func(*schema.Props)
	}{
		"of a port":                         {"livenessProbe.httpGet.port", func(p *schema.Props) { p.Maximum = nil }},
		"of an int32, above":                {"containers.[].ports.[].containerPort", func(p *schema.Props) { p.Maximum = nil }},
		"of an int32, below":                {"volumes.[].secret.defaultMode", func(p *schema.Props) { p.Minimum = nil }},
		"of a quantity, controller-gen's":   {"containers.[].resources.limits.{}", func(p *schema.Props) { p.Pattern = pattern }},
		"of a size limit, controller-gen's": {"emptyDir.sizeLimit", func(p *schema.Props) { p.Pattern = pattern }},
		"of a time":                         {"status.startTime", func(p *schema.Props) { p.Pattern = "" }},
		"of a time, against lists":          {"status.startTime", func(p *schema.Props) { p.MinItems = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			root := root(t)
			all := leaves(t, root)
			place := slices.IndexFunc(all, func(l schema.Leaf) bool { return strings.HasSuffix(l.String(), c.place) })
			if place < 0 {
				t.Fatalf("there is no leaf %s", c.place)
			}
			c.change(all[place].Schema)
			if wrong := undecodable(t, root, all[place:place+1]); len(wrong) == 0 {
				t.Error("the test does not notice")
			}
		})
	}
}

func TestAnUnknownKindOfLeafIsAnError(t *testing.T) {
	for name, unknown := range map[string]schema.Props{
		"a number with a fraction": {Type: "number"},
		"base64":                   {Type: "string", Format: "byte"},
		"whatever a user writes":   {Type: "object", XPreserveUnknownFields: new(true)},
		"an object without fields": {Type: "object"},
	} {
		root := root(t)
		root.Properties["new"] = unknown
		if _, err := schema.Leaves(root); err == nil || !strings.Contains(err.Error(), "new is ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A newer operator may write fields that the CRD and this operator do not know: whatever they hold, the job stays readable.
func TestUnknownFieldsOfTheMemoryDecode(t *testing.T) {
	for _, value := range []string{`"text"`, `1.5e400`, `99999999999999999999`, `[{"a":null}]`, `{"b":{"c":true}}`, `null`} {
		for _, memory := range []string{`{"new":%s}`, `{"roles":{"Worker":{"new":%s}}}`, `{"charges":[{"name":"maxRestarts","new":%s}]}`} {
			job := fmt.Sprintf(`{"apiVersion":"trainingjob.dev/v1alpha1","kind":"TrainingJob","status":{"memory":`+memory+`}}`, value)
			if err := schema.Decode([]byte(job)); err != nil {
				t.Errorf("%s: %v", job, err)
			}
		}
	}
}

func root(t *testing.T) *schema.Props {
	t.Helper()
	root, err := schema.Root()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func leaves(t *testing.T, root *schema.Props) []schema.Leaf {
	t.Helper()
	leaves, err := schema.Leaves(root)
	if err != nil {
		t.Fatal(err)
	}
	return leaves
}

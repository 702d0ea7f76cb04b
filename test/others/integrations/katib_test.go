package integrations

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"sigs.k8s.io/yaml"
)

// Katib decides by gjson whether a trial has succeeded or failed.
func TestKatib(t *testing.T) {
	var experiment struct {
		Spec struct {
			Parameters    []struct{ Name string }
			TrialTemplate struct {
				PrimaryContainerName, SuccessCondition, FailureCondition string
				PrimaryPodLabels                                         map[string]string
				TrialParameters                                          []struct{ Name, Reference string }
				TrialSpec                                                map[string]any
			}
		}
	}
	if err := yaml.Unmarshal(manifest(t, "katib/experiment.yaml", nil), &experiment); err != nil {
		t.Fatal(err)
	}
	template := experiment.Spec.TrialTemplate
	for _, name := range jobs {
		data, err := json.Marshal(recorded(t, name).Object)
		if err != nil {
			t.Fatal(err)
		}
		succeeded, failed := isTrue(gjson.GetBytes(data, template.SuccessCondition)), isTrue(gjson.GetBytes(data, template.FailureCondition))
		if succeeded != (name == "succeeded") || failed != (name == "failed") {
			t.Errorf("%s: succeeded %v, failed %v", name, succeeded, failed)
		}
	}
	spec, err := json.Marshal(template.TrialSpec)
	if err != nil {
		t.Fatal(err)
	}
	for i, parameter := range template.TrialParameters {
		if parameter.Reference != experiment.Spec.Parameters[i].Name || !strings.Contains(string(spec), "${trialParameters."+parameter.Name+"}") {
			t.Errorf("the trial has no place for %s, or the experiment no parameter %s", parameter.Name, parameter.Reference)
		}
	}
	main := gjson.GetBytes(spec, "spec.replicaSpecs.Worker.template.spec.containers.0.name").String()
	if main != template.PrimaryContainerName {
		t.Errorf("the primary container is %s, and the template has %s", template.PrimaryContainerName, main)
	}
}

// isTrue reports whether Katib takes what an expression has found for true: an object, or a list that is not empty.
func isTrue(found gjson.Result) bool {
	return found.IsObject() || found.IsArray() && len(found.Array()) > 0
}

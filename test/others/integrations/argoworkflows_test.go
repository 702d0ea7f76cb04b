package integrations

import (
	"encoding/json"
	"testing"

	"github.com/argoproj/argo-workflows/v3/workflow/common"
	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// Argo's own parser takes every field of the workflow, and its conditions are true when the job has ended.
func TestArgoWorkflows(t *testing.T) {
	workflows, err := common.SplitWorkflowYAMLFile(manifest(t, "argo-workflows/workflow.yaml", nil), true)
	if err != nil {
		t.Fatal(err)
	}
	if len(workflows) != 1 {
		t.Fatalf("%d workflows", len(workflows))
	}
	step := workflows[0].Spec.Templates[0].Resource
	var made struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal([]byte(step.Manifest), &made); err != nil || made.APIVersion != "trainingjob.dev/v1alpha1" || made.Kind != "TrainingJob" {
		t.Errorf("the step makes %v: %v", made, err)
	}
	for _, name := range jobs {
		data, err := json.Marshal(recorded(t, name).Object)
		if err != nil {
			t.Fatal(err)
		}
		succeeded, failed := meets(t, data, step.SuccessCondition), meets(t, data, step.FailureCondition)
		if succeeded != (name == "succeeded") || failed != (name == "failed") {
			t.Errorf("%s: succeeded %v, failed %v", name, succeeded, failed)
		}
	}
}

// meets reports whether an object meets a condition: Argo writes it as a selector whose keys are paths of gjson.
func meets(t *testing.T, object []byte, condition string) bool {
	t.Helper()
	selector, err := labels.Parse(condition)
	if err != nil {
		t.Fatal(err)
	}
	requirements, _ := selector.Requirements()
	for _, each := range requirements {
		found := gjson.GetBytes(object, each.Key())
		if !found.Exists() || !each.Matches(labels.Set{each.Key(): found.String()}) {
			return false
		}
	}
	return true
}

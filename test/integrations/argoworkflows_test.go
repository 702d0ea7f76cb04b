package integrations

import (
	"encoding/json"
	"testing"

	"github.com/argoproj/argo-workflows/v3/workflow/common"
	"github.com/argoproj/argo-workflows/v3/workflow/validate"
	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/labels"
)

// Argo's own parser and validator take the workflow.
func TestArgoWorkflows(t *testing.T) {
	workflows, err := common.SplitWorkflowYAMLFile(manifest(t, "argo-workflows/workflow.yaml", nil), true)
	if err != nil {
		t.Fatal(err)
	}
	if len(workflows) != 1 {
		t.Fatalf("%d workflows", len(workflows))
	}
	workflow := workflows[0].DeepCopy()
	if err := validate.ValidateWorkflow(nil, nil, workflow, nil, validate.ValidateOpts{}); err != nil {
		t.Fatal(err)
	}
	step := workflow.Spec.Templates[0].Resource
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

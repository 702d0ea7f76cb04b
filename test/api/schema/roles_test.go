package schema_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// The rules of the CRD accept the roles that the table of frameworks has, and no other.
func TestTheCRDAcceptsTheRolesOfEachFramework(t *testing.T) {
	structural, err := structuralschema.NewStructural(installed(t).Spec.Validation.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)
	refusal := func(framework v1alpha1.Framework, roles ...v1alpha1.Role) string {
		specs := map[string]any{}
		for _, role := range roles {
			specs[string(role)] = map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "main"}}}}}
		}
		job := map[string]any{"metadata": map[string]any{"name": "j"}, "spec": map[string]any{"framework": string(framework), "replicaSpecs": specs}}
		defaulting.Default(job, structural)
		refused, _ := rules.Validate(t.Context(), nil, structural, job, nil, celconfig.RuntimeCELCostBudget)
		return fmt.Sprint(refused.ToAggregate())
	}
	for _, name := range state.Frameworks() {
		facts := state.FactsOf(v1alpha1.Framework(name))
		for _, role := range []v1alpha1.Role{v1alpha1.Chief, v1alpha1.Master, v1alpha1.Launcher, v1alpha1.PS, v1alpha1.Worker, v1alpha1.Evaluator, "Board"} {
			roles := []v1alpha1.Role{v1alpha1.Worker, role}
			if facts.Name == v1alpha1.MPI {
				roles = append(roles, v1alpha1.Launcher)
			}
			refused := refusal(facts.Name, roles...)
			has, accepts := facts.Roles == nil || slices.Contains(facts.Roles, role), !strings.Contains(refused, " job has ")
			if has != accepts {
				t.Errorf("%s: the table has %s: %t; the CRD: %s", name, role, has, refused)
			}
		}
	}
}

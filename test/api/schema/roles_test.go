package schema_test

import (
	"fmt"
	"os"
	"path/filepath"
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

// refusals returns what the rules of the CRD refuse of a job of that framework with these roles, and that network.
func refusals(t *testing.T) func(framework v1alpha1.Framework, network map[string]any, roles ...v1alpha1.Role) string {
	t.Helper()
	structural, err := structuralschema.NewStructural(installed(t).Spec.Validation.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)
	return func(framework v1alpha1.Framework, network map[string]any, roles ...v1alpha1.Role) string {
		specs := map[string]any{}
		for _, role := range roles {
			specs[string(role)] = map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "main"}}}}}
		}
		spec := map[string]any{"framework": string(framework), "replicaSpecs": specs}
		if network != nil {
			spec["network"] = network
		}
		job := map[string]any{"metadata": map[string]any{"name": "j"}, "spec": spec}
		defaulting.Default(job, structural)
		refused, _ := rules.Validate(t.Context(), nil, structural, job, nil, celconfig.RuntimeCELCostBudget)
		return fmt.Sprint(refused.ToAggregate())
	}
}

// members returns the roles of a small job of the framework.
func members(traits *state.Traits, more ...v1alpha1.Role) []v1alpha1.Role {
	roles := append([]v1alpha1.Role{v1alpha1.Worker}, more...)
	if traits.Name == v1alpha1.MPI {
		roles = append(roles, v1alpha1.Launcher)
	}
	return roles
}

// A framework of the CRD is everywhere where users and tests look for it.
func TestEveryFrameworkOfTheCRDIsEverywhere(t *testing.T) {
	var enum []string
	for _, value := range installed(t).Spec.Validation.OpenAPIV3Schema.Properties["spec"].Properties["framework"].Enum {
		enum = append(enum, fmt.Sprint(value))
	}
	if len(enum) == 0 || !slices.Equal(slices.Sorted(slices.Values(enum)), slices.Sorted(slices.Values(state.Frameworks()))) {
		t.Errorf("the CRD has %v, the table of pkg/job/state %v", enum, state.Frameworks())
	}
	for _, name := range enum {
		traits := state.TraitsOf(v1alpha1.Framework(name))
		hasPorts := name == string(v1alpha1.MPI) || name == string(v1alpha1.Custom) || traits.Port.Default > 0 && traits.Port.Name != ""
		if traits.Name != v1alpha1.Framework(name) || !hasPorts || traits.Roles == nil && name != string(v1alpha1.Custom) {
			t.Errorf("%s lacks a port or roles: %+v", name, traits)
		}
		for pattern, word := range map[string]string{
			"../../../pkg/job/framework/testdata/*-" + strings.ToLower(name) + "-*.golden": "",
			"../../../sdk/python/trainingjob/manifest.py":                                  `"` + name + `"`,
			"../../../docs/frameworks.md":                                                  name,
			"../../../examples/*.yaml":                                                     "framework: " + name + "\n",
		} {
			if !anyHas(t, pattern, word) {
				t.Errorf("%s: no file %s has %q", name, pattern, word)
			}
		}
	}
}

// anyHas reports whether a file of that pattern has the word.
func anyHas(t *testing.T, pattern, word string) bool {
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), word)
	})
}

// The rules of the CRD accept the roles that the table of frameworks has, and no other. make generate renews the CRD.
func TestTheCRDAcceptsTheRolesOfEachFramework(t *testing.T) {
	refusal := refusals(t)
	for _, name := range state.Frameworks() {
		traits := state.TraitsOf(v1alpha1.Framework(name))
		for _, role := range []v1alpha1.Role{v1alpha1.Chief, v1alpha1.Master, v1alpha1.Launcher, v1alpha1.PS, v1alpha1.Worker, v1alpha1.Evaluator, "Board"} {
			refused := refusal(traits.Name, nil, members(&traits, role)...)
			has, accepts := traits.Roles == nil || slices.Contains(traits.Roles, role), !strings.Contains(refused, " job has ")
			if has != accepts {
				t.Errorf("%s: the table has %s: %t; the CRD (after make generate): %s", name, role, has, refused)
			}
		}
	}
}

// The rules of the CRD let a job name its leader alone if the table has it that its ranks look up no other. A Custom job may do so too.
func TestTheCRDAcceptsTheNamesOfEachFramework(t *testing.T) {
	refusal := refusals(t)
	for _, name := range state.Frameworks() {
		traits := state.TraitsOf(v1alpha1.Framework(name))
		refused := refusal(traits.Name, map[string]any{"dnsNames": "Leader"}, members(&traits)...)
		want, accepts := traits.FindLeader != state.FindAll || traits.Name == v1alpha1.Custom, !strings.Contains(refused, "dnsNames")
		if want != accepts {
			t.Errorf("%s: the table lets its ranks look up the leader alone: %t; the CRD (after make generate): %s", name, want, refused)
		}
	}
}

// Package kai holds manifests/integrations/kai to the library by which KAI Scheduler reads it. It is a module of its own, so that the product's
// go.mod stays lean.
package kai

import (
	"os"
	"testing"

	karta "github.com/run-ai/karta/pkg/api/runai/v1alpha1"
	"github.com/run-ai/karta/pkg/instructions"
	"github.com/run-ai/karta/pkg/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// The pod grouper of KAI Scheduler finds a Karta by these labels, refuses one that is not valid, and sets its group's minMember to what the
// library of Karta calculates for the root.
//
// Source: kai-scheduler/KAI-Scheduler pkg/podgrouper/podgrouper/plugins/karta, getKartaForGvk and getPodGroupMetadataV2, commit d5bc503a1463.
func TestTheGangHasAsManyPodsAsMustFitAtOnce(t *testing.T) {
	text, err := os.ReadFile("../../../manifests/integrations/kai/karta.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var definition karta.Karta
	if err := yaml.UnmarshalStrict(text, &definition); err != nil {
		t.Fatal(err)
	}
	if err := karta.NewKartaValidator(&definition).Validate(); err != nil {
		t.Fatal(err)
	}
	kind := definition.Spec.StructureDefinition.RootComponent.Kind
	for label, want := range map[string]string{"run.ai/karta-group": kind.Group, "run.ai/karta-version": kind.Version, "run.ai/karta-kind": kind.Kind} {
		if got := definition.Labels[label]; got != want {
			t.Errorf("the label %s is %q, want %q", label, got, want)
		}
	}
	summary, err := instructions.NewStructureSummary(&definition)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spec string
		want int32
	}{
		"all workers":                              {`{replicaSpecs: {Worker: {replicas: 4}}}`, 4},
		"all roles, one replica by default":        {`{replicaSpecs: {Chief: {}, PS: {replicas: 2}, Worker: {replicas: 4}}}`, 7},
		"no evaluator":                             {`{replicaSpecs: {Chief: {replicas: 1}, Evaluator: {replicas: 1}}}`, 1},
		"minReplicas of the workers of an elastic": {`{elastic: {minReplicas: 2, maxReplicas: 8}, replicaSpecs: {Master: {replicas: 1}, Worker: {replicas: 4}}}`, 3},
	} {
		t.Run(name, func(t *testing.T) {
			job := &unstructured.Unstructured{Object: map[string]any{"apiVersion": kind.Group + "/" + kind.Version, "kind": kind.Kind}}
			var spec map[string]any
			if err := yaml.Unmarshal([]byte(c.spec), &spec); err != nil {
				t.Fatal(err)
			}
			job.Object["spec"] = spec
			root := definition.Spec.StructureDefinition.RootComponent.Name
			got, err := instructions.CalculateSubtreeScale(t.Context(), root, nil, resource.NewComponentFactoryFromObject(&definition, job), summary)
			if err != nil || got != c.want {
				t.Errorf("minMember is %d, want %d; error %v", got, c.want, err)
			}
		})
	}
}

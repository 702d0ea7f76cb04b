package schema_test

import (
	"fmt"
	"testing"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
)

// running is a job of two roles as its status was written at that second.
func running(tb testing.TB, structural *structuralschema.Structural, second int) map[string]any {
	tb.Helper()
	const pod = `{"replicas":1,"template":{"spec":{"containers":[{"name":"main","image":"train","command":["python","train.py"],"env":[{"name":"A","value":"b"},
		{"name":"C","value":"d"}],"resources":{"limits":{"nvidia.com/gpu":1}},"volumeMounts":[{"name":"data","mountPath":"/data"}]}],
		"volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"data"}}]}}}`
	job := map[string]any{}
	text := fmt.Sprintf(`{"metadata":{"name":"j"},"spec":{"framework":"PyTorch","replicaSpecs":{"Master":%s,"Worker":%s}},
		"status":{"phase":"Running","memory":{"countedTime":"2026-01-01T00:00:%02dZ"}}}`, pod, pod, second)
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		tb.Fatal(err)
	}
	defaulting.Default(job, structural)
	return job
}

// write returns what the API server does with the rules of the CRD when the status of a job is written, as in its own code.
func write(tb testing.TB) func() {
	tb.Helper()
	structural, err := structuralschema.NewStructural(installed(tb).Spec.Validation.OpenAPIV3Schema)
	if err != nil {
		tb.Fatal(err)
	}
	rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)
	was, is := running(tb, structural, 0), running(tb, structural, 1)
	return func() {
		correlated := common.NewCorrelatedObject(is, was, &model.Structural{Structural: structural})
		refused, _ := rules.Validate(tb.Context(), nil, structural, is, was, celconfig.RuntimeCELCostBudget, cel.WithRatcheting(correlated))
		if len(refused) > 0 {
			tb.Fatal(refused)
		}
	}
}

// The API server checks all rules of the CRD when only the status of a job is written, thousands of times for each write of a spec. What they allocate is
// most of what they cost: now it is 6,000 allocations, and was 32,000 when they stood at its top.
func TestAStatusWriteCostsFewAllocations(t *testing.T) {
	const most = 7000
	if n := testing.AllocsPerRun(20, write(t)); n > most {
		t.Errorf("the rules of the CRD make %.0f allocations when a status is written, want at most %d: let a rule stand at the field that it is about", n, most)
	}
}

func BenchmarkRulesAtAStatusWrite(b *testing.B) {
	do := write(b)
	b.ReportAllocs()
	for b.Loop() {
		do()
	}
}

package builder_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/pkg/cli/schema"
	"github.com/trainingjob/operator/test/sim/builder"
)

func TestDefaultsAreThoseOfTheSchema(t *testing.T) {
	want, err := schema.Job([]byte(`
apiVersion: trainingjob.dev/v1alpha1
kind: TrainingJob
metadata: {name: j}
spec: {framework: Custom, replicaSpecs: {Worker: {template: {spec: {containers: [{name: main, image: train}]}}}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	got := builder.Job("j", builder.Workers(1, builder.Policy("")))
	if diff := cmp.Diff(want.Spec, got.Spec); diff != "" {
		t.Errorf("the schema's defaults are not the builder's (-schema +builder):\n%s", diff)
	}
}

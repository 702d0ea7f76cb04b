package integrations

import (
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
)

// What Flux and Helm wait for without being told anything of TrainingJobs.
func TestKstatus(t *testing.T) {
	want := map[string]status.Status{
		"unseen": status.CurrentStatus, "pending": status.CurrentStatus, "running": status.CurrentStatus, "hanging": status.CurrentStatus,
		"restarting": status.CurrentStatus, "suspended": status.CurrentStatus, "succeeded": status.CurrentStatus, "failed": status.FailedStatus,
	}
	for _, name := range jobs {
		got, err := status.Compute(recorded(t, name))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got.Status != want[name] {
			t.Errorf("%s is %s (%s), want %s", name, got.Status, got.Message, want[name])
		}
	}
}

// What a Kustomization of Flux waits for with the recipe's expressions.
func TestFlux(t *testing.T) {
	var recipe struct {
		APIVersion, Kind string
		Metadata         map[string]string
		Spec             struct {
			Interval, Path, Timeout string
			Prune, Wait             bool
			SourceRef               map[string]string
			HealthCheckExprs        []kustomize.CustomHealthCheck
		}
	}
	manifest(t, "flux/kustomization.yaml", &recipe)
	check := recipe.Spec.HealthCheckExprs[0]
	if check.APIVersion+" "+check.Kind != "trainingjob.dev/v1alpha1 TrainingJob" {
		t.Fatalf("the recipe checks %s %s", check.APIVersion, check.Kind)
	}
	evaluator, err := cel.NewStatusEvaluator(&check.HealthCheckExpressions)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := evaluator.Evaluate(t.Context(), recorded(t, "unseen")); err == nil {
		t.Error("a job without a status is an error, after which Flux looks again")
	}
	want := map[string]status.Status{
		"pending": status.InProgressStatus, "running": status.InProgressStatus, "hanging": status.InProgressStatus,
		"restarting": status.InProgressStatus, "suspended": status.InProgressStatus, "succeeded": status.CurrentStatus, "failed": status.FailedStatus,
	}
	for _, name := range jobs[1:] {
		got, err := evaluator.Evaluate(t.Context(), recorded(t, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.Status != want[name] {
			t.Errorf("%s is %s (%s), want %s", name, got.Status, got.Message, want[name])
		}
	}
}

package forecast_test

import (
	"encoding/json"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/forecast"
	"github.com/trainingjob/operator/test/sim/builder"
)

// The SDK's tests have the same cases.
func TestWhatARestartForgets(t *testing.T) {
	text, err := os.ReadFile("../../../sdk/python/tests/golden/volumes.json")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Sentences map[string]string
		Cases     []struct {
			Name, Want string
			Pod        corev1.PodSpec
		}
	}
	if err := json.Unmarshal(text, &table); err != nil {
		t.Fatal(err)
	}
	for _, c := range table.Cases {
		job := builder.Job("j", builder.Workers(1), builder.Of(v1alpha1.Worker, builder.Template(func(pod *corev1.PodTemplateSpec) { pod.Spec = c.Pod })))
		if got, want := forecast.Forgets(&job.Spec), table.Sentences[c.Want]; got != want {
			t.Errorf("%s: %q, want %q", c.Name, got, want)
		}
	}
	if len(table.Cases) == 0 {
		t.Error("no cases")
	}
}

//go:build e2e

package api_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Whoever has the token of the example can make a job that hangs look alive: that is not for the training.
func TestInTheExampleOfProgressOnlyTheSideCarHasAToken(t *testing.T) {
	text, err := os.ReadFile("../../examples/progress.yaml")
	if err != nil {
		t.Fatal(err)
	}
	job := new(v1alpha1.TrainingJob)
	if err := yaml.Unmarshal([]byte(strings.Split(string(text), "\n---\n")[0]), job); err != nil {
		t.Fatal(err)
	}
	master := job.Spec.ReplicaSpecs[v1alpha1.Master].Template.Spec
	if master.AutomountServiceAccountToken == nil || *master.AutomountServiceAccountToken {
		t.Error("Kubernetes mounts the token into every container")
	}
	var readers []string
	for _, c := range slices.Concat(master.InitContainers, master.Containers) {
		if slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "token" }) {
			readers = append(readers, c.Name)
		}
	}
	if !slices.Equal(readers, []string{"report"}) {
		t.Errorf("the token is in the containers %q, want report", readers)
	}
}

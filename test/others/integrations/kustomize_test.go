package integrations

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// Kustomize follows names with prefixes and hashes into a job, replaces its images, and merges a patch into its containers.
func TestKustomizeKnowsTrainingJobs(t *testing.T) {
	folder := t.TempDir()
	for _, from := range []string{"testdata/kustomize", "../../../manifests/integrations/kustomize"} {
		to := folder
		if strings.HasSuffix(from, "integrations/kustomize") {
			to = filepath.Join(folder, "overlay")
		}
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(folder, "overlay"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	var job struct {
		Spec struct {
			ReplicaSpecs map[string]struct{ Template corev1.PodTemplateSpec }
		}
	}
	for _, r := range built.Resources() {
		names[r.GetKind()] = r.GetName()
		if r.GetKind() == "TrainingJob" {
			text, err := r.AsYAML()
			if err != nil {
				t.Fatal(err)
			}
			if err := yaml.Unmarshal(text, &job); err != nil {
				t.Fatal(err)
			}
		}
	}
	pod := job.Spec.ReplicaSpecs["Worker"].Template.Spec
	if len(pod.Containers) != 1 || len(pod.Containers[0].Env) != 2 || len(pod.Volumes) != 2 || len(pod.Containers[0].Command) != 2 {
		t.Fatalf("the patch is not merged: %+v", pod)
	}
	main := pod.Containers[0]
	gpus := main.Resources.Limits["nvidia.com/gpu"]
	for what, c := range map[string][2]string{
		"image":                 {main.Image, "registry.example.com/team/train:v2"},
		"init image":            {pod.InitContainers[0].Image, "registry.example.com/team/train:v2"},
		"GPUs":                  {gpus.String(), "8"},
		"variable":              {main.Env[0].Value, "9"},
		"ConfigMap":             {pod.Volumes[0].ConfigMap.Name, names["ConfigMap"]},
		"Secret":                {main.Env[1].ValueFrom.SecretKeyRef.Name, names["Secret"]},
		"PersistentVolumeClaim": {pod.Volumes[1].PersistentVolumeClaim.ClaimName, "team-data"},
		"ServiceAccount":        {pod.ServiceAccountName, "team-trainer"},
	} {
		if c[0] != c[1] {
			t.Errorf("%s is %q, want %q", what, c[0], c[1])
		}
	}
	if !strings.HasPrefix(names["ConfigMap"], "team-code-") {
		t.Errorf("the ConfigMap is %s", names["ConfigMap"])
	}
}

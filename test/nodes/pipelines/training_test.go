//go:build pipelines

package pipelines

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

const goodLoss = 0.02

// training returns the job of examples/hello-ps, of a parameter server and two workers, as the argument of a pipeline.
func training(steps, pace string) string {
	replica := func(env ...corev1.EnvVar) corev1.PodTemplateSpec {
		container := corev1.Container{
			Name: "train", Image: image, Command: []string{"python3", "/app/train.py"}, Env: env,
			VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/checkpoints"}},
		}
		claim := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}
		return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{container},
			Volumes:    []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: claim}}},
		}}
	}
	env := []corev1.EnvVar{{Name: "STEPS", Value: steps}, {Name: "PACE", Value: pace}}
	return argument(v1alpha1.TrainingJobSpec{
		Framework: v1alpha1.TensorFlow,
		ReplicaSpecs: map[v1alpha1.Role]v1alpha1.ReplicaSpec{
			v1alpha1.PS:     {Template: replica(env...)},
			v1alpha1.Worker: {Replicas: ptr.To[int32](2), Template: replica(env...)},
		},
	})
}

// failing returns a job whose worker 1 exits with code 3, and may not restart.
func failing() string {
	program := `import os, sys, time
if os.environ["RANK"] == "0":
    time.sleep(600)
print("no such file: /data/train.csv", file=sys.stderr)
sys.exit(3)`
	container := corev1.Container{Name: "train", Image: image, Command: []string{"python3", "-c", program}}
	return argument(v1alpha1.TrainingJobSpec{
		Framework: v1alpha1.PyTorch,
		Recovery:  v1alpha1.Recovery{MaxRestarts: ptr.To[int32](0)},
		ReplicaSpecs: map[v1alpha1.Role]v1alpha1.ReplicaSpec{
			v1alpha1.Worker: {
				Replicas: ptr.To[int32](2),
				Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{container}}},
			},
		},
	})
}

func argument(spec v1alpha1.TrainingJobSpec) string {
	GinkgoHelper()
	text, err := json.Marshal(map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "TrainingJob", "spec": spec})
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

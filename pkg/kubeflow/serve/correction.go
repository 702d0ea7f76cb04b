package serve

import (
	"encoding/json"
	"fmt"
	"maps"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Correction returns a JSON merge patch of the TrainingJob where a user has changed the TrainingJob alone: its suspension, or the number of its pods
// or what each requests. Kueue counts what the Kubeflow job requests. It returns nil where there is nothing to correct. Where the change needs
// a suspended job, the first patch suspends it and the next one resumes it.
func (s *Served) Correction(child *v1alpha1.TrainingJob) ([]byte, error) {
	want, next := &s.Child.Spec, child.Spec.DeepCopy()
	isFixed := isSameSize(want, next, true)
	switch {
	case !next.IsSuspended() && (want.IsSuspended() || !isFixed):
		next.Suspend = ptr.To(true)
	case isSameSize(want, next, false):
		setSuspended(next, want.IsSuspended())
	case isFixed:
		setSuspended(next, want.IsSuspended())
		for role, replicas := range next.ReplicaSpecs {
			replicas.Replicas = want.ReplicaSpecs[role].Replicas
			next.ReplicaSpecs[role] = replicas
		}
	default:
		setSuspended(next, want.IsSuspended())
		next.Elastic, next.ReplicaSpecs = want.Elastic, maps.Clone(want.ReplicaSpecs)
	}
	return patchOf(&child.Spec, next)
}

func setSuspended(spec *v1alpha1.TrainingJobSpec, yes bool) {
	if spec.IsSuspended() != yes {
		spec.Suspend = &yes
	}
}

// patchOf returns the merge patch of an object that changes its spec; nil for an unchanged one.
func patchOf(before, after *v1alpha1.TrainingJobSpec) ([]byte, error) {
	var texts [2][]byte
	for i, spec := range []*v1alpha1.TrainingJobSpec{before, after} {
		text, err := json.Marshal(map[string]any{"spec": spec})
		if err != nil {
			return nil, fmt.Errorf("writing the spec as JSON: %w", err)
		}
		texts[i] = text
	}
	patch, err := jsonpatch.CreateMergePatch(texts[0], texts[1])
	if err != nil || string(patch) == "{}" {
		return nil, err
	}
	return patch, nil
}

// size is what Kueue counts of a role.
type size struct {
	Replicas                 int32
	MinReplicas, MaxReplicas int32
	Containers               []corev1.Container
	Pod                      corev1.PodSpec
}

// sizesOf returns the sizes of the roles. fixed leaves out what may change while the job runs.
func sizesOf(spec *v1alpha1.TrainingJobSpec, fixed bool) map[v1alpha1.Role]size {
	sizes := map[v1alpha1.Role]size{}
	for role, replicas := range spec.ReplicaSpecs {
		s := size{Replicas: spec.Replicas(role)}
		if e := spec.Elastic; e != nil && role == v1alpha1.Worker {
			s.MinReplicas, s.MaxReplicas = e.MinReplicas, e.MaxReplicas
			if fixed {
				s.Replicas = 0
			}
		}
		pod := &replicas.Template.Spec
		for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
			for i := range containers {
				s.Containers = append(s.Containers, corev1.Container{Resources: containers[i].Resources, RestartPolicy: containers[i].RestartPolicy})
			}
		}
		s.Pod = corev1.PodSpec{Resources: pod.Resources, ResourceClaims: pod.ResourceClaims, RuntimeClassName: pod.RuntimeClassName, Overhead: pod.Overhead}
		sizes[role] = s
	}
	return sizes
}

// isSameSize reports whether the two specs have the same sizes.
func isSameSize(a, b *v1alpha1.TrainingJobSpec, fixed bool) bool {
	return equality.Semantic.DeepEqual(sizesOf(a, fixed), sizesOf(b, fixed))
}

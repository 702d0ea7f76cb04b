package state

import (
	"encoding/json"
	"hash/fnv"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Shape returns a hash of what only a suspended job may change: who its replicas are, how many, from which templates, and how
// they are scheduled. Replicas of two shapes do not belong together.
func Shape(spec *v1alpha1.TrainingJobSpec) string {
	type role struct {
		Replicas int32
		Template corev1.PodTemplateSpec
	}
	roles := map[v1alpha1.Role]role{}
	for name := range spec.ReplicaSpecs {
		r := role{Replicas: spec.Replicas(name), Template: spec.ReplicaSpecs[name].Template}
		if name == v1alpha1.Worker && spec.Elastic != nil {
			r.Replicas = 0 // may change at any time
		}
		roles[name] = r
	}
	hash := fnv.New64a()
	fixed := []any{roles, spec.Elastic, spec.Scheduling}
	if spec.MPI != nil {
		fixed = append(fixed, spec.MPI) // the hash of every other job stays what it was before there were MPI jobs
	}
	if spec.Network != nil {
		fixed = append(fixed, spec.Network)
	}
	text, err := json.Marshal(fixed)
	if err != nil {
		return "" // what came as JSON goes as JSON
	}
	_, _ = hash.Write(text)
	return strconv.FormatUint(hash.Sum64(), 36)
}

// ChangedUnseen reports whether the job has another shape than its pods: it was suspended, changed and resumed between two reconciles.
func (s *Snapshot) ChangedUnseen() bool {
	was := s.Job.Status.Memory.Shape
	return was != "" && s.Job.Generation != s.Job.Status.ObservedGeneration && was != Shape(&s.Job.Spec)
}

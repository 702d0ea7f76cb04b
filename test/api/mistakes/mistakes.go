// Package mistakes has the common mistakes of people who write a job, and what they read about each.
package mistakes

import (
	_ "embed"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/yaml"
)

const (
	template = `{"spec": {"containers": [{"name": "main", "image": "train", "command": ["python", "train.py"]}]}}`
	role     = `{"replicas": 1, "template": ` + template + `}`
	good     = `{"apiVersion": "trainingjob.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "bad"}, "spec": {"framework": "PyTorch", "replicaSpecs": {"Worker": {"replicas": 2, "template": ` + template + `}}}}`
)

//go:embed mistakes.yaml
var list []byte

// Mistake is a change of a good job.
type Mistake struct {
	Name   string
	Change any
	// Words are what kubectl tj shows; empty if it accepts the job.
	Words string
	// Server is what kubectl apply shows; empty if that is the same.
	Server string
}

// All returns all mistakes.
func All() ([]Mistake, error) {
	var all []Mistake
	err := yaml.UnmarshalStrict(list, &all)
	for i := range all {
		if all[i].Server == "" {
			all[i].Server = all[i].Words
		}
	}
	return all, err
}

// Manifest returns the job with the mistake.
func (m *Mistake) Manifest() ([]byte, error) {
	change, err := yaml.Marshal(m.Change)
	if err != nil {
		return nil, err
	}
	if change, err = yaml.YAMLToJSON(change); err != nil {
		return nil, err
	}
	text := strings.NewReplacer(`"ROLE"`, role, `"TEMPLATE"`, template).Replace(string(change))
	return jsonpatch.MergePatch([]byte(good), []byte(text))
}

package kubeflow

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/convert"
	"github.com/trainingjob/operator/pkg/state"
)

// Served is what serves a Kubeflow job.
type Served struct {
	// Child is the TrainingJob.
	Child *v1alpha1.TrainingJob
	// Roles are the names of its roles in the Kubeflow job.
	Roles map[v1alpha1.Role]string
	// Notes say what does not hold as it did under Kubeflow's operator.
	Notes []convert.Note
}

// Serve returns the TrainingJob that serves the job: of the same name, and controlled by it. It returns an error with the right value
// if a value of the job means nothing.
func (j *Job) Serve() (*Served, error) {
	source := maps.Clone(j.source.Object)
	delete(source, "status")
	child, report, roles, err := convert.Served(source)
	if err != nil {
		return nil, err
	}
	meta := metav1.ObjectMeta{
		Name: j.Name, Namespace: j.Namespace, Labels: withoutQueue(child.Labels), Annotations: withoutQueue(child.Annotations),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(j, j.kind.GroupVersionKind())},
	}
	child.ObjectMeta = meta
	child.Spec.Recovery.RestartMethod = v1alpha1.RestartRecreate // the literal variables of Kubeflow's operator need new pods
	child.Spec.RunPolicy.TTLSecondsAfterFinished = nil           // this package deletes the Kubeflow job, and that its children
	child.Spec.ManagedBy = ""
	if err := override(&child.Spec, j.Annotations[v1alpha1.AnnotationOverrides]); err != nil {
		return nil, err
	}
	hash, err := hashOf(child)
	if err != nil {
		return nil, err
	}
	metav1.SetMetaDataAnnotation(&child.ObjectMeta, v1alpha1.AnnotationKubeflowSource, hash)
	return &Served{Child: child, Roles: roles, Notes: report.Notes}, nil
}

// withoutQueue drops Kueue's labels or annotations: the Kubeflow job waits in the queue, and its child does not.
func withoutQueue(texts map[string]string) map[string]string {
	kept := maps.Clone(texts)
	maps.DeleteFunc(kept, func(name, _ string) bool { return strings.HasPrefix(name, "kueue.x-k8s.io/") })
	return kept
}

// override applies a JSON merge patch to the spec.
func override(spec *v1alpha1.TrainingJobSpec, patch string) error {
	if patch == "" {
		return nil
	}
	refuse := func(err error) error {
		return fmt.Errorf("annotation %s: %w: write a JSON merge patch of a TrainingJob's spec, as {\"recovery\":{\"maxRestarts\":20}}", v1alpha1.AnnotationOverrides, err)
	}
	before, err := json.Marshal(spec)
	if err != nil {
		return refuse(err)
	}
	after, err := jsonpatch.MergePatch(before, []byte(patch))
	if err != nil {
		return refuse(err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(after)))
	decoder.DisallowUnknownFields()
	var changed v1alpha1.TrainingJobSpec
	if err := decoder.Decode(&changed); err != nil {
		return refuse(err)
	}
	if changed.RunPolicy.TTLSecondsAfterFinished != nil || changed.ManagedBy != "" {
		return refuse(errors.New("it sets ttlSecondsAfterFinished or managedBy, which the Kubeflow job sets"))
	}
	*spec = changed
	return nil
}

// hashOf returns a hash of the child without spec.suspend.
func hashOf(child *v1alpha1.TrainingJob) (string, error) {
	hashed := *child
	hashed.Spec.Suspend = nil
	text, err := json.Marshal(&hashed)
	if err != nil {
		return "", fmt.Errorf("hashing the TrainingJob: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// changes returns the notes on what has another meaning, in one text for an Event. The metadata stays on the Kubeflow job.
func (s *Served) changes() string {
	var text strings.Builder
	for _, n := range s.Notes {
		if (n.Effect == convert.Changed || n.Effect == convert.Dropped) && !strings.HasPrefix(n.Path, "metadata.") {
			fmt.Fprintf(&text, "%s: %s. ", n.Path, n.Advice)
		}
	}
	return state.Cut(strings.TrimSpace(text.String()), state.MaxMessage)
}

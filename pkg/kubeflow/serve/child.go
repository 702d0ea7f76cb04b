package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/kubeflow/convert"
)

// Served is what serves a parent.
type Served struct {
	// Child is the TrainingJob.
	Child *v1alpha1.TrainingJob
	// Roles are the names of its roles in the Kubeflow job.
	Roles map[v1alpha1.Role]string
	// Notes say what does not hold as it did under the other operator.
	Notes []convert.Note
	// Refused is why the child is without the overrides of the job; nil if it has them.
	Refused error
}

// Serve returns the TrainingJob that serves the job: of the same name, and controlled by it. It returns an error with the right value
// if a value of the job means nothing. Overrides that are refused leave the child as it is without them.
func (j *Job) Serve() (*Served, error) {
	source := maps.Clone(j.source.Object)
	delete(source, "status")
	child, report, roles, err := convert.Served(source)
	if err != nil {
		return nil, err
	}
	child.Spec.Recovery.RestartMethod = v1alpha1.RestartRecreate // the literal variables of Kubeflow's operator need new pods
	served := &Served{Child: child, Roles: roles, Notes: report.Notes}
	return served, served.Finish(j, j.kind)
}

// Finish makes the child one of the parent, of that kind: of its name, controlled by it, with its overrides, and with a hash of all that.
func (s *Served) Finish(parent metav1.Object, kind Kind) error {
	child := s.Child
	child.ObjectMeta = metav1.ObjectMeta{
		Name: parent.GetName(), Namespace: parent.GetNamespace(), Labels: withoutQueue(child.Labels), Annotations: withoutQueue(child.Annotations),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(parent, kind.GroupVersionKind())},
	}
	child.Spec.RunPolicy.TTLSecondsAfterFinished = nil // the engine deletes the parent, and that its children
	child.Spec.ManagedBy = ""
	s.Refused = override(&child.Spec, parent.GetAnnotations()[v1alpha1.AnnotationOverrides])
	hash, err := hashOf(child)
	metav1.SetMetaDataAnnotation(&child.ObjectMeta, v1alpha1.AnnotationKubeflowSource, hash)
	return err
}

// withoutQueue drops Kueue's labels or annotations: the Kubeflow job waits in the queue, and its child does not. It drops what only Kueue's adapter
// writes, too.
func withoutQueue(texts map[string]string) map[string]string {
	kept := maps.Clone(texts)
	maps.DeleteFunc(kept, func(name, _ string) bool {
		return strings.HasPrefix(name, "kueue.x-k8s.io/") || name == v1alpha1.AnnotationCarriedStatus
	})
	return kept
}

// overridden are the fields that overrides may set. A Kubeflow job has none for them. Kueue counts none of them.
var overridden = []string{"recovery", "progress", "successPolicy"}

// override applies a JSON merge patch to the spec. After an error the spec is as before.
func override(spec *v1alpha1.TrainingJobSpec, patch string) error {
	if patch == "" {
		return nil
	}
	refuse := func(err error) error {
		return fmt.Errorf("annotation %s: %w: write a JSON merge patch of recovery, progress and successPolicy, as {\"recovery\":{\"maxRestarts\":20}}",
			v1alpha1.AnnotationOverrides, err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(patch), &fields); err != nil {
		return refuse(err)
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(overridden, field) {
			return refuse(fmt.Errorf("it sets %.40q, which it may not: set that in the job itself, or write the job as a TrainingJob", field))
		}
	}
	changed, err := merged(spec, patch)
	if err != nil {
		return refuse(err)
	}
	if changed.IsSuspended() != spec.IsSuspended() || !isSameSize(changed, spec, false) {
		return refuse(errors.New("it changes what Kueue counts"))
	}
	*spec = *changed
	return nil
}

// merged returns the spec with a JSON merge patch applied. It returns an error for an unknown field.
func merged(spec *v1alpha1.TrainingJobSpec, patch string) (*v1alpha1.TrainingJobSpec, error) {
	before, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	after, err := jsonpatch.MergePatch(before, []byte(patch))
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(after))
	decoder.DisallowUnknownFields()
	changed := new(v1alpha1.TrainingJobSpec)
	return changed, decoder.Decode(changed)
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
	return strings.TrimSpace(text.String())
}

package convert

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// conversion is one job on its way.
type conversion struct {
	kind  *kind
	job   *v1alpha1.TrainingJob
	notes []Note
	errs  []error
	// sources are the names that the roles have in the source.
	sources map[v1alpha1.Role]string
	// served is whether the TrainingJob serves the source, so that the defaults of the source stay in force.
	served bool
}

// IsJob reports whether an object is of a kind that Job converts, in whatever version.
func IsJob(object map[string]any) bool {
	version, _ := object["apiVersion"].(string)
	name, _ := object["kind"].(string)
	return strings.HasPrefix(version, v1alpha1.KubeflowGroup+"/") && slices.ContainsFunc(kinds, func(k kind) bool { return k.name == name })
}

// Job converts one of Kubeflow's jobs, decoded from YAML or read from a cluster: numbers are int64 or float64. It returns an error for an
// unknown kind or for invalid values.
func Job(source map[string]any) (*v1alpha1.TrainingJob, Report, error) {
	job, report, _, err := convert(source, false)
	return job, report, err
}

// Served converts as Job does, for a TrainingJob that serves the Kubeflow job unchanged: the defaults are those that hold under Kubeflow's
// operator, and not as TrainingJobs have it. roles are the names of the roles in the source.
func Served(source map[string]any) (job *v1alpha1.TrainingJob, report Report, roles map[v1alpha1.Role]string, err error) {
	return convert(source, true)
}

func convert(source map[string]any, served bool) (*v1alpha1.TrainingJob, Report, map[v1alpha1.Role]string, error) {
	k, err := kindOf(source)
	if err != nil {
		return nil, Report{}, nil, err
	}
	c := &conversion{kind: k, job: new(v1alpha1.TrainingJob), sources: map[v1alpha1.Role]string{}, served: served}
	c.job.APIVersion, c.job.Kind = v1alpha1.GroupVersion.String(), v1alpha1.Kind
	c.job.Spec.Framework = k.framework
	root := &fields{unread: wholeNumbers(source), errs: &c.errs}
	root.take("apiVersion")
	root.take("kind")
	c.metadata(root.object("metadata"))
	spec := root.object("spec")
	c.replicas(spec)
	if len(c.errs) == 0 {
		run := spec.object("runPolicy")
		c.runPolicy(run)
		c.hints()
		c.takeOver(c.variables()...)
		k.rest(c, spec)
		c.leftOver(run)
		c.leftOver(spec)
	}
	c.status(root)
	c.leftOver(root)
	report := Report{Jobs: 1, Notes: c.notes}
	object := k.name + " " + nameOf(source)
	for i := range report.Notes {
		report.Notes[i].Object = object
	}
	if len(c.errs) > 0 {
		return nil, report, nil, fmt.Errorf("%s: %w", object, errors.Join(c.errs...))
	}
	return c.job, report, c.sources, nil
}

// kindOf returns the kind of an object.
func kindOf(source map[string]any) (*kind, error) {
	apiVersion, _ := source["apiVersion"].(string)
	name, _ := source["kind"].(string)
	var known []string
	for i := range kinds {
		if kinds[i].name == name && v1alpha1.KubeflowGroup+"/"+kinds[i].version == apiVersion {
			return &kinds[i], nil
		}
		if kinds[i].name == name {
			known = append(known, v1alpha1.KubeflowGroup+"/"+kinds[i].version)
		}
	}
	if len(known) == 0 {
		return nil, fmt.Errorf("%s %s is no job of Kubeflow's training operator: write a TFJob, PyTorchJob, JAXJob, XGBoostJob, PaddleJob or MPIJob", apiVersion, name)
	}
	return nil, fmt.Errorf("%s of %s is not known: write it as one of %s", name, apiVersion, strings.Join(known, " or "))
}

// nameOf returns the name of an object with its namespace, for people.
func nameOf(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	if name == "" {
		name, _ = metadata["generateName"].(string)
	}
	if namespace, _ := metadata["namespace"].(string); namespace != "" {
		return namespace + "/" + name
	}
	return name
}

// wholeNumbers returns a copy of the object with its whole numbers as int64, as Kubernetes' decoders have them.
func wholeNumbers(object map[string]any) map[string]any {
	var walk func(any) any
	walk = func(value any) any {
		switch value := value.(type) {
		case map[string]any:
			copied := make(map[string]any, len(value))
			for name, inner := range value {
				copied[name] = walk(inner)
			}
			return copied
		case []any:
			copied := make([]any, len(value))
			for i, inner := range value {
				copied[i] = walk(inner)
			}
			return copied
		case float64:
			if value == float64(int64(value)) {
				return int64(value)
			}
		}
		return value
	}
	return walk(object).(map[string]any)
}

// note adds a note.
func (c *conversion) note(effect Effect, path string, value any, advice string, args ...any) {
	c.notes = append(c.notes, Note{Effect: effect, Path: path, Value: shown(value), Advice: fmt.Sprintf(advice, args...)})
}

// fail adds an error.
func (c *conversion) fail(path, sentence string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%s %s", path, fmt.Sprintf(sentence, args...)))
}

// drop takes a field and, if it has a value, notes that it is dropped.
func (c *conversion) drop(f *fields, name, advice string, args ...any) {
	if value := f.take(name); value != nil && value != false {
		c.note(Dropped, f.at(name), value, advice, args...)
	}
}

// leftOver notes all fields that the converter has not read.
func (c *conversion) leftOver(f *fields) {
	for _, name := range f.names() {
		c.drop(f, name, "is no field of %s %s/%s, so its operator ignored it: look for a misspelling", c.kind.name, v1alpha1.KubeflowGroup, c.kind.version)
	}
}

// within returns n, or the bound that it is beyond, with a note.
func (c *conversion) within(path string, n, low, high int64) *int32 {
	bound := max(low, min(n, high))
	if bound != n {
		c.note(Changed, path, n, "is written as %d: a TrainingJob takes %d to %d", bound, low, high)
	}
	bounded := int32(bound)
	return &bounded
}

// metadata converts what users write in metadata.
func (c *conversion) metadata(f *fields) {
	text := func(name string) string {
		if value := read[string](f, name); value != nil {
			return *value
		}
		return ""
	}
	m := metav1.ObjectMeta{Name: text("name"), GenerateName: text("generateName"), Namespace: text("namespace")}
	if m.Name == "" && m.GenerateName == "" {
		c.fail(f.at("name"), "is missing: give the job a name")
	}
	if labels := read[map[string]string](f, "labels"); labels != nil {
		m.Labels = *labels
	}
	if annotations := read[map[string]string](f, "annotations"); annotations != nil {
		m.Annotations = *annotations
		if applied, found := m.Annotations[lastApplied]; found {
			c.note(Dropped, f.at("annotations")+"["+lastApplied+"]", applied, "kubectl apply writes it again")
			delete(m.Annotations, lastApplied)
		}
	}
	c.drop(f, "ownerReferences", "the owner's deletion would delete the TrainingJob: let the creator of the job set it again")
	c.drop(f, "finalizers", "its owner waits for the end of the old job: set it again to wait for this job")
	for _, name := range serverFields {
		c.drop(f, name, "the API server writes it, and will write the TrainingJob's own")
	}
	c.leftOver(f)
	c.job.ObjectMeta = m
}

// serverFields are the fields of metadata that only the API server writes.
var serverFields = []string{"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields",
	"resourceVersion", "selfLink", "uid"}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// status notes what the job has behind it.
func (c *conversion) status(root *fields) {
	c.drop(root, "status", "the TrainingJob starts again: delete or suspend the old job first, because both would write the same checkpoints, "+
		"and let the program load its last one")
}

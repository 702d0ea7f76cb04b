package convert

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// defaultContainer is the annotation that names the container whose exit code counts.
const defaultContainer = "kubectl.kubernetes.io/default-container"

// template converts the pod template of one role.
func (c *conversion) template(f *fields) corev1.PodTemplateSpec {
	source := read[map[string]any](f, "template")
	path := f.at("template")
	var template corev1.PodTemplateSpec
	if source == nil {
		c.fail(path, "is missing: write a pod template")
		return template
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(*source, &template, true)
	if unknown, isUnknown := runtime.AsStrictDecodingError(err); isUnknown {
		for _, err := range unknown.Errors() {
			c.unknown(path, *source, err)
		}
	} else if err != nil {
		c.fail(path, "is no pod template: %v", err)
		return template
	}
	if len(template.Spec.Containers) == 0 {
		c.fail(path+".spec.containers", "is empty: write at least one container")
		return template
	}
	c.overwritten(path, *source, &template)
	c.mainContainer(path, &template)
	return template
}

// unknown notes a field that is none of a pod template's.
func (c *conversion) unknown(path string, source map[string]any, err error) {
	var name string
	if _, scanErr := fmt.Sscanf(err.Error(), "unknown field %q", &name); scanErr != nil {
		c.fail(path, "is no pod template: %v", err)
		return
	}
	c.note(Dropped, path+"."+name, lookUp(source, name), "is no field of a pod template: look for a misspelling")
}

var step = regexp.MustCompile(`[^.\[\]]+`)

// lookUp returns the value at a path such as spec.containers[0].name.
func lookUp(value any, path string) any {
	for _, name := range step.FindAllString(path, -1) {
		switch inner := value.(type) {
		case map[string]any:
			value = inner[name]
		case []any:
			if i, err := strconv.Atoi(name); err == nil && i < len(inner) {
				value = inner[i]
			}
		}
	}
	return value
}

// overwritten takes out of the template what the operator sets itself.
func (c *conversion) overwritten(path string, source map[string]any, template *corev1.PodTemplateSpec) {
	metadata, _ := source["metadata"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(metadata)) {
		if value := metadata[name]; value != nil && name != "labels" && name != "annotations" {
			c.note(Dropped, path+".metadata."+name, value, "pods take labels and annotations from their template; the operator sets the rest")
		}
	}
	template.ObjectMeta = metav1.ObjectMeta{Labels: template.Labels, Annotations: template.Annotations}
	spec := &template.Spec
	if spec.RestartPolicy != "" {
		c.note(Dropped, path+".spec.restartPolicy", spec.RestartPolicy, "neither operator reads it: restartPolicy of the role counts")
	}
	if spec.Hostname != "" {
		c.note(Dropped, path+".spec.hostname", spec.Hostname, "a replica's host name is <job>-<role>-<index>")
	}
	if spec.Subdomain != "" {
		c.note(Dropped, path+".spec.subdomain", spec.Subdomain, "a replica's subdomain is the name of the job")
	}
	spec.RestartPolicy, spec.Hostname, spec.Subdomain = "", "", ""
}

// mainContainer keeps the container whose exit code counts: the one of the kind's name, else the first.
func (c *conversion) mainContainer(path string, template *corev1.PodTemplateSpec) {
	containers := template.Spec.Containers
	counted := containers[max(0, slices.IndexFunc(containers, func(own corev1.Container) bool { return own.Name == c.kind.container }))].Name
	named, found := template.Annotations[defaultContainer]
	if !found {
		named = containers[0].Name
	}
	if named == counted {
		return
	}
	effect, former := Added, any(nil)
	if found {
		effect, former = Changed, named
	}
	c.note(effect, path+".metadata.annotations["+defaultContainer+"]", former,
		"is written as %s: in %s the exit code of the container of that name counts", counted, c.kind.name)
	metav1.SetMetaDataAnnotation(&template.ObjectMeta, defaultContainer, counted)
}

// mainOf returns the container whose exit code counts.
func mainOf(template *corev1.PodTemplateSpec) *corev1.Container {
	named := slices.IndexFunc(template.Spec.Containers, func(own corev1.Container) bool {
		return own.Name == template.Annotations[defaultContainer]
	})
	return &template.Spec.Containers[max(0, named)]
}

// says reports whether the main container's image, command or arguments contain one of the words.
func says(template *corev1.PodTemplateSpec, words ...string) bool {
	own := mainOf(template)
	text := strings.Join(slices.Concat([]string{own.Image}, own.Command, own.Args), " ")
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}

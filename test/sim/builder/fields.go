package builder

import (
	"reflect"
	"slices"
	"strings"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Fields returns the paths of all fields of a spec, such as recovery.rules.signals. A field with a type of Kubernetes is one path, without the fields of that type.
func Fields() map[string]bool {
	all := map[string]bool{}
	declare(reflect.TypeFor[v1alpha1.TrainingJobSpec](), "", all)
	return all
}

// NoteFields notes the paths of the fields that have a value.
func NoteFields(spec *v1alpha1.TrainingJobSpec, into map[string]bool) {
	note(reflect.ValueOf(spec).Elem(), "", into)
}

// declare lists the fields of the API's own types, and does not go into types of Kubernetes.
func declare(of reflect.Type, path string, into map[string]bool) {
	switch {
	case slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, of.Kind()):
		declare(of.Elem(), path, into)
	case isOwn(of):
		for i := range of.NumField() {
			declare(of.Field(i).Type, join(path, of.Field(i)), into)
		}
	default:
		into[path] = true
	}
}

// note lists the fields that have a value.
func note(value reflect.Value, path string, into map[string]bool) {
	switch {
	case value.IsZero():
	case value.Kind() == reflect.Pointer:
		into[path] = true
		note(value.Elem(), path, into)
	case value.Kind() == reflect.Slice:
		for i := range value.Len() {
			note(value.Index(i), path, into)
		}
	case value.Kind() == reflect.Map:
		for _, key := range value.MapKeys() {
			note(value.MapIndex(key), path, into)
		}
	case isOwn(value.Type()):
		for i := range value.NumField() {
			note(value.Field(i), join(path, value.Type().Field(i)), into)
		}
	default:
		into[path] = true
	}
}

func isOwn(of reflect.Type) bool {
	return of.Kind() == reflect.Struct && of.PkgPath() == reflect.TypeFor[v1alpha1.TrainingJobSpec]().PkgPath()
}

func join(path string, field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return strings.TrimPrefix(path+"."+name, ".")
}

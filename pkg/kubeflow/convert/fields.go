package convert

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/json"
)

// fields are the fields of one object of the source that the converter has not read yet.
type fields struct {
	path   string
	unread map[string]any
	errs   *[]error
}

// take returns the value of a field, nil if there is none, and takes it out of what is unread.
func (f *fields) take(name string) any {
	value := f.unread[name]
	delete(f.unread, name)
	return value
}

// at returns the path of a field.
func (f *fields) at(name string) string {
	if f.path == "" {
		return name
	}
	return f.path + "." + name
}

// object takes a field that is an object. One that is not there has no fields.
func (f *fields) object(name string) *fields {
	inner := map[string]any{}
	if value := read[map[string]any](f, name); value != nil {
		inner = *value
	}
	return &fields{path: f.at(name), unread: inner, errs: f.errs}
}

// names returns the names of the unread fields that have a value, sorted.
func (f *fields) names() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(f.unread)), func(name string) bool { return f.unread[name] == nil })
}

// read takes a field of type T; nil if there is none. A value of another type is an error of the source.
func read[T any](f *fields, name string) *T {
	raw := f.take(name)
	if raw == nil {
		return nil
	}
	if is, hasType := raw.(T); hasType { // wholeNumbers has copied it
		return &is
	}
	into := new(T)
	text, err := json.Marshal(raw)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		*f.errs = append(*f.errs, fmt.Errorf("%s is %s, which its type (%s) cannot hold: correct the source", f.at(name), shown(raw), typeName(*into)))
		return nil
	}
	return into
}

func typeName(value any) string {
	switch value.(type) {
	case map[string]any:
		return "object"
	case int32, int64:
		return "whole number"
	case bool:
		return "true or false"
	default:
		return fmt.Sprintf("%T", value)
	}
}

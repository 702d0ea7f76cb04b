package builder_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

// undrawn are the fields of a spec that arbitrary jobs never have, because no rule reads them: they shape what pods are made of, or who
// makes them.
var undrawn = []string{
	"elastic.rendezvous.backend", "elastic.rendezvous.conf", "elastic.rendezvous.endpoint", "managedBy", "mpi.launchAgent", "mpi.slotsPerWorker",
	"network.dnsNames", "recovery.rules.name",
	"scheduling.priorityClassName", "scheduling.schedulerName", "scheduling.topology.tier",
}

// A law that is held against jobs that never have a field says nothing of that field.
func TestArbitraryJobsHaveEveryField(t *testing.T) {
	declared, drawn := map[string]bool{}, map[string]bool{}
	declare(reflect.TypeFor[v1alpha1.TrainingJobSpec](), "", declared)
	for seed := range 500 {
		note(reflect.ValueOf(builder.ArbitraryJob().Example(seed).Spec), "", drawn)
	}
	maps.DeleteFunc(declared, func(path string, _ bool) bool { return drawn[path] })
	if diff := cmp.Diff(undrawn, slices.Sorted(maps.Keys(declared))); diff != "" {
		t.Errorf("fields that no arbitrary job has (-want +got):\n%s", diff)
	}
}

// declare lists the fields of the API's own types; those of Kubernetes' are one.
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

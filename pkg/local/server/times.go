package server

import (
	"reflect"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
)

// wholeSeconds cuts the times in what clients write to whole seconds, as JSON does.
func wholeSeconds(o client.Object) {
	switch o := o.(type) {
	case *v1alpha1.TrainingJob:
		cut(reflect.ValueOf(&o.Status).Elem())
	case *corev1.Pod:
		cut(reflect.ValueOf(&o.Status).Elem())
	case *corev1.Node:
		cut(reflect.ValueOf(&o.Status).Elem())
	case *schedulingv1beta1.PodGroup:
		cut(reflect.ValueOf(&o.Status).Elem())
	}
}

var timeType = reflect.TypeFor[metav1.Time]()

// cut cuts every metav1.Time below v, which must be settable.
func cut(v reflect.Value) {
	switch {
	case !holdsTime(v.Type()):
	case v.Type() == timeType:
		t := v.Addr().Interface().(*metav1.Time)
		t.Time = t.Truncate(time.Second)
	case v.Kind() == reflect.Pointer && !v.IsNil():
		cut(v.Elem())
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			cut(v.Field(i))
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			cut(v.Index(i))
		}
	case v.Kind() == reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			cut(value)
			v.SetMapIndex(key, value)
		}
	}
}

// holding remembers the answers of holdsTime.
var holding sync.Map

// holdsTime reports whether a value of the type can hold a metav1.Time.
func holdsTime(t reflect.Type) bool {
	if t == timeType {
		return true
	}
	if known, ok := holding.Load(t); ok {
		return known.(bool)
	}
	holds := false
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		holds = holdsTime(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			holds = holds || t.Field(i).IsExported() && holdsTime(t.Field(i).Type)
		}
	}
	holding.Store(t, holds)
	return holds
}

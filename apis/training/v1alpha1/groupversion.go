package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of the TrainingJob.
const Group = "trainingjob.dev"

// Kind is the kind of the TrainingJob.
const Kind = "TrainingJob"

// GroupVersion is the group and version that this package defines.
var GroupVersion = schema.GroupVersion{Group: Group, Version: "v1alpha1"}

// AddToScheme registers the types of this package; it returns an error only if another type holds their name.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &TrainingJob{}, &TrainingJobList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

package cli

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/kubeflow/convert"
)

// kinds are what kubectl calls a TrainingJob before a slash.
var kinds = []string{"tj", "trainingjob", "trainingjobs", "trainingjob.trainingjob.dev", "trainingjobs.trainingjob.dev"}

// jobSet is the kind of JobSets, and trainJob of what owns one of its name.
var (
	jobSet   = convert.Kind{Name: v1alpha1.JobSetKind}
	trainJob = convert.Kind{Name: v1alpha1.TrainJobKind}
)

// kubeflowKind returns the served kind that a word means, in any case: pytorchjob, pytorchjobs, pytorchjobs.kubeflow.org. It returns TrainJob too.
func kubeflowKind(word string) (convert.Kind, bool) {
	word, suffix, _ := strings.Cut(strings.ToLower(word), ".")
	for _, kind := range append(convert.ServedKinds(), jobSet, trainJob) {
		group, version, _ := strings.Cut(versionOf(kind.Name), "/")
		if (word == singular(kind.Name) || word == plural(kind.Name)) && slices.Contains([]string{"", group, version + "." + group}, suffix) {
			return kind, true
		}
	}
	return convert.Kind{}, false
}

// singular and plural are how kubectl calls a Kubeflow kind.
func singular(kind string) string { return strings.ToLower(kind) }
func plural(kind string) string   { return singular(kind) + "s" }

// canonical returns the argument that names a job in the form that connection.job takes: NAME for a TrainingJob, pytorchjob/NAME for a Kubeflow job.
func canonical(arg string) (string, error) {
	word, name, hasKind := strings.Cut(arg, "/")
	if !hasKind {
		return arg, nil
	}
	kind, isKubeflow := kubeflowKind(word)
	switch {
	case name == "" || strings.Contains(name, "/"):
	case slices.Contains(kinds, strings.ToLower(word)):
		return name, nil
	case isKubeflow:
		return singular(kind.Name) + "/" + name, nil
	case strings.HasPrefix(strings.ToLower(word), "mpijob"):
		return "", fmt.Errorf("%s: the operator serves no MPIJob; kubectl tj convert --from-cluster mpijob/%s makes a TrainingJob of it", arg, name)
	}
	return "", fmt.Errorf("%s is no TrainingJob: write its name, tj/NAME or pytorchjob/NAME", arg)
}

// plainName returns the name in a canonical argument.
func plainName(arg string) string { return arg[strings.Index(arg, "/")+1:] }

func versionOf(kind string) string {
	switch kind {
	case jobSet.Name:
		return v1alpha1.JobSetVersion
	case trainJob.Name:
		return v1alpha1.TrainJobVersion
	}
	return v1alpha1.KubeflowVersion
}

// emptyOf returns an object of the served kind.
func emptyOf(kind string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.FromAPIVersionAndKind(versionOf(kind), kind))
	return o
}

// emptyListOf returns a list of objects of the served kind.
func emptyListOf(kind string) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.FromAPIVersionAndKind(versionOf(kind), kind+"List"))
	return list
}

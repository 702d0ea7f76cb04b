package serve

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Kind is one kind of parent.
type Kind struct {
	// Name is the kind: PyTorchJob.
	Name      string
	version   string
	framework v1alpha1.Framework
	// port is the port of a replica whose template declares none under the name portName.
	portName string
	port     int32
	// hasNamespace is whether the messages of Running and Succeeded name the job's namespace: without a Master, and with one.
	hasNamespace [2]bool
}

const kubeflow = v1alpha1.KubeflowVersion

// JobSet is the kind of JobSets. Those are served that name this operator in spec.managedBy.
var JobSet = Kind{Name: v1alpha1.JobSetKind, version: v1alpha1.JobSetVersion, framework: v1alpha1.Custom}

// kinds lists the served kinds of Kubeflow. Source: the constants, defaults and controllers of Training Operator 1.9.4.
var kinds = []Kind{
	{"PyTorchJob", kubeflow, v1alpha1.PyTorch, "pytorchjob-port", 23456, [2]bool{true, false}},
	{"TFJob", kubeflow, v1alpha1.TensorFlow, "tfjob-port", 2222, [2]bool{true, true}},
	{"XGBoostJob", kubeflow, v1alpha1.XGBoost, "xgboostjob-port", 9999, [2]bool{}},
	{"PaddleJob", kubeflow, v1alpha1.Paddle, "master", 36543, [2]bool{true, false}},
	{"JAXJob", kubeflow, v1alpha1.JAX, "jaxjob-port", 6666, [2]bool{true, true}},
}

// ParseKinds returns the kinds of those names. Its error lists the valid kinds.
func ParseKinds(names []string) ([]Kind, error) {
	var parsed []Kind
	for _, name := range names {
		i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
		switch {
		case name == "MPIJob":
			return nil, fmt.Errorf("MPIJob v1 is not served: its images start ranks by kubectl; run kubectl tj convert on the job, or use the MPI operator")
		case i < 0:
			return nil, fmt.Errorf("%q is not a served kind: write %s", name, strings.Join(namesOf(kinds), ", "))
		case slices.ContainsFunc(parsed, func(k Kind) bool { return k.Name == name }):
			return nil, fmt.Errorf("%s is named twice: name it once", name)
		}
		parsed = append(parsed, kinds[i])
	}
	return parsed, nil
}

func namesOf(kinds []Kind) []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	return names
}

// GroupVersionKind returns the kind with its group and version.
func (k Kind) GroupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(k.version, k.Name)
}

// label is the name of its framework in Kubeflow's metrics.
func (k Kind) label() string { return strings.ToLower(string(k.framework)) }

// operator is the name that Kubeflow's operator has in the label training.kubeflow.org/operator-name.
func (k Kind) operator() string { return strings.ToLower(k.Name) + "-controller" }

package builder

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// ReplicaOption changes the replicas of a role.
type ReplicaOption func(*v1alpha1.ReplicaSpec)

// Policy sets the restart policy.
func Policy(policy v1alpha1.RestartPolicy) ReplicaOption {
	return func(replicas *v1alpha1.ReplicaSpec) { replicas.RestartPolicy = policy }
}

// Scope sets the restart scope.
func Scope(scope v1alpha1.RestartScope) ReplicaOption {
	return func(replicas *v1alpha1.ReplicaSpec) { replicas.RestartScope = scope }
}

// Template changes the pod template.
func Template(change func(*corev1.PodTemplateSpec)) ReplicaOption {
	return func(replicas *v1alpha1.ReplicaSpec) { change(&replicas.Template) }
}

// PodSpec changes the pods of the template.
func PodSpec(change func(*corev1.PodSpec)) ReplicaOption {
	return Template(func(template *corev1.PodTemplateSpec) { change(&template.Spec) })
}

// Main changes the first container.
func Main(change func(*corev1.Container)) ReplicaOption {
	return PodSpec(func(pod *corev1.PodSpec) { change(&pod.Containers[0]) })
}

// Env sets a variable of the first container.
func Env(name, value string) ReplicaOption {
	return Main(func(c *corev1.Container) { c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: value}) })
}

// Limit limits the first container to so much of a resource and nothing else.
func Limit(what corev1.ResourceName, quantity int64) ReplicaOption {
	return Main(func(c *corev1.Container) {
		c.Resources.Limits = corev1.ResourceList{what: *resource.NewQuantity(quantity, resource.DecimalSI)}
	})
}

// LabPrefix is the prefix of the annotations by which a pod tells the lab's fake nodes what becomes of it.
const LabPrefix = "lab.trainingjob.dev/"

// Doing makes fake nodes treat every pod of the role so, in every life: Doing("run-for", "1s").
func Doing(what, value string) ReplicaOption {
	return Template(func(template *corev1.PodTemplateSpec) {
		if template.Annotations == nil {
			template.Annotations = map[string]string{}
		}
		template.Annotations[LabPrefix+what] = value
	})
}

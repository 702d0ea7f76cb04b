//go:build e2e

package e2e

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/builder"
)

type jobOption = builder.JobOption

// What a spec says of a job as other tests do has short names here.
var (
	allWorkers      = builder.AllWorkers()
	suspended       = builder.Suspended()
	cleaning        = builder.Clean
	finishGrace     = builder.FinishGrace
	timeToLive      = builder.TTL
	activeDeadline  = builder.Deadline
	startupDeadline = builder.StartupDeadline
	maxRestarts     = builder.MaxRestarts
	recovering      = builder.Recovery
	rules           = builder.Rules
	reporting       = builder.Progress
	elastic         = builder.Elastic
)

type replicaOption func(*v1alpha1.ReplicaSpec)

func tensorflow(name string, options ...jobOption) *v1alpha1.TrainingJob {
	return job(name, v1alpha1.TensorFlow, options...)
}

func pytorch(name string, options ...jobOption) *v1alpha1.TrainingJob {
	return job(name, v1alpha1.PyTorch, options...)
}

func jax(name string, options ...jobOption) *v1alpha1.TrainingJob {
	return job(name, v1alpha1.JAX, options...)
}

func custom(name string, options ...jobOption) *v1alpha1.TrainingJob {
	return job(name, v1alpha1.Custom, options...)
}

// job returns a job that restarts without back-off and is cleaned up as soon as it has succeeded, unless an option says otherwise.
func job(name string, framework v1alpha1.Framework, options ...jobOption) *v1alpha1.TrainingJob {
	j := builder.Submitted(name, framework, append([]jobOption{backOff(0), finishGrace(0)}, options...)...)
	j.Namespace = here.namespace
	return j
}

func chief(options ...replicaOption) jobOption { return replicas(v1alpha1.Chief, 1, options) }

func master(options ...replicaOption) jobOption { return replicas(v1alpha1.Master, 1, options) }

func evaluator(options ...replicaOption) jobOption { return replicas(v1alpha1.Evaluator, 1, options) }

func workers(n int32, options ...replicaOption) jobOption {
	return replicas(v1alpha1.Worker, n, options)
}

func ps(n int32, options ...replicaOption) jobOption { return replicas(v1alpha1.PS, n, options) }

func replicas(role v1alpha1.Role, n int32, options []replicaOption) jobOption {
	return func(j *v1alpha1.TrainingJob) {
		spec := v1alpha1.ReplicaSpec{Replicas: &n}
		spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "example.test/train:1"}}
		for _, option := range options {
			option(&spec)
		}
		j.Spec.ReplicaSpecs[role] = spec
	}
}

func maxOOMRestarts(n int32) jobOption {
	return recovering(func(r *v1alpha1.Recovery) { r.MaxOOMRestarts = &n })
}

func spares(n int32) replicaOption {
	return func(r *v1alpha1.ReplicaSpec) { r.Spares = &v1alpha1.Spares{Count: n} }
}

func backOff(seconds int32) jobOption {
	return func(j *v1alpha1.TrainingJob) {
		j.Spec.Recovery.BackoffSeconds, j.Spec.Recovery.MaxBackoffSeconds = &seconds, ptr.To(max(seconds, 1))
	}
}

func managedBy(controller string) jobOption {
	return func(j *v1alpha1.TrainingJob) { j.Spec.ManagedBy = controller }
}

func restarting(policy v1alpha1.RestartPolicy) replicaOption {
	return func(r *v1alpha1.ReplicaSpec) { r.RestartPolicy = policy }
}

func scope(scope v1alpha1.RestartScope) replicaOption {
	return func(r *v1alpha1.ReplicaSpec) { r.RestartScope = scope }
}

// doing makes fake nodes treat every pod of the role so, in every life: doing("run-for", "1s").
func doing(what, value string) replicaOption {
	return func(r *v1alpha1.ReplicaSpec) {
		if r.Template.Annotations == nil {
			r.Template.Annotations = map[string]string{}
		}
		r.Template.Annotations[builder.LabPrefix+what] = value
	}
}

func setting(name, value string) replicaOption {
	return func(r *v1alpha1.ReplicaSpec) {
		c := &r.Template.Spec.Containers[0]
		c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: value})
	}
}

func limited(to corev1.ResourceName, quantity int64) replicaOption {
	return func(r *v1alpha1.ReplicaSpec) {
		r.Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{to: *resource.NewQuantity(quantity, resource.DecimalSI)}
	}
}

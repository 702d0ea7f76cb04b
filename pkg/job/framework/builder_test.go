package framework_test

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

type option func(*v1alpha1.TrainingJob)

// newJob returns a job named mnist in namespace team-a.
func newJob(framework v1alpha1.Framework, options ...option) *v1alpha1.TrainingJob {
	job := &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Name: "mnist", Namespace: "team-a", UID: "6f1a"},
		Spec: v1alpha1.TrainingJobSpec{
			Framework:    framework,
			ReplicaSpecs: map[v1alpha1.Role]v1alpha1.ReplicaSpec{},
			Recovery:     v1alpha1.Recovery{MaxRestarts: ptr.To(v1alpha1.DefaultMaxRestarts)},
		},
	}
	for _, apply := range options {
		apply(job)
	}
	return job
}

func replicas(role v1alpha1.Role, n int) option {
	return func(job *v1alpha1.TrainingJob) {
		spec := job.Spec.ReplicaSpecs[role]
		spec.Replicas = ptr.To(int32(n))
		spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "train"}}
		job.Spec.ReplicaSpecs[role] = spec
	}
}

func workers(n int) option    { return replicas(v1alpha1.Worker, n) }
func ps(n int) option         { return replicas(v1alpha1.PS, n) }
func evaluators(n int) option { return replicas(v1alpha1.Evaluator, n) }

var (
	chief    = replicas(v1alpha1.Chief, 1)
	master   = replicas(v1alpha1.Master, 1)
	launcher = replicas(v1alpha1.Launcher, 1)
)

func launchedBy(agent v1alpha1.LaunchAgent) option {
	return func(job *v1alpha1.TrainingJob) { job.Spec.MPI = &v1alpha1.MPISpec{LaunchAgent: agent} }
}

func elastic(least, most int32) option {
	return func(job *v1alpha1.TrainingJob) {
		job.Spec.Elastic = &v1alpha1.Elastic{MinReplicas: least, MaxReplicas: most}
	}
}

// meetingAt changes where the workers of an elastic job meet.
func meetingAt(backend, endpoint string, conf ...string) option {
	return func(job *v1alpha1.TrainingJob) {
		job.Spec.Elastic.Rendezvous = &v1alpha1.Rendezvous{Backend: backend, Endpoint: endpoint, Conf: conf}
	}
}

func attempt(n int32) option {
	return func(job *v1alpha1.TrainingJob) { job.Status.Attempt = n }
}

func named(namespace, name string) option {
	return func(job *v1alpha1.TrainingJob) { job.Namespace, job.Name = namespace, name }
}

func port(role v1alpha1.Role, name string, number int32) option {
	return func(job *v1alpha1.TrainingJob) {
		container := &job.Spec.ReplicaSpecs[role].Template.Spec.Containers[0]
		container.Ports = append(container.Ports, corev1.ContainerPort{Name: name, ContainerPort: number})
	}
}

func limit(role v1alpha1.Role, name corev1.ResourceName, quantity string) option {
	return func(job *v1alpha1.TrainingJob) {
		container := &job.Spec.ReplicaSpecs[role].Template.Spec.Containers[0]
		container.Resources.Limits = corev1.ResourceList{name: resource.MustParse(quantity)}
	}
}

// slots returns the job's slots in the order of their ranks.
func slots(job *v1alpha1.TrainingJob) []state.Slot {
	var all []state.Slot
	for _, role := range v1alpha1.Roles {
		for i := range int(job.Spec.Replicas(role)) {
			all = append(all, state.Slot{Role: role, Index: i})
		}
	}
	return all
}

// everyShape returns jobs of the framework in all combinations of roles and sizes that the CRD admits.
func everyShape(framework v1alpha1.Framework, others ...option) map[string]*v1alpha1.TrainingJob {
	jobs := map[string]*v1alpha1.TrainingJob{}
	for mask := range 1 << len(others) {
		for _, n := range []int{0, 1, 2, 7} {
			for _, grows := range []bool{false, true} {
				options := []option{workers(n)}
				for i, other := range others {
					if mask&(1<<i) != 0 {
						options = append(options, other)
					}
				}
				if grows {
					options = append(options, elastic(1, 9))
				}
				job := newJob(framework, options...)
				mayElastic := n > 0 && slices.Contains([]v1alpha1.Framework{v1alpha1.TensorFlow, v1alpha1.PyTorch, v1alpha1.Custom}, framework)
				if state.WorldSize(&job.Spec) > 0 && (!grows || mayElastic) {
					jobs[fmt.Sprintf("%v elastic %t", slots(job), grows)] = job
				}
			}
		}
	}
	return jobs
}

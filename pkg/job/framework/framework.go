// Package framework gives each replica its identity and the addresses of its peers, in the variables that the job's training framework
// reads.
//
// A framework is a function, not a controller: it returns values and does nothing else. What all replicas share is computed once per job,
// so a job of n replicas costs n times the length of the answer and no more.
//
//	job ──> Environment(job) ──> one function from slot to variables ──> build.Pod
//
// build.Pod adds TRAININGJOB_* for every framework, and the template's own variables win. Where variables are not enough, as for MPI,
// Complete puts the rest into the pod.
package framework

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/state"
)

// environments returns, for one job, the variables of each of its replicas, by framework. What all replicas share is computed once. Each answer is the
// caller's to keep.
var environments = map[v1alpha1.Framework]func(*v1alpha1.TrainingJob) func(state.Slot) []corev1.EnvVar{
	v1alpha1.TensorFlow: tensorflow, v1alpha1.PyTorch: pytorch, v1alpha1.JAX: jax, v1alpha1.MPI: mpi, v1alpha1.XGBoost: xgboost,
	v1alpha1.LightGBM: lightgbm, v1alpha1.Paddle: paddle, v1alpha1.Custom: custom,
}

// Environment returns the variables by which each replica of the job finds its rank and its peers; an unknown framework has the variables of Custom.
func Environment(job *v1alpha1.TrainingJob) func(state.Slot) []corev1.EnvVar {
	if environment := environments[job.Spec.Framework]; environment != nil {
		return environment(job)
	}
	return custom(job)
}

// Complete returns what gives the pods of the job all that is not variables, such as files; of most frameworks it does nothing.
func Complete(job *v1alpha1.TrainingJob) func(state.Slot, *corev1.Pod) {
	if job.Spec.Framework == v1alpha1.MPI {
		return completeMPI(job)
	}
	return func(state.Slot, *corev1.Pod) {}
}

// unbuffered has the output of Python programs written at once.
func unbuffered() []corev1.EnvVar { return []corev1.EnvVar{{Name: "PYTHONUNBUFFERED", Value: "1"}} }

// ranked returns the variables of ranks: the shared ones, and its own. An evaluator is no rank.
func ranked(shared []corev1.EnvVar, own func(state.Slot) []corev1.EnvVar) func(state.Slot) []corev1.EnvVar {
	return func(slot state.Slot) []corev1.EnvVar {
		if slot.Role == v1alpha1.Evaluator {
			return unbuffered()
		}
		return slices.Concat(shared, own(slot))
	}
}

// addresses returns "host:port" of all replicas of the roles.
func addresses(job *v1alpha1.TrainingJob, roles ...v1alpha1.Role) (list []string) {
	for _, role := range roles {
		for i := range int(job.Spec.Replicas(role)) {
			list = append(list, address(job, state.Slot{Role: role, Index: i}))
		}
	}
	return list
}

func address(job *v1alpha1.TrainingJob, slot state.Slot) string {
	return fmt.Sprintf("%s:%d", build.Address(job, slot), build.Port(job, slot.Role))
}

// maxPorts is how many ports an EndpointSlice can have.
const maxPorts = 100

// Ports returns the TCP ports at which the job's replicas find each other, sorted: the framework's ports, and the ports that the
// templates declare, as far as there is room for them. XGBoost itself chooses the ports that ranks open among themselves.
func Ports(job *v1alpha1.TrainingJob) []int32 {
	var ports []int32
	for _, role := range job.Spec.Roles() {
		ports = append(ports, build.Listens(job, state.Slot{Role: role})...)
	}
	for _, port := range build.DeclaredPorts(job) {
		if len(ports) < maxPorts && !slices.Contains(ports, port) {
			ports = append(ports, port)
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

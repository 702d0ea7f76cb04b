// Package framework gives each replica its identity and the addresses of its peers, in the variables that the job's training framework
// reads.
//
// A framework is a function, not a controller: it returns values and does nothing else. What all replicas share is computed once per job,
// so a job of n replicas costs n times the length of the answer and no more.
//
//	job ──> For(job.Spec.Framework).Environment(job) ──> one function from slot to variables ──> build.Pod
//
// build.Pod adds TRAININGJOB_* for every framework, and the template's own variables win. Where variables are not enough, as for MPI, the
// framework is a Completer and puts the rest into the pod.
package framework

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/framework/custom"
	"github.com/trainingjob/operator/pkg/job/framework/jax"
	"github.com/trainingjob/operator/pkg/job/framework/lightgbm"
	"github.com/trainingjob/operator/pkg/job/framework/mpi"
	"github.com/trainingjob/operator/pkg/job/framework/paddle"
	"github.com/trainingjob/operator/pkg/job/framework/pytorch"
	"github.com/trainingjob/operator/pkg/job/framework/tensorflow"
	"github.com/trainingjob/operator/pkg/job/framework/xgboost"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Framework returns the variables by which a replica finds its rank and its peers.
type Framework interface {
	// Name returns the framework as spec.framework has it.
	Name() v1alpha1.Framework
	// Environment returns, for one job, the environment of each of its replicas. What all replicas share is computed
	// once. Each answer is the caller's to keep.
	Environment(job *v1alpha1.TrainingJob) func(state.Slot) []corev1.EnvVar
}

// Completer is a framework whose replicas need more than variables.
type Completer interface {
	Framework
	// Complete returns, for one job, what gives the pod of a replica the rest: files, or a command where the template has none.
	Complete(job *v1alpha1.TrainingJob) func(state.Slot, *corev1.Pod)
}

var known = []Framework{
	tensorflow.Framework{}, pytorch.Framework{}, jax.Framework{}, mpi.Framework{}, xgboost.Framework{}, lightgbm.Framework{},
	paddle.Framework{}, custom.Framework{},
}

// For returns the framework of that name, and Custom for an unknown one: its replicas still get TRAININGJOB_*.
func For(name v1alpha1.Framework) Framework {
	for _, framework := range known {
		if framework.Name() == name {
			return framework
		}
	}
	return custom.Framework{}
}

// maxPorts is how many ports an EndpointSlice can have.
const maxPorts = 100

// Ports returns the TCP ports at which the job's replicas find each other, sorted: the framework's ports, and the ports that the
// templates declare, as far as there is room for them. XGBoost itself chooses the ports that ranks open among themselves.
func Ports(job *v1alpha1.TrainingJob) []int32 {
	var ports []int32
	switch facts := state.FactsOf(job.Spec.Framework); {
	case facts.Meet:
		ports = build.LeaderPorts(job)
	case job.Spec.LaunchesBySSH():
		ports = []int32{build.SSHPort}
	case facts.Port.Default != 0:
		for _, role := range job.Spec.Roles() {
			ports = append(ports, build.Port(job, role))
		}
	}
	for _, port := range build.DeclaredPorts(job) {
		if len(ports) < maxPorts && !slices.Contains(ports, port) {
			ports = append(ports, port)
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// Complete returns what gives the pods of the job all that is not variables; of most frameworks it does nothing.
func Complete(job *v1alpha1.TrainingJob) func(state.Slot, *corev1.Pod) {
	if completer, is := For(job.Spec.Framework).(Completer); is {
		return completer.Complete(job)
	}
	return func(state.Slot, *corev1.Pod) {}
}

package framework

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/state"
)

// jax gives the replicas of a JAX job the address of their coordinator and the number of their process.
//
// The workers are the processes, worker i is process i, and worker 0 runs the coordinator. An evaluator is no process of the collective.
//
//	JAX_COORDINATOR_ADDRESS   address of worker 0 and port    read by initialize (jax/_src/distributed.py)
//	JAX_NUM_PROCESSES         number of workers               for the script to pass on, see below
//	JAX_PROCESS_ID            the worker's index              for the script to pass on
//	COORDINATOR_ADDRESS, COORDINATOR_PORT, NUM_PROCESSES, PROCESS_ID
//	                          the same, under the names of Kubeflow's JAXJob v1 (pkg/controller.v1/jax/envvar.go)
//	PYTHONUNBUFFERED          1, also for evaluators
//
// JAX (0.10) takes only the address from the environment. Its cluster detection knows Slurm, Open MPI, Cloud TPU and,
// with the kubernetes package installed, batch/v1 Jobs; a TrainingJob is none of these. A script therefore calls
//
//	jax.distributed.initialize(num_processes=int(os.environ["JAX_NUM_PROCESSES"]),
//	                           process_id=int(os.environ["JAX_PROCESS_ID"]),
//	                           cluster_detection_method="deactivate")
//
// The last argument matters where that package is installed: JAX then runs its detection even if it has both numbers, to count devices
// (clusters/cluster.py), and that fails in a pod without a token.
func jax(job *v1alpha1.TrainingJob) func(state.Slot) []corev1.EnvVar {
	host, size := build.Address(job, state.Leader(&job.Spec)), strconv.Itoa(state.WorldSize(&job.Spec))
	port, meeting := build.Meeting(job)
	shared := slices.Concat(unbuffered(), meeting, []corev1.EnvVar{
		{Name: "JAX_COORDINATOR_ADDRESS", Value: host + ":" + port},
		{Name: "JAX_NUM_PROCESSES", Value: size},
		{Name: "COORDINATOR_ADDRESS", Value: host},
		{Name: "COORDINATOR_PORT", Value: port},
		{Name: "NUM_PROCESSES", Value: size},
	})
	return ranked(shared, func(slot state.Slot) []corev1.EnvVar {
		id := strconv.Itoa(state.Rank(&job.Spec, slot))
		return []corev1.EnvVar{{Name: "JAX_PROCESS_ID", Value: id}, {Name: "PROCESS_ID", Value: id}}
	})
}

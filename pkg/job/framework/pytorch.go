package framework

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/state"
)

// pytorch gives the replicas of a PyTorch job their rank and the address at which they meet.
//
// The master is rank 0 and worker i is rank i + number of masters; without a master, worker 0 is rank 0 and the
// address to meet at. A job may be started with plain python or with torchrun, so each replica gets both sets:
//
//	MASTER_ADDR, MASTER_PORT, WORLD_SIZE, RANK    read by init_process_group (torch/distributed/rendezvous.py, env://)
//	PET_<FLAG>                                    torchrun's default for --<flag> (torch/distributed/argparse_util.py):
//	  PET_NNODES, PET_NODE_RANK, PET_NPROC_PER_NODE, PET_MASTER_ADDR, PET_MASTER_PORT
//	  elastic: PET_RDZV_BACKEND, _ENDPOINT, _ID, _CONF, PET_MAX_RESTARTS
//	PYTHONUNBUFFERED                              1, also for evaluators
//
// A flag on torchrun's command line beats PET_*, and torchrun sets MASTER_*, WORLD_SIZE and RANK again for the processes
// it starts. Until then WORLD_SIZE and RANK count pods, one process each; WORLD_SIZE
// counts processes in a job that serves a PyTorchJob. An evaluator has no MASTER_ADDR: it is not in the collective, and
// torchrun in it runs alone.
func pytorch(job *v1alpha1.TrainingJob) func(state.Slot) []corev1.EnvVar {
	shared := append(unbuffered(), torchCollective(job)...)
	return ranked(shared, func(slot state.Slot) []corev1.EnvVar { return torchMember(job, slot) })
}

// torchCollective returns what all ranks share. PET_NNODES of an elastic job is minReplicas:maxReplicas, plus the master on both sides: scaling
// changes no variable but WORLD_SIZE, the size when the pod was made, which torchrun does not read.
func torchCollective(job *v1alpha1.TrainingJob) []corev1.EnvVar {
	leader := state.Leader(&job.Spec)
	host := build.Address(job, leader)
	port, env := build.Meeting(job)
	size := state.WorldSize(&job.Spec)
	env = append(env,
		corev1.EnvVar{Name: "MASTER_ADDR", Value: host},
		corev1.EnvVar{Name: "MASTER_PORT", Value: port},
		corev1.EnvVar{Name: "WORLD_SIZE", Value: strconv.Itoa(size * ranksPerPod(job))},
		corev1.EnvVar{Name: "PET_MASTER_ADDR", Value: host},
		corev1.EnvVar{Name: "PET_MASTER_PORT", Value: port},
	)
	elastic := job.Spec.Elastic
	if elastic == nil {
		return append(env, corev1.EnvVar{Name: "PET_NNODES", Value: strconv.Itoa(size)})
	}
	masters := int32(size) - job.Spec.Replicas(v1alpha1.Worker)
	nodes := fmt.Sprintf("%d:%d", elastic.MinReplicas+masters, elastic.MaxReplicas+masters)
	backend, endpoint, _ := rendezvous(elastic)
	return append(env,
		corev1.EnvVar{Name: "PET_NNODES", Value: nodes},
		corev1.EnvVar{Name: "PET_RDZV_BACKEND", Value: backend},
		corev1.EnvVar{Name: "PET_RDZV_ENDPOINT", Value: cmp.Or(endpoint, host+":"+port)},
		corev1.EnvVar{Name: "PET_RDZV_ID", Value: fmt.Sprintf("%s-%s", job.UID, build.Attempt(job))},
		corev1.EnvVar{Name: "PET_MAX_RESTARTS", Value: strconv.Itoa(int(ptr.Deref(job.Spec.Recovery.MaxRestarts, v1alpha1.DefaultMaxRestarts)))},
	)
}

// ranksPerPod returns by how much WORLD_SIZE exceeds the number of pods: 1, or the number in nprocPerNode of a PyTorchJob with a Master that the job
// serves. Source: pkg/controller.v1/pytorch/envvar.go of Training Operator 1.9.4.
func ranksPerPod(job *v1alpha1.TrainingJob) int {
	if state.ServedJob(job) == nil {
		return 1
	}
	for _, c := range job.Spec.ReplicaSpecs[v1alpha1.Master].Template.Spec.Containers {
		for _, v := range c.Env {
			if n, err := strconv.Atoi(v.Value); v.Name == "PET_NPROC_PER_NODE" && err == nil {
				return n
			}
		}
	}
	return 1
}

// rendezvous returns the job's own rendezvous; an empty endpoint is the leader's.
func rendezvous(elastic *v1alpha1.Elastic) (backend, endpoint string, conf []string) {
	r := elastic.Rendezvous
	if r == nil {
		return "c10d", "", nil
	}
	return cmp.Or(r.Backend, "c10d"), r.Endpoint, r.Conf
}

// torchMember returns the variables of one rank. PET_RDZV_CONF has is_host=true for the leader and is_host=false for all others. Without it
// torchrun looks itself up in DNS (elastic/rendezvous/utils.py, _matches_machine_hostname), and a leader that is faster than its DNS record
// takes itself for another host: then no rank hosts the store. With an endpoint outside the job no rank is its host.
func torchMember(job *v1alpha1.TrainingJob, slot state.Slot) []corev1.EnvVar {
	rank := strconv.Itoa(state.Rank(&job.Spec, slot))
	env := []corev1.EnvVar{
		{Name: "RANK", Value: rank},
		{Name: "PET_NODE_RANK", Value: rank},
		{Name: "PET_NPROC_PER_NODE", Value: processes(job, slot.Role)},
	}
	if job.Spec.Elastic == nil {
		return env
	}
	_, endpoint, conf := rendezvous(job.Spec.Elastic)
	if endpoint == "" {
		conf = append([]string{"is_host=" + strconv.FormatBool(slot == state.Leader(&job.Spec))}, conf...)
	}
	if len(conf) > 0 {
		env = append(env, corev1.EnvVar{Name: "PET_RDZV_CONF", Value: strings.Join(conf, ",")})
	}
	return env
}

// processes returns how many processes torchrun starts in a pod of the role:
//
//   - auto, the number of devices that torch sees, if the role requests a GPU, as in PyTorchJob v1.
//   - the number of Gaudi, Ascend and Intel devices or Neuron cores, which auto does not count in every torch (distributed/run.py,
//     determine_local_world_size).
//   - else 1, torchrun's own default: auto would start one process for each CPU that it counts, perhaps all of the node's. This includes
//     GPUs of a resource claim (DRA), because the pod does not show what a claim holds, and MIG slices, because a process sees only one
//     of them. For these, users write --nproc-per-node.
func processes(job *v1alpha1.TrainingJob, role v1alpha1.Role) string {
	switch gpus, uncounted := build.Accelerators(job, role); {
	case uncounted > 0:
		return strconv.FormatInt(uncounted, 10)
	case gpus > 0:
		return "auto"
	default:
		return "1"
	}
}

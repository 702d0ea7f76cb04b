// Package pytorch tells the replicas of a PyTorch job their rank and where to meet.
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
// A flag on torchrun's command line beats PET_*, and torchrun sets MASTER_*, WORLD_SIZE and RANK anew for the processes
// it starts. Until then WORLD_SIZE and RANK count pods, one process each.
//
// Decisions, newest first:
//   - elastic.rendezvous replaces backend and endpoint; with an endpoint outside the job nobody is its host, and PET_RDZV_CONF
//     holds only what the user wrote.
//   - PET_MAX_RESTARTS of an elastic job is recovery.maxRestarts, not 0. torchrun takes a newcomer in for free, but the
//     loss of a peer, by failure or by scaling down, breaks the survivors' collective and costs each of them one
//     restart (elastic/agent/server/api.py, _invoke_run; the quickstart says that scaling up counts too, the code does
//     not). With 0 every scale-down would end every pod. The price: torchrun restarts a script that crashes by itself
//     so often before the operator sees a failed pod. Who wants to see each crash sets PET_MAX_RESTARTS=0 in the
//     template. A fixed job has none: torchrun's default is 0.
//   - PET_RDZV_CONF says is_host=true to the leader and is_host=false to all others. Left alone, torchrun looks itself
//     up in DNS (elastic/rendezvous/utils.py, _matches_machine_hostname); a leader faster than its DNS record finds
//     itself to be somebody else, and nobody hosts the store.
//   - PET_RDZV_ID is the job's UID and the attempt: an agent of a past attempt or of a former job of that name asks the
//     new store for another key and joins nothing. Replacements within an attempt meet their peers.
//   - PET_NNODES of an elastic job is minReplicas:maxReplicas, plus the master on both sides, so scaling changes no
//     replica's variables but WORLD_SIZE, which is the size when the pod was made. torchrun does not read that one.
//   - PET_NPROC_PER_NODE is auto, as in PyTorchJob v1, if the role asks for a GPU: the number of devices that torch
//     sees. It is the number of Gaudi, Ascend and Intel devices or Neuron cores, which auto does not count in every torch
//     (distributed/run.py, determine_local_world_size). Else 1, torchrun's own default: auto would start one process per CPU
//     it counts, which may be all of the node's. So it is for GPUs of a resource claim (DRA), as nothing in the pod says what
//     a claim holds, and for MIG slices, as a process sees one of them only. For these, write --nproc-per-node.
//   - The port is the container port named pytorchjob-port, else torch's 29500; PyTorchJob v1 had 23456.
//   - PYTHONUNBUFFERED, which PyTorchJob v1 sets too: a killed rank's last lines are what explains the failure.
//   - An evaluator gets no MASTER_ADDR: it is not of the collective, and torchrun in it runs alone.
package pytorch

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/build"
	"github.com/trainingjob/operator/pkg/state"
)

// Framework is the PyTorch framework.
type Framework struct{}

// Name returns PyTorch.
func (Framework) Name() v1alpha1.Framework { return v1alpha1.PyTorch }

// Environment returns the variables of the package comment.
func (Framework) Environment(job *v1alpha1.TrainingJob) func(state.Slot) []corev1.EnvVar {
	python := []corev1.EnvVar{{Name: "PYTHONUNBUFFERED", Value: "1"}}
	shared := slices.Concat(python, collective(job))
	return func(slot state.Slot) []corev1.EnvVar {
		if slot.Role == v1alpha1.Evaluator {
			return slices.Clone(python)
		}
		return slices.Concat(shared, member(job, slot))
	}
}

// Port returns the port of the leader's store.
func (Framework) Port(job *v1alpha1.TrainingJob) int32 {
	return build.MeetingPort(job)
}

// collective returns what all ranks share.
func collective(job *v1alpha1.TrainingJob) []corev1.EnvVar {
	leader := state.Leader(&job.Spec)
	host := build.Address(job, leader)
	port, env := build.Meeting(job, Framework{}.Port(job))
	size := state.WorldSize(&job.Spec)
	env = append(env,
		corev1.EnvVar{Name: "MASTER_ADDR", Value: host},
		corev1.EnvVar{Name: "MASTER_PORT", Value: port},
		corev1.EnvVar{Name: "WORLD_SIZE", Value: strconv.Itoa(size)},
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

// rendezvous returns what the job says of its rendezvous; an empty endpoint is the leader's.
func rendezvous(elastic *v1alpha1.Elastic) (backend, endpoint string, conf []string) {
	r := elastic.Rendezvous
	if r == nil {
		return "c10d", "", nil
	}
	return cmp.Or(r.Backend, "c10d"), r.Endpoint, r.Conf
}

// member returns what is one rank's own.
func member(job *v1alpha1.TrainingJob, slot state.Slot) []corev1.EnvVar {
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

// processes returns how many processes torchrun starts in a pod of the role.
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

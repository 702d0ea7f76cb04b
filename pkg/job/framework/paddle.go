package framework

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/state"
)

// paddle gives the replicas of a Paddle job their rank and the address at which they meet.
//
// Without parameter servers the job is a collective: the master is rank 0 and worker i is rank i + number of masters; without a
// master, worker 0 is rank 0. It may be started with paddle.distributed.launch, or with plain python for one process per pod:
//
//	PADDLE_MASTER, PADDLE_NNODES, PADDLE_RANK, PADDLE_JOB_ID
//	                        the launcher's --master, --nnodes, --rank and --job_id (distributed/launch/context/args_envs.py);
//	                        it sets the others again for the processes that it starts
//	PADDLE_TRAINER_ID, PADDLE_TRAINERS_NUM, PADDLE_CURRENT_ENDPOINT
//	                        read by init_parallel_env (distributed/parallel.py), which meets at PADDLE_MASTER; without GPUs
//	                        it also needs PADDLE_DISTRI_BACKEND=gloo, which the launcher sets by itself
//
// With parameter servers each replica is one process, started with plain python. fleet.init reads what it is
// (distributed/fleet/base/role_maker.py, PaddleCloudRoleMaker):
//
//	PADDLE_PSERVERS_IP_PORT_LIST, PADDLE_TRAINER_ENDPOINTS, PADDLE_TRAINERS_NUM
//	TRAINING_ROLE           PSERVER or TRAINER
//	PADDLE_TRAINER_ID       a trainer's rank
//	POD_IP, PADDLE_PORT     the replica's own entry of its list: its name, not its address; Paddle 2.6 wants them of trainers as well
//
// PYTHONUNBUFFERED is 1 for all, also for evaluators, which are no ranks. In PaddleJob v1 a Master was a server; here a PS is.
func paddle(job *v1alpha1.TrainingJob) func(state.Slot) []corev1.EnvVar {
	shared := append(unbuffered(), corev1.EnvVar{Name: "PADDLE_TRAINERS_NUM", Value: strconv.Itoa(state.WorldSize(&job.Spec))})
	member := paddleCollective
	if job.Spec.Replicas(v1alpha1.PS) > 0 {
		member = paddleWithServers
		shared = append(shared,
			corev1.EnvVar{Name: "PADDLE_TRAINER_ENDPOINTS", Value: strings.Join(addresses(job, v1alpha1.Master, v1alpha1.Worker), ",")},
			corev1.EnvVar{Name: "PADDLE_PSERVERS_IP_PORT_LIST", Value: strings.Join(addresses(job, v1alpha1.PS), ",")})
	}
	return ranked(shared, func(slot state.Slot) []corev1.EnvVar { return member(job, slot) })
}

// paddleCollective returns the variables of one rank.
//
//   - The leader's PADDLE_MASTER is 127.0.0.1: the launcher serves the meeting if that or its own address is there, and never resolves a
//     name for it (distributed/launch/controllers/master.py, HTTPMaster). PaddleJob v1 gave it the pod's address.
//   - Without PADDLE_RANK nodes are ranked by names that the launcher draws at random.
//   - There is no PADDLE_TRAINER_ENDPOINTS: the launcher would take the first of them for the master, whatever PADDLE_MASTER is
//     (distributed/launch/plugins, collective_compatible), and then no rank serves.
func paddleCollective(job *v1alpha1.TrainingJob, slot state.Slot) []corev1.EnvVar {
	leader, rank := state.Leader(&job.Spec), strconv.Itoa(state.Rank(&job.Spec, slot))
	master := address(job, leader)
	if slot == leader {
		master = fmt.Sprintf("127.0.0.1:%d", build.Port(job, leader.Role))
	}
	return []corev1.EnvVar{
		{Name: "PADDLE_MASTER", Value: master},
		{Name: "PADDLE_NNODES", Value: strconv.Itoa(state.WorldSize(&job.Spec))},
		{Name: "PADDLE_RANK", Value: rank},
		{Name: "PADDLE_JOB_ID", Value: fmt.Sprintf("%s-%s", job.UID, build.Attempt(job))},
		{Name: "PADDLE_TRAINER_ID", Value: rank},
		{Name: "PADDLE_CURRENT_ENDPOINT", Value: address(job, slot)},
	}
}

// paddleWithServers returns the variables of one server or trainer.
func paddleWithServers(job *v1alpha1.TrainingJob, slot state.Slot) []corev1.EnvVar {
	own := []corev1.EnvVar{
		{Name: "POD_IP", Value: build.Address(job, slot)},
		{Name: "PADDLE_PORT", Value: strconv.Itoa(int(build.Port(job, slot.Role)))},
	}
	if slot.Role == v1alpha1.PS {
		return append(own, corev1.EnvVar{Name: "TRAINING_ROLE", Value: "PSERVER"})
	}
	return append(own, corev1.EnvVar{Name: "TRAINING_ROLE", Value: "TRAINER"},
		corev1.EnvVar{Name: "PADDLE_TRAINER_ID", Value: strconv.Itoa(state.Rank(&job.Spec, slot))})
}

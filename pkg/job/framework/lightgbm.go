package framework

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/state"
)

// lightgbm gives the replicas of a LightGBM job their rank and the list of machines. An evaluator is no rank.
//
// The master is rank 0 and worker i is rank i + number of masters; without a master, worker 0 is rank 0.
//
//	LIGHTGBM_MACHINES             host:port of each rank, in the order of ranks, with commas    for the parameters of the
//	LIGHTGBM_NUM_MACHINES         number of ranks                                               names behind LIGHTGBM_
//	LIGHTGBM_LOCAL_LISTEN_PORT    the replica's own port                                        (docs/Parameters.rst)
//	MASTER_ADDR, MASTER_PORT, WORLD_SIZE, RANK, WORKER_ADDRS, WORKER_PORT
//	                              as in Kubeflow's XGBoostJob v1, whose LightGBM jobs made their list of these
//	PYTHONUNBUFFERED              1, also for evaluators
//
// LightGBM (4.7) reads no variable by itself, and its machines are IPv4 addresses: inet_pton turns a name into 0.0.0.0, unchecked
// (src/network/socket_wrapper.hpp), and each rank would call itself. The script turns names into addresses once all resolve:
//
//	machines = ["rank=" + os.environ["RANK"]]
//	for machine in os.environ["LIGHTGBM_MACHINES"].split(","):
//	    host, port = machine.split(":")
//	    machines.append(resolve(host) + ":" + port)    # socket.gethostbyname, again until it succeeds
//	params = {"machines": ",".join(machines), "num_machines": ..., "local_listen_port": ..., "tree_learner": "data"}
//
// The entry "rank=<n>" (src/network/linkers_socket.cpp, ParseMachineList) gives LightGBM its rank. Without it a process looks for its own
// address in the list, and may not find it in a pod with several interfaces.
func lightgbm(job *v1alpha1.TrainingJob) func(state.Slot) []corev1.EnvVar {
	leaders := strconv.Itoa(int(build.Port(job, state.Leader(&job.Spec).Role)))
	shared := append(boosting(job, leaders),
		corev1.EnvVar{Name: "LIGHTGBM_MACHINES", Value: strings.Join(addresses(job, v1alpha1.Master, v1alpha1.Worker), ",")},
		corev1.EnvVar{Name: "LIGHTGBM_NUM_MACHINES", Value: strconv.Itoa(state.WorldSize(&job.Spec))})
	return ranked(shared, func(slot state.Slot) []corev1.EnvVar {
		return []corev1.EnvVar{
			{Name: "RANK", Value: strconv.Itoa(state.Rank(&job.Spec, slot))},
			{Name: "LIGHTGBM_LOCAL_LISTEN_PORT", Value: strconv.Itoa(int(build.Port(job, slot.Role)))},
		}
	})
}

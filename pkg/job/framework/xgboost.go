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

// xgboost gives the replicas of an XGBoost job their rank and the address of the tracker that makes them a collective. An evaluator
// is no rank.
//
// The master is rank 0 and worker i is rank i + number of masters; without a master, worker 0 is rank 0. Rank 0 runs the
// tracker beside its own training.
//
//	DMLC_TRACKER_URI, DMLC_TRACKER_PORT    address of rank 0, and port     under the names of XGBoost's own
//	DMLC_TASK_ID                           the rank, of a fixed width      parameters (xgboost/collective.py, init)
//	DMLC_NUM_WORKER                        number of ranks
//	MASTER_ADDR, MASTER_PORT, WORLD_SIZE, RANK, WORKER_ADDRS, WORKER_PORT
//	                                       as in Kubeflow's XGBoostJob v1 (pkg/controller.v1/xgboost); WORKER_ADDRS has
//	                                       all ranks but rank 0, and is left out if there are none
//	PYTHONUNBUFFERED                       1, also for evaluators
//
// XGBoost (3.0) reads no variable by itself: the script passes them on. The script also waits until DMLC_TRACKER_URI resolves, because
// XGBoost gives up at once on a name that does not (src/collective/socket.cc, MakeSockAddress):
//
//	if os.environ["RANK"] == "0":
//	    tracker = RabitTracker(n_workers=int(os.environ["WORLD_SIZE"]), host_ip="0.0.0.0",
//	                           port=int(os.environ["DMLC_TRACKER_PORT"]), sortby="task")
//	    tracker.start()
//	with CommunicatorContext(dmlc_tracker_uri=resolve(os.environ["DMLC_TRACKER_URI"]),
//	                         dmlc_tracker_port=int(os.environ["DMLC_TRACKER_PORT"]),
//	                         dmlc_task_id=os.environ["DMLC_TASK_ID"], dmlc_retry=60):
func xgboost(job *v1alpha1.TrainingJob) func(state.Slot) []corev1.EnvVar {
	tracker, shared := build.Meeting(job)
	shared = append(shared, boosting(job, tracker)...)
	shared = append(shared,
		corev1.EnvVar{Name: "DMLC_TRACKER_URI", Value: build.Address(job, state.Leader(&job.Spec))},
		corev1.EnvVar{Name: "DMLC_TRACKER_PORT", Value: tracker},
		corev1.EnvVar{Name: "DMLC_NUM_WORKER", Value: strconv.Itoa(state.WorldSize(&job.Spec))})
	// the tracker sorts task ids as text (src/collective/tracker.h, WorkerCmp), and with sortby="task" XGBoost's rank is RANK then; by host,
	// its default, ranks would follow the addresses of the pods
	width := len(strconv.Itoa(state.WorldSize(&job.Spec) - 1))
	return ranked(shared, func(slot state.Slot) []corev1.EnvVar {
		rank := state.Rank(&job.Spec, slot)
		return []corev1.EnvVar{{Name: "RANK", Value: strconv.Itoa(rank)}, {Name: "DMLC_TASK_ID", Value: fmt.Sprintf("%0*d", width, rank)}}
	})
}

// boosting returns the common variables of all ranks in XGBoostJob v1, which LightGBM jobs have too. port is the leader's port.
func boosting(job *v1alpha1.TrainingJob, port string) []corev1.EnvVar {
	leader := state.Leader(&job.Spec)
	env := append(unbuffered(),
		corev1.EnvVar{Name: "MASTER_ADDR", Value: build.Address(job, leader)},
		corev1.EnvVar{Name: "MASTER_PORT", Value: port},
		corev1.EnvVar{Name: "WORLD_SIZE", Value: strconv.Itoa(state.WorldSize(&job.Spec))})
	var others []string
	for i := range int(job.Spec.Replicas(v1alpha1.Worker)) {
		if slot := (state.Slot{Role: v1alpha1.Worker, Index: i}); slot != leader {
			others = append(others, build.Address(job, slot))
		}
	}
	if len(others) == 0 {
		return env
	}
	return append(env,
		corev1.EnvVar{Name: "WORKER_ADDRS", Value: strings.Join(others, ",")},
		corev1.EnvVar{Name: "WORKER_PORT", Value: strconv.Itoa(int(build.Port(job, v1alpha1.Worker)))})
}

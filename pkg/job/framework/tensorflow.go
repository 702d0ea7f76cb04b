package framework

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// tensorflow gives the replicas of a TensorFlow job their cluster and their task, as TF_CONFIG:
//
//	{"cluster":{"chief":[..],"ps":[..],"worker":[..]},"task":{"type":"worker","index":1},"environment":"cloud"}
//
// A fixed job's cluster is dense: all addresses of chief, parameter servers and workers, byte for byte the same in each replica. An elastic
// job's is sparse: chief and parameter servers, which scaling does not change, and for a worker also itself under its index. So workers
// come and go without a change to the others:
//
//	chief, ps   {"chief":[..],"ps":[..]}
//	worker 3    {"chief":[..],"ps":[..],"worker":{"3":".."}}
//	evaluator   {"chief":[..],"ps":[..]}, without a chief worker 0 in its place
//
// Read by TFConfigClusterResolver (distribute/cluster_resolver/tfconfig_cluster_resolver.py), the default of the
// multi-worker strategies, and by tf.estimator.RunConfig (estimator/run_config.py). tf.train.ClusterSpec
// (training/server_lib.py) takes a task type as a list or as a map from index to address. "environment" is for TF
// before 1.4. A collective strategy needs all workers in each cluster, and TensorFlow has no elastic one: the sparse form is for parameter
// servers and workers that work apart. An evaluator is a task, but never in the cluster (RunConfig: "not part of the training cluster").
func tensorflow(job *v1alpha1.TrainingJob) func(state.Slot) []corev1.EnvVar {
	if isLocal(&job.Spec) {
		return func(state.Slot) []corev1.EnvVar { return nil }
	}
	cluster := dense(job)
	if job.Spec.Elastic != nil {
		cluster = sparse(job)
	}
	return func(slot state.Slot) []corev1.EnvVar {
		task := fmt.Sprintf(`{"type":%q,"index":%d}`, taskType(slot.Role), slot.Index)
		config := `{"cluster":` + cluster(slot) + `,"task":` + task + `,"environment":"cloud"}`
		return []corev1.EnvVar{{Name: "TF_CONFIG", Value: config}}
	}
}

// isLocal reports whether the job is a local run, which has no TF_CONFIG, as in TFJob v1 (isDistributed in pkg/controller.v1/tensorflow).
// An elastic job of one replica may grow and has one.
func isLocal(spec *v1alpha1.TrainingJobSpec) bool {
	return spec.Elastic == nil && state.Total(spec) == 1
}

// dense returns the one cluster of all replicas.
func dense(job *v1alpha1.TrainingJob) func(state.Slot) string {
	cluster := clusterText(tasks(job, v1alpha1.Chief, v1alpha1.PS, v1alpha1.Worker))
	return func(state.Slot) string { return cluster }
}

// sparse returns the cluster as one replica of an elastic job sees it. A worker has the chief in it too, because RunConfig refuses a
// cluster without one. A parameter server has all parameter servers; TFJob gave it only itself, at index 0 whatever its own.
func sparse(job *v1alpha1.TrainingJob) func(state.Slot) string {
	fixed := tasks(job, v1alpha1.Chief, v1alpha1.PS)
	seen := clusterText(fixed)
	leader := state.Leader(&job.Spec)
	return func(slot state.Slot) string {
		if slot.Role == v1alpha1.Evaluator {
			slot = leader
		}
		if slot.Role != v1alpha1.Worker {
			return seen
		}
		cluster := maps.Clone(fixed)
		cluster[taskType(slot.Role)] = map[string]string{strconv.Itoa(slot.Index): address(job, slot)}
		return clusterText(cluster)
	}
}

// tasks returns the addresses of all replicas of the roles, by task type.
func tasks(job *v1alpha1.TrainingJob, roles ...v1alpha1.Role) map[string]any {
	cluster := map[string]any{}
	for _, role := range roles {
		if list := addresses(job, role); len(list) > 0 {
			cluster[taskType(role)] = list
		}
	}
	return cluster
}

func taskType(role v1alpha1.Role) string { return strings.ToLower(string(role)) }

// clusterText returns the cluster as JSON, task types sorted. Strings in maps and lists always marshal.
func clusterText(cluster map[string]any) string {
	bytes, _ := json.Marshal(cluster)
	return string(bytes)
}

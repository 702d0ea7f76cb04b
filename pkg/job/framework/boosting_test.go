package framework_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
)

// XGBoost's tracker sorts task ids as text.
func TestTaskIDsSortedAsTextAreInTheOrderOfRanks(t *testing.T) {
	for _, n := range []int{1, 2, 10, 11, 100, 101, 1000} {
		var tasks []string
		for _, env := range environmentOf(newJob(v1alpha1.XGBoost, master, workers(n))) {
			tasks = append(tasks, env["DMLC_TASK_ID"])
		}
		slices.Sort(tasks)
		for rank, task := range tasks {
			if got, err := strconv.Atoi(task); err != nil || got != rank {
				t.Errorf("with %d workers the task at place %d is %q", n, rank, task)
			}
		}
	}
}

func TestMachinesAreInTheOrderOfRanksEachWithItsOwnPort(t *testing.T) {
	for name, job := range everyShape(v1alpha1.LightGBM, master, evaluators(1), port(v1alpha1.Worker, "xgboostjob-port", 7001)) {
		for slot, env := range environmentOf(job) {
			if slot.Role == v1alpha1.Evaluator {
				continue
			}
			machines := strings.Split(env["LIGHTGBM_MACHINES"], ",")
			if want := strconv.Itoa(len(machines)); env["LIGHTGBM_NUM_MACHINES"] != want || env["WORLD_SIZE"] != want {
				t.Errorf("%s: %s has %s machines, LIGHTGBM_NUM_MACHINES=%s and WORLD_SIZE=%s", name, slot, want, env["LIGHTGBM_NUM_MACHINES"], env["WORLD_SIZE"])
			}
			rank, _ := strconv.Atoi(env["RANK"])
			if want := build.Address(job, slot) + ":" + env["LIGHTGBM_LOCAL_LISTEN_PORT"]; rank >= len(machines) || machines[rank] != want {
				t.Errorf("%s: %s of rank %d is not %s among the machines %q", name, slot, rank, want, machines)
			}
		}
	}
}

// A job made for XGBoostJob takes MASTER_ADDR and WORKER_ADDRS for all ranks.
func TestTheMasterAndTheWorkerAddressesAreAllRanks(t *testing.T) {
	for name, job := range everyJob() {
		if !slices.Contains([]v1alpha1.Framework{v1alpha1.XGBoost, v1alpha1.LightGBM}, job.Spec.Framework) {
			continue
		}
		for slot, env := range environmentOf(job) {
			if slot.Role == v1alpha1.Evaluator {
				continue
			}
			ranks := []string{env["MASTER_ADDR"]}
			if others := env["WORKER_ADDRS"]; others != "" {
				ranks = append(ranks, strings.Split(others, ",")...)
			}
			var want []string
			for _, other := range slots(job) {
				if other.Role != v1alpha1.Evaluator {
					want = append(want, build.Address(job, other))
				}
			}
			if diff := cmp.Diff(want, ranks); diff != "" {
				t.Errorf("%s: ranks as %s knows them (-want +got):\n%s", name, slot, diff)
			}
		}
	}
}

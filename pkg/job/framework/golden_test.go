package framework_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/framework"
)

var update = flag.Bool("update", false, "write testdata/*.golden from what the frameworks say now")

func TestEnvironmentIsWhatTheGoldenFilesSay(t *testing.T) {
	const (
		tf        = v1alpha1.TensorFlow
		torch     = v1alpha1.PyTorch
		jax       = v1alpha1.JAX
		xgb       = v1alpha1.XGBoost
		lgb       = v1alpha1.LightGBM
		pdl       = v1alpha1.Paddle
		worker    = v1alpha1.Worker
		gpu       = "nvidia.com/gpu"
		torchPort = "pytorchjob-port"
	)
	for name, job := range map[string]*v1alpha1.TrainingJob{
		"a tensorflow job has all roles":                    newJob(tf, chief, ps(2), workers(2), evaluators(1)),
		"a tensorflow job has workers only":                 newJob(tf, workers(2)),
		"a tensorflow job has one worker and is local":      newJob(tf, workers(1)),
		"a tensorflow job has one chief and is local":       newJob(tf, chief),
		"a tensorflow job has one worker and an evaluator":  newJob(tf, workers(1), evaluators(1)),
		"a tensorflow job names its ports by role":          newJob(tf, ps(1), workers(1), port(v1alpha1.PS, "tfjob-port", 3333)),
		"a tensorflow job lives in another namespace":       newJob(tf, workers(2), named("vision", "resnet")),
		"an elastic tensorflow job has all roles":           newJob(tf, chief, ps(2), workers(2), evaluators(1), elastic(1, 8)),
		"an elastic tensorflow job has no chief":            newJob(tf, ps(2), workers(2), evaluators(1), elastic(1, 8)),
		"an elastic tensorflow job has one worker":          newJob(tf, workers(1), evaluators(1), elastic(1, 8)),
		"a pytorch job has a master and workers":            newJob(torch, master, workers(2), evaluators(1)),
		"a pytorch job has workers only and worker 0 leads": newJob(torch, workers(2)),
		"a pytorch job has one master":                      newJob(torch, master),
		"a pytorch job has one worker":                      newJob(torch, workers(1)),
		"a pytorch job names the port of its master":        newJob(torch, master, workers(1), port(v1alpha1.Master, torchPort, 4444)),
		"a pytorch job names the port of mere workers":      newJob(torch, master, workers(1), port(worker, torchPort, 4444)),
		"a pytorch job has GPUs on its workers":             newJob(torch, master, workers(1), limit(worker, gpu, "8")),
		"a pytorch job has CPUs only":                       newJob(torch, workers(1), limit(worker, "cpu", "8")),
		"a pytorch job lives in another namespace":          newJob(torch, workers(2), named("vision", "resnet")),
		"an elastic pytorch job has workers only":           newJob(torch, workers(3), elastic(2, 8)),
		"an elastic pytorch job has all roles":              newJob(torch, master, workers(2), evaluators(1), elastic(2, 8)),
		"an elastic pytorch job is in its third attempt":    newJob(torch, workers(2), elastic(1, 4), attempt(2)),
		"an elastic pytorch job meets outside":              newJob(torch, workers(2), elastic(1, 4), meetingAt("etcd-v2", "etcd.team-a:2379", "timeout=900")),
		"an elastic pytorch job sets up its own rendezvous": newJob(torch, workers(2), elastic(1, 4), meetingAt("c10d", "", "timeout=900", "read_timeout=60")),
		"a jax job has workers and an evaluator":            newJob(jax, workers(3), evaluators(1)),
		"a jax job has one worker":                          newJob(jax, workers(1)),
		"a jax job names its port":                          newJob(jax, workers(2), port(worker, "jaxjob-port", 6666)),
		"a jax job lives in another namespace":              newJob(jax, workers(2), named("vision", "resnet")),
		"an xgboost job has a master and workers":           newJob(xgb, master, workers(2), evaluators(1)),
		"an xgboost job has one worker":                     newJob(xgb, workers(1)),
		"an xgboost job names its ports by role":            newJob(xgb, master, workers(1), port(v1alpha1.Master, "xgboostjob-port", 7000), port(worker, "xgboostjob-port", 7001)),
		"a lightgbm job has a master and workers":           newJob(lgb, master, workers(2), evaluators(1)),
		"a lightgbm job has workers only":                   newJob(lgb, workers(3)),
		"a lightgbm job names its ports by role":            newJob(lgb, master, workers(1), port(v1alpha1.Master, "xgboostjob-port", 7000), port(worker, "xgboostjob-port", 7001)),
		"a paddle job is a collective of workers":           newJob(pdl, workers(2), evaluators(1), attempt(2)),
		"a paddle job is a collective with a master":        newJob(pdl, master, workers(1)),
		"a paddle job has parameter servers":                newJob(pdl, ps(2), workers(2), evaluators(1)),
		"a paddle job names its port":                       newJob(pdl, workers(2), port(worker, "master", 6170)),
		"an mpi job launches by ssh":                        newJob(v1alpha1.MPI, launcher, workers(2)),
		"an mpi job launches in a way of its own":           newJob(v1alpha1.MPI, launcher, workers(2), launchedBy(v1alpha1.LaunchAgentNone)),
		"a custom job gets names and numbers":               newJob(v1alpha1.Custom, master, workers(1)),
		"a job of an unknown framework is a custom job":     newJob("Chainer", workers(1)),
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", strings.ReplaceAll(name, " ", "-")+".golden")
			got := show(job)
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
		})
	}
}

// show writes the environment of each replica, a line per variable.
func show(job *v1alpha1.TrainingJob) string {
	var out strings.Builder
	environment := framework.Environment(job)
	for _, slot := range slots(job) {
		fmt.Fprintf(&out, "%s\n", slot)
		for _, v := range environment(slot) {
			fmt.Fprintf(&out, "    %s=%s\n", v.Name, v.Value)
		}
	}
	return out.String()
}

package framework_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/framework"
	"github.com/trainingjob/operator/pkg/job/state"
)

func everyJob() map[string]*v1alpha1.TrainingJob {
	all := map[string]*v1alpha1.TrainingJob{}
	for _, jobs := range []map[string]*v1alpha1.TrainingJob{
		everyShape(v1alpha1.TensorFlow, chief, ps(1), ps(3), evaluators(2)),
		everyShape(v1alpha1.PyTorch, master, evaluators(2)),
		everyShape(v1alpha1.JAX, evaluators(2)),
		everyShape(v1alpha1.XGBoost, master, evaluators(2)),
		everyShape(v1alpha1.LightGBM, master, evaluators(2)),
		everyShape(v1alpha1.Paddle, master, ps(2), evaluators(2)),
		everyShape(v1alpha1.MPI, launcher),
		everyShape(v1alpha1.Custom, master, ps(2), evaluators(2)),
	} {
		for shape, job := range jobs {
			all[string(job.Spec.Framework)+" "+shape] = job
		}
	}
	return all
}

// environmentOf returns the environment of each replica, by variable.
func environmentOf(job *v1alpha1.TrainingJob) map[state.Slot]map[string]string {
	all := map[state.Slot]map[string]string{}
	environment := framework.Environment(job)
	for _, slot := range slots(job) {
		all[slot] = map[string]string{}
		for _, v := range environment(slot) {
			all[slot][v.Name] = v.Value
		}
	}
	return all
}

func TestEveryAddressIsThatOfAReplica(t *testing.T) {
	host := regexp.MustCompile(`[-a-z0-9]+(\.[-a-z0-9]+)+\.svc`)
	for name, job := range everyJob() {
		addresses := map[string]bool{}
		for _, slot := range slots(job) {
			addresses[build.Address(job, slot)] = true
			if !strings.HasPrefix(build.Address(job, slot), state.HostName(job.Name, slot)+".") {
				t.Errorf("%s: the address of %s does not begin with its host name", name, slot)
			}
		}
		for slot, env := range environmentOf(job) {
			for variable, value := range env {
				for _, found := range host.FindAllString(value, -1) {
					if !addresses[found] {
						t.Errorf("%s: %s of %s names %s, which is no replica", name, variable, slot, found)
					}
				}
			}
		}
	}
}

func TestRanksAreTheNumbersBelowTheWorldSize(t *testing.T) {
	for name, job := range everyJob() {
		for _, v := range []struct{ rank, size string }{
			{"RANK", "WORLD_SIZE"}, {"PET_NODE_RANK", "WORLD_SIZE"},
			{"JAX_PROCESS_ID", "JAX_NUM_PROCESSES"}, {"PROCESS_ID", "NUM_PROCESSES"},
			{"DMLC_TASK_ID", "DMLC_NUM_WORKER"},
			{"PADDLE_RANK", "PADDLE_NNODES"}, {"PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM"},
		} {
			var got, want []int
			for slot, env := range environmentOf(job) {
				if _, ok := env[v.rank]; !ok {
					continue
				}
				if slot.Role == v1alpha1.Evaluator {
					t.Errorf("%s: %s has a %s", name, slot, v.rank)
				}
				if env[v.size] != strconv.Itoa(state.WorldSize(&job.Spec)) {
					t.Errorf("%s: %s of %s is %q", name, v.size, slot, env[v.size])
				}
				rank, err := strconv.Atoi(env[v.rank])
				if err != nil {
					t.Errorf("%s: %s of %s: %v", name, v.rank, slot, err)
				}
				want = append(want, len(got))
				got = append(got, rank)
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: values of %s (-want +got):\n%s", name, v.rank, diff)
			}
		}
	}
}

type tfConfig struct {
	Cluster map[string]json.RawMessage
	Task    struct {
		Type  string
		Index int
	}
	Environment string
}

func TestTFConfigHasTheReplicasTaskAndAClusterThatIsNotEmpty(t *testing.T) {
	for name, job := range everyJob() {
		for slot, env := range environmentOf(job) {
			text, ok := env["TF_CONFIG"]
			if !ok {
				continue
			}
			var config tfConfig
			if err := json.Unmarshal([]byte(text), &config); err != nil {
				t.Fatalf("%s: TF_CONFIG of %s: %v", name, slot, err)
			}
			if got := config.Task.Type + "-" + strconv.Itoa(config.Task.Index); got != slot.String() {
				t.Errorf("%s: the task of %s is %s", name, slot, got)
			}
			if len(config.Cluster) == 0 || config.Cluster["evaluator"] != nil || config.Environment != "cloud" {
				t.Errorf("%s: TF_CONFIG of %s is %s", name, slot, text)
			}
			if slot.Role != v1alpha1.Evaluator && addressIn(config, slot) != build.Address(job, slot)+":2222" {
				t.Errorf("%s: the cluster of %s does not have it at its index: %s", name, slot, text)
			}
		}
	}
}

// addressIn looks the slot up as tf.train.ClusterSpec does: in a list, or in a map from index to address.
func addressIn(config tfConfig, slot state.Slot) string {
	tasks := config.Cluster[strings.ToLower(string(slot.Role))]
	var list []string
	if json.Unmarshal(tasks, &list) == nil && slot.Index < len(list) {
		return list[slot.Index]
	}
	var byIndex map[int]string
	_ = json.Unmarshal(tasks, &byIndex)
	return byIndex[slot.Index]
}

func TestReplicasOfAFixedTensorFlowJobSeeTheSameCluster(t *testing.T) {
	task := regexp.MustCompile(`"task":\{[^}]*\}`)
	for name, job := range everyShape(v1alpha1.TensorFlow, chief, ps(3), evaluators(2)) {
		if job.Spec.Elastic != nil {
			continue
		}
		seen := map[string]bool{}
		for _, env := range environmentOf(job) {
			seen[task.ReplaceAllString(env["TF_CONFIG"], "")] = true
		}
		if len(seen) != 1 {
			t.Errorf("%s: %d different clusters: %v", name, len(seen), slices.Collect(maps.Keys(seen)))
		}
	}
}

func TestScalingAnElasticJobChangesNoReplicaButItsWorldSize(t *testing.T) {
	for name, few := range everyJob() {
		if few.Spec.Elastic == nil {
			continue
		}
		many := few.DeepCopy()
		workers(9)(many)
		after := environmentOf(many)
		for slot, before := range environmentOf(few) {
			for _, size := range []string{"WORLD_SIZE", v1alpha1.EnvReplicas} {
				delete(before, size)
				delete(after[slot], size)
			}
			if diff := cmp.Diff(before, after[slot]); diff != "" {
				t.Errorf("%s: %s (-before +after):\n%s", name, slot, diff)
			}
		}
	}
}

func TestEnvironmentIsAPureAnswer(t *testing.T) {
	for name, job := range everyJob() {
		was := job.DeepCopy()
		environment := framework.Environment(job)
		for _, slot := range slots(job) {
			env := environment(slot)
			names := map[string]bool{}
			for _, v := range env {
				names[v.Name] = true
			}
			if len(names) != len(env) {
				t.Errorf("%s: %s has a variable twice: %v", name, slot, env)
			}
			again := environment(slot)
			if diff := cmp.Diff(env, again); diff != "" {
				t.Errorf("%s: %s (-first +second answer):\n%s", name, slot, diff)
			}
			for i := range env {
				env[i] = corev1.EnvVar{Name: "OVERWRITTEN"}
			}
			if diff := cmp.Diff(again, environment(slot)); diff != "" {
				t.Errorf("%s: %s shares its answer (-before +after overwriting):\n%s", name, slot, diff)
			}
		}
		if diff := cmp.Diff(was, job); diff != "" {
			t.Errorf("%s: the job (-before +after):\n%s", name, diff)
		}
	}
}

// docs/frameworks.md and the package comments say at which size a variable no longer fits.
func TestEachVariableFitsUpToTheDocumentedSize(t *testing.T) {
	const worker, server = v1alpha1.Worker, v1alpha1.PS
	for _, c := range []struct {
		of             v1alpha1.Framework
		grows          v1alpha1.Role
		job, namespace int
		fits, tooMany  int
	}{
		{v1alpha1.TensorFlow, worker, 5, 5, 3100, 3250},
		{v1alpha1.TensorFlow, worker, 20, 10, 1700, 1800},
		{v1alpha1.TensorFlow, worker, 52, 63, 680, 700},
		{v1alpha1.XGBoost, worker, 20, 10, 1900, 1950},
		{v1alpha1.LightGBM, worker, 20, 10, 1760, 1780},
		{v1alpha1.Paddle, worker, 20, 10, 1760, 1780},
		{v1alpha1.Paddle, server, 20, 10, 1860, 1880},
	} {
		job, namespace := strings.Repeat("j", c.job), strings.Repeat("n", c.namespace)
		length := func(n int) (string, int) {
			all := counts{worker: 1, c.grows: n}
			if c.of == v1alpha1.Paddle && c.grows == worker {
				all[server] = 1
			}
			return longest(c.of, job, namespace, all)
		}
		if variable, got := length(c.fits); got > mostBytes {
			t.Errorf("%s: %d of %s need %d bytes of %s", c.of, c.fits, c.grows, got, variable)
		}
		if variable, got := length(c.tooMany); got <= mostBytes {
			t.Errorf("%s: %d of %s need only %d bytes of %s", c.of, c.tooMany, c.grows, got, variable)
		}
	}
}

func BenchmarkEnvironmentOf2000TensorFlowWorkers(b *testing.B) {
	job := newJob(v1alpha1.TensorFlow, chief, ps(10), workers(2000))
	all := slots(job)
	b.ReportAllocs()
	for b.Loop() {
		environment := framework.Environment(job)
		for _, slot := range all {
			environment(slot)
		}
	}
}

func BenchmarkEnvironmentOf10000PyTorchWorkers(b *testing.B) {
	job := newJob(v1alpha1.PyTorch, master, workers(9999))
	all := slots(job)
	b.ReportAllocs()
	for b.Loop() {
		environment := framework.Environment(job)
		for _, slot := range all {
			environment(slot)
		}
	}
}

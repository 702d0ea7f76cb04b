//go:build linux

package local_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/local"
)

var seeds = flag.Int("local.seeds", 4, "how many local runs with random faults are played")

// trains ends well after two seconds. Parameter servers run until the job ends.
const trains = `case $TF_CONFIG in *'"type":"ps"'*) exec sleep 1000;; esac; sleep 2; exit 0`

// Random faults of real processes break no sentence of the ledger, and the job comes to its end: play checks the first.
func TestRandomFaults(t *testing.T) {
	for seed := range *seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(seed), 0))
			job, replicas := drawJob(t, r)
			faults := drawFaults(r, replicas)
			t.Log(job.Spec.Framework, replicas, faults)
			result, shown := play(t, job, faults...)
			if phase := result.Job.Status.Phase; phase != v1alpha1.PhaseSucceeded && phase != v1alpha1.PhaseFailed {
				t.Errorf("the job ends %s", phase)
			}
			if t.Failed() {
				t.Log(shown)
			}
		})
	}
}

// drawJob returns a job, and the names of its replicas.
func drawJob(t *testing.T, r *rand.Rand) (job *v1alpha1.TrainingJob, replicas []string) {
	roles := map[string][]string{"PyTorch": {"Master", "Worker"}, "TensorFlow": {"PS", "Worker"}, "Custom": {"Worker"}}
	names := map[string]string{"Master": "master", "Worker": "worker", "PS": "ps"}
	framework := []string{"PyTorch", "TensorFlow", "Custom"}[r.IntN(3)]
	var counts []string
	for _, role := range roles[framework] {
		n := 1
		if role != "Master" {
			n += r.IntN(3)
		}
		counts = append(counts, fmt.Sprintf("%s=%d", role, n))
		for i := range n {
			replicas = append(replicas, fmt.Sprintf("%s-%d", names[role], i))
		}
	}
	job = jobOf(t, framework, trains, counts...)
	job.Spec.Recovery.BackoffSeconds = ptr.To[int32](1)
	return job, replicas
}

// drawFaults returns up to four faults. At most one of the two nodes is lost.
func drawFaults(r *rand.Rand, replicas []string) (faults []local.Fault) {
	for range 1 + r.IntN(4) {
		f := local.Fault{After: time.Duration(r.IntN(3000)) * time.Millisecond, Replica: replicas[r.IntN(len(replicas))]}
		if r.IntN(2) == 0 {
			f.Exit = ptr.To([]int32{0, 1, 42, 93, 143}[r.IntN(5)])
		}
		faults = append(faults, f)
	}
	if r.IntN(2) == 0 {
		faults = append(faults, local.Fault{After: time.Duration(r.IntN(2000)) * time.Millisecond, Node: local.NodeName(1 + r.IntN(2))})
	}
	return faults
}

package plan_test

import (
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/test/builder"
)

// heap returns how many bytes are in use after a collection.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// Each pod's TF_CONFIG names all 10,000 workers: 4 GB if they were in memory at once.
func TestThePlanOfALargeTensorFlowJobIsSmall(t *testing.T) {
	const atMost = 50 << 20
	s := builder.Snapshot(takenOn(t, builder.Framework(v1alpha1.TensorFlow), builder.Workers(10_000)))
	before := heap()
	p := plan.Make(s)
	after := heap()
	if len(p.Steps) == 0 {
		t.Fatal("no pod is to be created")
	}
	if grown := int64(after) - int64(before); grown > atMost {
		t.Errorf("the plan holds %d MiB, want at most %d", grown>>20, atMost>>20)
	}
	runtime.KeepAlive(p)
}

func TestABuiltPodHasTheNameThatItsStepSays(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), builder.StartedAt(0), builder.Spares(v1alpha1.Worker, 1))
	for what, pods := range map[string][]builder.SnapshotOption{
		"a replica": seen(builder.Running("worker", 0)),
		"a spare":   seen(builder.Running("worker", 0), builder.Running("worker", 1)),
	} {
		s := builder.Snapshot(job, pods...)
		steps := plan.Make(s).Steps
		if len(steps) != 1 {
			t.Fatalf("%s: steps %v, want one", what, steps)
		}
		step := steps[0].(plan.CreatePod)
		if diff := cmp.Diff(step.Name, plan.Pods(s.Job)(step).Name); diff != "" {
			t.Errorf("%s: name (-step +pod):\n%s", what, diff)
		}
	}
}

package plan_test

import (
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
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
	s := builder.Snapshot(builder.Job("j", builder.Workers(2), builder.StartedAt(0)), builder.Running("worker", 0))
	steps := plan.Make(s).Steps
	if len(steps) != 1 {
		t.Fatalf("steps %v, want one", steps)
	}
	step := steps[0].(plan.CreatePod)
	if diff := cmp.Diff(step.Name, plan.Pods(s.Job)(step).Name); diff != "" {
		t.Errorf("name (-step +pod):\n%s", diff)
	}
}

// A reconcile creates at most 2,000 pods. The next one follows at once, until all exist. Then nothing more is written.
func TestALargeJobIsMadeInManyShortPasses(t *testing.T) {
	const replicas, atMost = 4200, 2000
	job := takenOn(t, builder.Workers(replicas))
	var pods []builder.SnapshotOption
	for pass, want := range []int{atMost, atMost, replicas - 2*atMost, 0} {
		s := builder.Snapshot(job, pods...)
		p := plan.Make(s)
		for _, step := range p.Steps {
			pods = append(pods, builder.Pending("worker", step.(plan.CreatePod).Slot.Index))
		}
		again := !p.Wake.IsZero() && p.Wake.Sub(s.Now) < second
		if isCut := want == atMost; len(p.Steps) != want || again != isCut {
			t.Errorf("pass %d: %d pods, again at once %t; want %d and %t", pass, len(p.Steps), again, want, isCut)
		}
	}
}

// Each reconcile of a gang first checks that the API server still has the group.
func TestTheGroupComesFirstInEachPassOfALargeGang(t *testing.T) {
	job := gangJob(t, builder.Workers(4200))
	group := ganged(state.Group{Name: "j-0", UID: "u", Minimum: 4200})
	pods := []builder.SnapshotOption{group}
	for pass := range 3 {
		steps := plan.Make(builder.Snapshot(job, pods...)).Steps
		if _, isResize := steps[0].(plan.ResizeGroup); !isResize {
			t.Fatalf("pass %d: first step %+v, want the group confirmed", pass, steps[0])
		}
		for _, step := range steps[1:] {
			pods = append(pods, builder.Pending("worker", step.(plan.CreatePod).Slot.Index))
		}
	}
	if len(pods) != 1+4200 {
		t.Errorf("%d pods after three passes, want 4200", len(pods)-1)
	}
}

func TestASuspensionEndsManyPodsInManyPasses(t *testing.T) {
	var pods []builder.SnapshotOption
	for i := range 2400 {
		pods = append(pods, builder.Running("worker", i))
	}
	job := builder.Job("j", builder.Workers(2400), builder.StartedAt(0), builder.Suspended(), builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 0))
	s := builder.Snapshot(job, pods...)
	if p := plan.Make(s); len(p.Steps) != 2000 || p.Wake.Sub(s.Now) > second {
		t.Errorf("%d deletions, again at %v; want 2000 and at once", len(p.Steps), p.Wake)
	}
}

func TestAPlanThatWasCutAndRefusedWaitsForTheNextTry(t *testing.T) {
	var pods []builder.SnapshotOption
	for i := range 2400 {
		pods = append(pods, builder.Running("worker", i))
	}
	job := builder.Job("j", builder.Workers(2400), builder.StartedAt(0), builder.Suspended(), builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 0))
	refused := builder.Refused(v1alpha1.ReasonForbidden, "no deletion", 90*second)
	if got := wakeOf(plan.Make(builder.Snapshot(job, append(pods, refused)...))); got != 90*second {
		t.Errorf("goes on at %v, want at the next try at 90 s", got)
	}
}

package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// Any two of four would satisfy the scheduler, but without worker 0 the others cannot meet.
func TestAnElasticGangBeginsWithTheWorkersItNeeds(t *testing.T) {
	for name, c := range map[string]struct {
		there []builder.SnapshotOption
		want  []string
	}{
		"with none":              {nil, []string{"j-worker-0", "j-worker-1"}},
		"with one that waits":    {[]builder.SnapshotOption{builder.Pending("worker", 0)}, []string{"j-worker-1"}},
		"with all that it needs": {[]builder.SnapshotOption{builder.Running("worker", 0), builder.Running("worker", 1)}, []string{"j-worker-2", "j-worker-3"}},
		"with others than these": {[]builder.SnapshotOption{builder.Running("worker", 0), builder.Running("worker", 3)}, []string{"j-worker-1", "j-worker-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			job := gangJob(t, builder.Workers(4), builder.Elastic(2, 4))
			var got []string
			for _, step := range plan.Make(builder.Snapshot(job, append(c.there, ganged(state.Group{Name: "j-0", Minimum: 2}))...)).Steps {
				if create, isPod := step.(plan.CreatePod); isPod {
					got = append(got, create.Name)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("pods created (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheMinimumOfAGang(t *testing.T) {
	succeeded := builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Succeeded: "0"})
	for name, c := range map[string]struct {
		options []builder.JobOption
		want    int32
	}{
		"all replicas":                      {[]builder.JobOption{builder.Workers(4), builder.PS(2)}, 6},
		"but no evaluator":                  {[]builder.JobOption{builder.Workers(4), builder.PS(2), builder.Evaluators(1)}, 6},
		"nor a role of the job's own":       {[]builder.JobOption{builder.Workers(4), builder.Replicas("actor", 3)}, 4},
		"of elastic workers minReplicas":    {[]builder.JobOption{builder.Workers(4), builder.PS(2), builder.Elastic(1, 8)}, 3},
		"minAvailable":                      {[]builder.JobOption{builder.Workers(4), builder.MinAvailable(3)}, 3},
		"no more than there are":            {[]builder.JobOption{builder.Workers(2), builder.MinAvailable(3)}, 2},
		"more than a Kubeflow job has":      {[]builder.JobOption{builder.Served(), builder.Workers(2), builder.MinAvailable(3)}, 3},
		"of all that a Kubeflow job has":    {[]builder.JobOption{builder.Served(), builder.Workers(2), builder.Evaluators(1), builder.MinAvailable(3)}, 2},
		"fewer when a replica has finished": {[]builder.JobOption{builder.Workers(4), builder.AllWorkers(), succeeded}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			for _, step := range plan.Make(builder.Snapshot(takenOn(t, c.options...), ganged())).Steps {
				if g, isGroup := step.(plan.CreateGroup); isGroup {
					if got := g.Group.(*schedulingv1beta1.PodGroup).Spec.SchedulingPolicy.Gang.MinCount; got != c.want {
						t.Errorf("minimum %d, want %d", got, c.want)
					}
					return
				}
			}
			t.Error("no group")
		})
	}
}

// An evaluator without a node, or one that takes a node too early, must not keep the training from running.
func TestTheGangDoesNotWaitForAnEvaluator(t *testing.T) {
	job := gangJob(t, builder.Workers(2), builder.Evaluators(1))
	for name, c := range map[string]struct {
		seen []builder.SnapshotOption
		want []string
	}{
		"the gang comes first":                {nil, []string{"j-worker-0", "j-worker-1"}},
		"all of it":                           {seen(builder.Running("worker", 0)), []string{"j-worker-1"}},
		"the evaluator when it has its nodes": {seen(builder.Running("worker", 0), builder.Running("worker", 1)), []string{"j-evaluator-0"}},
	} {
		s := builder.Snapshot(job, append(c.seen, ganged(state.Group{Name: "j-0", Minimum: 2}))...)
		var got []string
		for _, step := range plan.Make(s).Steps {
			if create, isPod := step.(plan.CreatePod); isPod {
				got = append(got, create.Name)
				if joins := plan.Pods(job)(create).Spec.SchedulingGroup != nil; joins != (create.Slot.Role == v1alpha1.Worker) {
					t.Errorf("%s joins the group: %t", create.Name, joins)
				}
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	waits := builder.Pending("evaluator", 0, builder.Unschedulable("no room"))
	p := plan.Make(builder.Snapshot(job, builder.Running("worker", 0), builder.Running("worker", 1), waits, ganged(state.Group{Name: "j-0", Minimum: 2})))
	if p.Status.Phase != v1alpha1.PhaseRunning {
		t.Errorf("with an evaluator that fits nowhere the job is %s: %s", p.Status.Phase, p.Status.Message)
	}
}

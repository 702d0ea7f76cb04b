package plan_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/pkg/state"
	"github.com/trainingjob/operator/test/builder"
)

var noRoom = builder.Unschedulable("no room")

func TestSpares(t *testing.T) {
	job := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("j", append([]builder.JobOption{builder.Workers(2, builder.Spares(2)), builder.StartedAt(0)}, options...)...)
	}
	none := func(job *v1alpha1.TrainingJob) *v1alpha1.TrainingJob {
		worker := job.Spec.ReplicaSpecs[v1alpha1.Worker]
		worker.Spares = nil
		job.Spec.ReplicaSpecs[v1alpha1.Worker] = worker
		return job
	}
	placed := func(more ...builder.SnapshotOption) []builder.SnapshotOption {
		return append(more, builder.Running("worker", 0), builder.Running("worker", 1))
	}
	waits := func(more ...builder.SnapshotOption) []builder.SnapshotOption {
		return append(more, builder.Running("worker", 0), builder.Pending("worker", 1, noRoom))
	}
	spare0, spare1 := builder.Spare("worker", 0), builder.Spare("worker", 1)
	leaving0 := builder.Spare("worker", 0, builder.DeletedAt(50*second))
	gone := func(i string) string { return "delete j-worker-spare-" + i + ": a spare is not needed, or makes way" }
	lost0 := builder.NodeLost("node-worker-0", 10*second) // where spare 0 is, as the builder places it
	ill0 := builder.NodeIll("node-worker-0", "GpuMemWatch", "[79]", 10*second)
	elsewhere := builder.Running("worker", 0, builder.On("elsewhere"))
	full := builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Succeeded: "1"})
	parked := builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Parked: "1", ParkedTime: builder.TimePtr(0)})
	checkSteps(t, []stepCase{
		{"they come when every replica has a node", job(), placed(), []string{"create j-worker-spare-0", "create j-worker-spare-1"}, 0},
		{"those that are missing come", job(), placed(spare1), []string{"create j-worker-spare-0"}, 0},
		{"not while a replica has no pod", job(), seen(builder.Running("worker", 0)), []string{"create j-worker-1"}, 0},
		{"not while a replica has no node", job(), seen(builder.Running("worker", 0), builder.Pending("worker", 1)), nil, 0},
		{"a replica that has succeeded needs none", job(full), seen(builder.Running("worker", 0)), []string{"create j-worker-spare-0", "create j-worker-spare-1"}, 0},
		{"nor one that is parked", job(builder.Elastic(1, 4), parked), seen(builder.Running("worker", 0)), []string{"create j-worker-spare-0", "create j-worker-spare-1"}, 600 * second},
		{"one of another role's replicas holds them back too", job(builder.PS(1)), placed(builder.Pending("ps", 0)), nil, 0},
		{"what the API server refuses is tried again at its time only", job(), placed(builder.SpareRefused(v1alpha1.ReasonQuotaExceeded, "no", 90*second)), nil, 90 * second},
		{"and then it is", job(), placed(builder.SpareRefused(v1alpha1.ReasonQuotaExceeded, "no", 60*second)), []string{"create j-worker-spare-0", "create j-worker-spare-1"}, 0},
		{"after some that have failed there is a wait", job(), placed(builder.SparesFrom(65*second), spare0), nil, 65 * second},
		{"and then they come", job(), placed(builder.SparesFrom(60*second), spare0), []string{"create j-worker-spare-1"}, 0},
		{"no wait for spares that exist", job(), placed(builder.SparesFrom(65*second), spare0, spare1), nil, 0},
		{"that a spare is refused holds up no replica", job(), seen(builder.Running("worker", 0), builder.SpareRefused(v1alpha1.ReasonQuotaExceeded, "no", 90*second)),
			[]string{"create j-worker-1"}, 0},
		{"nor the other way round", job(), placed(builder.Refused(v1alpha1.ReasonQuotaExceeded, "no", 90*second), spare0), []string{"create j-worker-spare-1"}, 90 * second},
		{"none makes way for a replica whose claim is missing, which room does not help", job(), seen(builder.Running("worker", 0),
			builder.Pending("worker", 1, builder.Unschedulable(`0/4 nodes are available: persistentvolumeclaim "data" not found.`)), spare0, spare1), nil, 0},
		{"one makes way for a replica that fits nowhere", job(), waits(spare0, spare1), []string{gone("0")}, 0},
		{"it does not make way twice", job(), waits(leaving0, spare1), nil, 0},
		{"in whatever order they are seen", job(), waits(spare1, leaving0), nil, 0},
		{"nor is another one sent after it", job(), waits(spare1), nil, 0},
		{"two make way for two", job(), seen(spare0, spare1, builder.Pending("worker", 0, noRoom), builder.Pending("worker", 1, noRoom)), []string{gone("0"), gone("1")}, 0},
		{"one that has no node has no room to give", job(), waits(builder.Spare("worker", 0, builder.On("")), spare1), []string{gone("1")}, 0},
		{"nor has one on a lost node", job(), seen(spare0, spare1, builder.Running("worker", 0, builder.On("elsewhere")), builder.Pending("worker", 1, noRoom), lost0),
			[]string{gone("1")}, 0},
		{"for another role's replica none does", job(builder.PS(1)), placed(spare0, spare1, builder.Pending("ps", 0, noRoom)), nil, 0},
		{"one on a lost node is deleted by force", job(), seen(elsewhere, builder.Running("worker", 1), spare0, spare1, lost0),
			[]string{"delete by force j-worker-spare-0: a spare is not needed, or makes way"}, 0},
		{"one on a node that is ill stays", job(), seen(elsewhere, builder.Running("worker", 1), spare0, spare1, ill0, builder.Ill("node-worker-0")), nil, 0},
		{"one that was evicted is replaced", job(), placed(builder.Spare("worker", 0, builder.Rejected("Evicted", "")), spare1), nil, 0},
		{"fewer are wanted", job(builder.Of(v1alpha1.Worker, builder.Spares(1))), placed(spare0, spare1), []string{gone("1")}, 0},
		{"count 0 deletes them", job(builder.Of(v1alpha1.Worker, builder.Spares(0))), placed(spare0, spare1), []string{gone("0"), gone("1")}, 0},
		{"so does a spec without spares", none(job()), placed(spare0, spare1), []string{gone("0"), gone("1")}, 0},
		{"one that is going is not deleted again", none(job()), placed(leaving0, spare1), []string{gone("1")}, 0},
		{"a suspended job has none", job(builder.Suspended(), builder.Condition(v1alpha1.ConditionSuspended, true, "", 0)), seen(spare0, leaving0), []string{gone("0")}, 65 * second},
		{"a finished job has none", job(finished(v1alpha1.ReasonLeaderSucceeded)), seen(spare0), []string{gone("0")}, 0},
	})
}

func TestAJobResumesOnlyWhenItsSparesAreGone(t *testing.T) {
	job := builder.Job("j", builder.Workers(1, builder.Spares(1)), builder.StartedAt(0), builder.Condition(v1alpha1.ConditionSuspended, true, "", 0))
	if got := plan.Make(builder.Snapshot(job, builder.Spare("worker", 0, builder.DeletedAt(0)))).Status.Phase; got != v1alpha1.PhaseSuspended {
		t.Errorf("with a spare that is going the job is %s", got)
	}
	if got := plan.Make(builder.Snapshot(job)).Status.Phase; got == v1alpha1.PhaseSuspended {
		t.Error("without spares the job stays suspended")
	}
}

func TestTheStatusCountsSparesThatHoldANode(t *testing.T) {
	job := builder.Job("j", builder.Workers(1, builder.Spares(4)), builder.StartedAt(0))
	got := plan.Make(builder.Snapshot(job, builder.Running("worker", 0), builder.Spare("worker", 0), builder.Spare("worker", 1, builder.DeletedAt(0)),
		builder.Spare("worker", 2, builder.On("lost")), builder.Spare("worker", 3, builder.On("n")), builder.NodeLost("lost", 0))).Status
	if n := got.ReplicaStatuses[v1alpha1.Worker].Spares; n != 3 {
		t.Errorf("%d spares, want 3: one is on a lost node, and a terminating one holds its node until it has ended", n)
	}
}

// A spare that makes way has an Event with its node. A spare that is just not wanted any more has none.
func TestASpareThatMakesWayIsTold(t *testing.T) {
	base := []builder.JobOption{builder.Workers(2, builder.Spares(1)), builder.StartedAt(0)}
	spare, waits := builder.Spare("worker", 0, builder.On("gpu-7")), builder.Pending("worker", 1, noRoom)
	events := func(job *v1alpha1.TrainingJob, pods ...builder.SnapshotOption) []plan.Event {
		isUsed := func(e plan.Event) bool { return e.Reason != v1alpha1.EventSpareUsed }
		return slices.DeleteFunc(plan.Make(builder.Snapshot(job, append(pods, builder.Running("worker", 0))...)).Events, isUsed)
	}
	suspended := slices.Concat(base, []builder.JobOption{builder.Suspended(), builder.Condition(v1alpha1.ConditionSuspended, true, "", 0)})
	cases := []struct {
		name string
		got  []plan.Event
		want []plan.Event
	}{
		{"it makes way", events(builder.Job("j", base...), spare, waits), []plan.Event{{Type: normal, Reason: "SpareUsed", Action: "j-worker-spare-0",
			Message: "j-worker-spare-0 makes way on gpu-7 for a replica that fits nowhere else."}}},
		{"once", events(builder.Job("j", base...), builder.Spare("worker", 0, builder.DeletedAt(0)), waits), nil},
		{"fewer are wanted", events(builder.Job("j", append(base, builder.Of(v1alpha1.Worker, builder.Spares(0)))...), spare, builder.Running("worker", 1)), nil},
		{"the job is suspended", events(builder.Job("j", suspended...), spare, waits), nil},
		{"the job has finished", events(builder.Job("j", append(base, finished(v1alpha1.ReasonLeaderSucceeded))...), spare, waits), nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("Events (-want +got):\n%s", diff)
			}
		})
	}
}

// The job continues without refused spares, so only an Event explains it: once for each reason.
func TestRefusedSparesAreTold(t *testing.T) {
	base := []builder.JobOption{builder.Workers(1, builder.Spares(1)), builder.StartedAt(0)}
	running := builder.Running("worker", 0)
	refused := func(retry int) builder.SnapshotOption {
		return builder.SpareRefused(v1alpha1.ReasonQuotaExceeded, "exceeded quota: team-a", time.Duration(retry)*second)
	}
	isTold := func(s *state.Observed) { s.SpareRefusal.Told = true }
	refusals := []plan.Event{{Type: warning, Reason: "SpareRefused", Action: "QuotaExceeded", Message: "exceeded quota: team-a"}}
	cases := []struct {
		name string
		job  *v1alpha1.TrainingJob
		pods []builder.SnapshotOption
		want []plan.Event
	}{
		{"when it begins", builder.Job("j", base...), seen(running, refused(60)), refusals},
		{"not again when they are tried again", builder.Job("j", base...), seen(running, refused(60), isTold), nil},
		{"not when they are there", builder.Job("j", base...), seen(running, refused(60), builder.Spare("worker", 0)), nil},
		{"not when a replica is missing: then the job shows it", builder.Job("j", append(base, builder.PS(1))...), seen(running, refused(60)), nil},
		{"not when the job has finished", builder.Job("j", append(base, finished(v1alpha1.ReasonLeaderSucceeded))...), seen(running, refused(60)), nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			isOther := func(e plan.Event) bool { return e.Reason != v1alpha1.EventSpareRefused }
			got := slices.DeleteFunc(plan.Make(builder.Snapshot(c.job, c.pods...)).Events, isOther)
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("Events (-want +got):\n%s", diff)
			}
		})
	}
}

// A spare was refused, and then a replica is lost: the job recreates the replica and emits nothing about the spare.
func TestARefusedSpareNeverStallsTheJob(t *testing.T) {
	job := underWay(t, takenOn(t, builder.Workers(2, builder.Spares(1))), builder.Running("worker", 0), builder.Running("worker", 1))
	status := plan.Make(builder.Snapshot(job, builder.Running("worker", 0), builder.SpareRefused(v1alpha1.ReasonQuotaExceeded, "no", 90*second))).Status
	if meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionStalled) {
		t.Errorf("the job is stalled: %s", status.Message)
	}
}

func TestSparesInTheWay(t *testing.T) {
	job := builder.Job("j", builder.Workers(3), builder.PS(1), builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Succeeded: "2"}))
	noRoom := builder.Unschedulable("no room")
	cases := []struct {
		name string
		seen []builder.SnapshotOption
		want int
	}{
		{"none while all have a place", seen(builder.Running("worker", 0)), 0},
		{"one for each replica of the role that fits nowhere", seen(builder.Pending("worker", 0, noRoom), builder.Pending("worker", 1, noRoom)), 2},
		{"none for another role's", seen(builder.Pending("ps", 0, noRoom)), 0},
		{"none for a replica that the scheduler has not looked at", seen(builder.Pending("worker", 0)), 0},
		{"none for a replica that is starting", seen(builder.Pending("worker", 0, builder.Waiting("ContainerCreating", ""))), 0},
		{"none for a replica that is going", seen(builder.Pending("worker", 0, noRoom, builder.DeletedAt(0))), 0},
		{"none for a past life", seen(builder.Pending("worker", 9, noRoom)), 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := plan.SparesInTheWay(builder.Snapshot(job, c.seen...), v1alpha1.Worker); got != c.want {
				t.Errorf("%d are to make way, want %d", got, c.want)
			}
		})
	}
}

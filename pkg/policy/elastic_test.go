package policy_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/pkg/state"
	"github.com/trainingjob/operator/test/builder"
)

// fits is the result of Fit, as the tables write it.
type fits struct {
	Park, Retry []string
	Wake        time.Duration
}

func fit(s *state.Snapshot) fits {
	park, retry, wake := policy.Fit(s)
	var got fits
	for _, slot := range park {
		got.Park = append(got.Park, slot.String())
	}
	for _, slot := range retry {
		got.Retry = append(got.Retry, slot.String())
	}
	if !wake.IsZero() {
		got.Wake = wake.Sub(builder.Epoch)
	}
	return got
}

func TestFit(t *testing.T) {
	parked := func(indexes, succeeded string, at time.Duration) builder.JobOption {
		return builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Parked: indexes, ParkedTime: builder.TimePtr(at), Succeeded: succeeded})
	}
	patience := func(job *v1alpha1.TrainingJob) {
		job.Spec.Elastic.ShrinkAfterSeconds, job.Spec.Elastic.GrowAfterSeconds = ptr.To[int32](20), ptr.To[int32](30)
	}
	job := func(least int, options ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("j", append([]builder.JobOption{pytorch, builder.Workers(4), builder.Elastic(least, 8)}, options...)...)
	}
	waits := func(index int, since time.Duration) builder.SnapshotOption {
		return builder.Pending("worker", index, builder.UnschedulableSince(since, "no room"))
	}
	runs := func(index int) builder.SnapshotOption { return builder.Running("worker", index) }
	endpoint := func(job *v1alpha1.TrainingJob) {
		job.Spec.Elastic.Rendezvous = &v1alpha1.Rendezvous{Endpoint: "etcd:2379"}
	}
	at := func(now time.Duration, options ...builder.SnapshotOption) []builder.SnapshotOption {
		return append(options, builder.Now(now))
	}
	expected := builder.Pending("worker", 3, builder.UnschedulableSince(0, "no room"), builder.Nominated())
	cases := []struct {
		name string
		job  *v1alpha1.TrainingJob
		seen []builder.SnapshotOption
		want fits
	}{
		{"a node is expected for one", job(1, patience), at(49*second, runs(0), runs(1), runs(2), expected), fits{Wake: 50 * second}},
		{"it has not come", job(1, patience), at(50*second, runs(0), runs(1), runs(2), expected), fits{Park: []string{"worker-3"}}},
		{"a worker that fits nowhere is parked after five minutes", job(2), at(310*second, waits(2, 10*second)), fits{Park: []string{"worker-2"}}},
		{"and not before", job(2), at(309*second, waits(2, 10*second)), fits{Wake: 310 * second}},
		{"or after shrinkAfterSeconds", job(2, patience), at(30*second, waits(2, 10*second)), fits{Park: []string{"worker-2"}}},
		{"of several each at its time, the first is returned", job(1), at(20*second, waits(3, 5*second), waits(2, 8*second)), fits{Wake: 305 * second}},
		{"one is parked and another is waited for", job(1, patience), at(28*second, waits(3, 5*second), waits(2, 18*second)),
			fits{Park: []string{"worker-3"}, Wake: 38 * second}},
		{"never below minReplicas", job(3), at(hour, waits(1, 0), waits(2, 0), waits(3, 0)), fits{Park: []string{"worker-1"}}},
		{"those parked before count", job(3, parked("3", "", hour)), at(hour, waits(1, 0)), fits{Wake: hour + 600*second}},
		{"never all when minReplicas is all", job(4), at(hour, waits(1, 0)), fits{}},
		{"never the leader", job(1), at(hour, waits(0, 0)), fits{}},
		{"another makes way for the leader, that has a node", job(1), at(310*second, waits(0, 10*second), runs(1), runs(2)), fits{Park: []string{"worker-2"}}},
		{"and not before", job(1), at(309*second, waits(0, 10*second), runs(1), runs(2)), fits{Wake: 310 * second}},
		{"one after the other", job(1, patience, parked("2", "", 25*second)), at(30*second, waits(0, 0), runs(1)), fits{Wake: 45 * second}},
		{"no worker if all are needed", job(4), at(hour, waits(0, 0), runs(1), runs(2), runs(3)), fits{}},
		{"no worker for a leader that hosts no rendezvous", job(1, endpoint), at(hour, waits(0, 0), runs(1)), fits{}},
		{"worker 0 is like any other beside a master", job(1, builder.Leader(v1alpha1.Master)), at(hour, waits(0, 0)), fits{Park: []string{"worker-0"}}},
		{"only workers", job(1, builder.Evaluators(1)), at(hour, builder.Pending("evaluator", 0, builder.Unschedulable("no room"))), fits{}},
		{"not a worker that is starting", job(2), at(hour, builder.Pending("worker", 2, builder.Waiting("ImagePullBackOff", ""))), fits{}},
		{"not a worker that is going", job(2), at(hour, builder.Pending("worker", 2, builder.Unschedulable("no room"), builder.DeletedAt(0))), fits{}},
		{"not a job that is not elastic", builder.Job("j", pytorch, builder.Workers(4)), at(hour, waits(2, 0)), fits{}},
		{"those parked are tried again after ten minutes", job(2, parked("2-3", "", 0)), at(600 * second), fits{Retry: []string{"worker-2", "worker-3"}}},
		{"and not before", job(2, parked("2-3", "", 0)), at(599 * second), fits{Wake: 600 * second}},
		{"or after growAfterSeconds", job(2, patience, parked("2-3", "", 0)), at(30 * second), fits{Retry: []string{"worker-2", "worker-3"}}},
		{"not once a worker has succeeded", job(2, parked("2-3", "1", 0)), at(hour), fits{}},
		{"not while another is being parked", job(1, parked("3", "", 0)), at(hour, waits(2, 0)), fits{Park: []string{"worker-2"}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, fit(builder.Snapshot(c.job, c.seen...))); diff != "" {
				t.Errorf("fit (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParkedWorkersAreNotMissed(t *testing.T) {
	parked := builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Parked: "2"})
	job := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("j", append([]builder.JobOption{pytorch, builder.Workers(3), builder.Elastic(2, 4), parked}, options...)...)
	}
	endpoint := func(job *v1alpha1.TrainingJob) {
		job.Spec.Elastic.Rendezvous = &v1alpha1.Rendezvous{Endpoint: "etcd:2379"}
	}
	check(t, []judgeCase{
		{"the job goes on without", job(), seen(builder.Running("worker", 0), builder.Running("worker", 1)), judged{}},
		{"one that ran before is no loss", job(), seen(builder.Running("worker", 0), builder.Running("worker", 1), builder.Gone("worker", 2)), judged{}},
		{"nor does the success of all wait for it", job(builder.AllWorkers()), seen(builder.Succeeded("worker", 0), builder.Succeeded("worker", 1)), all},
		{"the others are restarted as ever", job(), seen(builder.Failed("worker", 0, builder.Exit(1)), builder.Running("worker", 1)),
			restart(0, "worker-0 Retryable Job charged")},
		{"with a rendezvous outside worker 0 is one of many", job(endpoint), seen(builder.Failed("worker", 0, builder.Exit(1)), builder.Running("worker", 1)),
			restart(0, "worker-0 Retryable Replica charged")},
	})
	v := policy.Judge(builder.Snapshot(job(), builder.Failed("worker", 0, builder.Exit(1)), builder.Running("worker", 1)))
	if len(v.Restarts) != 1 || v.Restarts[0].Followers != 1 {
		t.Errorf("orders %+v, want one with one follower", v.Restarts)
	}
}

package reconcile

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// script is a cluster that shows one snapshot, fails at one verb, and records its calls.
type script struct {
	shows  *state.Snapshot
	failAt string
	err    error
	retry  time.Time
	did    []string
	// hasNews is whether a read has shown what the plan lacks.
	hasNews bool
}

func (s *script) do(verb string) error {
	s.did = append(s.did, verb)
	if verb == s.failAt {
		return s.err
	}
	return nil
}

func (s *script) Observe(context.Context, client.ObjectKey) (*state.Snapshot, error) {
	return s.shows, s.do("observe")
}

func (s *script) Record(context.Context, *v1alpha1.TrainingJob, *plan.Plan) error {
	return s.do("record")
}

func (s *script) Act(context.Context, *v1alpha1.TrainingJob, []plan.Step) error { return s.do("act") }

func (s *script) Read(context.Context, *state.Snapshot, state.Reads) (bool, error) {
	return s.hasNews, s.do("read")
}

func (s *script) Retry(*v1alpha1.TrainingJob) time.Time { return s.retry }

// endsIn10s returns the snapshot of a job whose deadline ends in 10 s.
func endsIn10s() *state.Snapshot {
	return builder.Snapshot(builder.Job("j", builder.Workers(1), builder.Deadline(70)), builder.Running("worker", 0), builder.Now(time.Minute))
}

func TestPass(t *testing.T) {
	conflict := apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("trainingjobs").GroupResource(), "j", errors.New("old"))
	deleted := apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("trainingjobs").GroupResource(), "j")
	boom := errors.New("boom")
	all := []string{"observe", "record", "count", "act", "read"}
	cases := []struct {
		name    string
		cluster script
		did     []string
		again   time.Duration
		err     string
	}{
		{"the job is gone", script{}, all[:1], 0, ""},
		{"the plan has a wake time", script{shows: endsIn10s()}, all, 10 * time.Second, ""},
		{"what was refused is tried again before that", script{shows: endsIn10s(), retry: builder.Epoch.Add(64 * time.Second)}, all, 4 * time.Second, ""},
		{"the time has come meanwhile", script{shows: endsIn10s(), retry: builder.Epoch}, all, time.Millisecond, ""},
		{"nothing is to be waited for", script{shows: builder.Snapshot(builder.Job("j", builder.Workers(1)), builder.Running("worker", 0))}, all, 0, ""},
		{"the cache is old", script{failAt: "observe", err: conflict}, all[:1], 200 * time.Millisecond, ""},
		{"another client wrote first", script{shows: endsIn10s(), failAt: "record", err: conflict}, all[:2], 200 * time.Millisecond, ""},
		{"the job was deleted meanwhile", script{shows: endsIn10s(), failAt: "record", err: deleted}, all[:2], 200 * time.Millisecond, ""},
		{"nothing is done or counted that was not recorded", script{shows: endsIn10s(), failAt: "record", err: boom}, all[:2], 0, "recording: boom"},
		{"an error on reading", script{failAt: "observe", err: boom}, all[:1], 0, "observing: boom"},
		{"an error on acting", script{shows: endsIn10s(), failAt: "act", err: boom}, all[:4], 0, "acting: boom"},
		{"a read has shown what the plan lacks", script{shows: endsIn10s(), hasNews: true}, all, time.Millisecond, ""},
		{"an error on a read of the plan", script{shows: endsIn10s(), failAt: "read", err: boom}, all, 0, "reading: boom"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			again, err := Pass(context.Background(), &c.cluster, client.ObjectKey{Name: "j"}, func(*v1alpha1.TrainingJob, *plan.Plan) {
				c.cluster.did = append(c.cluster.did, "count")
			})
			if diff := cmp.Diff(c.did, c.cluster.did); diff != "" {
				t.Errorf("did (-want +got):\n%s", diff)
			}
			if again != c.again {
				t.Errorf("looks again after %v, want %v", again, c.again)
			}
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}

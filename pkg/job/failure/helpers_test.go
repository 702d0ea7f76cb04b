package failure_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

const (
	second = time.Second
	node1  = "node-worker-1" // that of worker-1
)

type rule = v1alpha1.RecoveryRule

var (
	pytorch    = builder.Framework(v1alpha1.PyTorch)
	tensorflow = builder.Framework(v1alpha1.TensorFlow)
	jax        = builder.Framework(v1alpha1.JAX)
	policies   = []v1alpha1.RestartPolicy{v1alpha1.RestartNever, v1alpha1.RestartOnFailure, v1alpha1.RestartAlways, v1alpha1.RestartExitCode}
)

func seen(options ...builder.SnapshotOption) []builder.SnapshotOption { return options }

// restarts returns the restarts for all failures as the tables write them: "worker-1 Retryable Replica charged, worker-0 Infrastructure
// Replica free". A failure that no restart can mend is "worker-1 Fatal".
func restarts(s *state.Snapshot) string {
	var got []string
	for _, i := range failure.Restarts(s, failure.Find(s)) {
		got = append(got, line(&i))
	}
	return strings.Join(got, ", ")
}

func line(i *failure.Restart) string {
	text := fmt.Sprintf("%s %s", state.Slot{Role: i.Role, Index: int(i.Index)}, i.Cause)
	switch {
	case i.FailedBy != nil:
		return fmt.Sprintf("%s by rule %d", text, *i.FailedBy)
	case i.Cause == v1alpha1.CauseFatal:
		return text
	default:
		return fmt.Sprintf("%s %s %s", text, i.Scope, charge(i))
	}
}

// charge returns what an incident costs. "free by rule" is a loss that only a rule makes one.
func charge(i *failure.Restart) string {
	switch {
	case i.Joins != nil:
		return "joins"
	case i.Charged:
		return "charged"
	case i.RuleMade:
		return "free by rule"
	default:
		return "free"
	}
}

// row is a row of a table: what is seen of a job, and what that gives.
type row[T any] struct {
	name string
	job  *v1alpha1.TrainingJob
	seen []builder.SnapshotOption
	want T
}

func check[T any](t *testing.T, rows []row[T], get func(*state.Snapshot) T) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Helper()
			if diff := cmp.Diff(r.want, get(builder.Snapshot(r.job, r.seen...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

type restartCase = row[string]

func checkRestarts(t *testing.T, cases []restartCase) {
	t.Helper()
	check(t, cases, restarts)
}

// first returns the first failure of two ranks of PyTorch.
func first(t *testing.T, options ...builder.SnapshotOption) *v1alpha1.Failure {
	t.Helper()
	s := builder.Snapshot(builder.Job("j", pytorch, builder.Workers(2)), options...)
	found := failure.Restarts(s, failure.Find(s))
	if len(found) == 0 {
		t.Fatal("no failure")
	}
	return &found[0].Failure
}

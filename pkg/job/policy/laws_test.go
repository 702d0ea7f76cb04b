package policy_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"pgregory.net/rapid"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/budget"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// No job fails or is charged for failures that only losses explain, with any history.
func TestLossesNeitherFailAJobNorAreCharged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job := builder.ArbitraryPast(t, builder.Rules())
		s := builder.Snapshot(job, builder.ArbitraryLosses(job, 150*second).Draw(t, "losses")...)
		v := policy.Judge(s)
		isOfTime := func(f *v1alpha1.Failure) bool { // a replica that did not run, or not report, in time, or a user's request
			return f == nil || f.Cause == v1alpha1.CauseStartup || f.Cause == v1alpha1.CauseHang || f.Cause == v1alpha1.CauseRequested
		}
		if v.Kind == policy.Fail && !isOfTime(v.Failure) {
			t.Fatalf("the job fails for a loss: %s: %s", v.Reason, v.Message)
		}
		for i := range v.Restarts {
			if f := &v.Restarts[i].Failure; v.Restarts[i].Charged && !isOfTime(f) || !failure.IsLoss(f.Cause) && !isOfTime(f) {
				t.Fatalf("a loss is charged, or taken for something else: %s", v.Restarts[i].Sentence)
			}
		}
		if more := v.Accounts.RestartsWithoutProgress - job.Status.Memory.RestartsWithoutProgress; more > 0 && !isOfTime(v.Failure) {
			t.Fatalf("a loss counts as a restart without progress: %s", v.Message)
		}
	})
}

func TestJudgeObeysItsLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := builder.ArbitrarySnapshot(t)
		job := s.Job.DeepCopy()
		v := policy.Judge(s)
		wake := v.Wake
		if again := policy.Judge(s); !cmp.Equal(v, again, sameRows) {
			t.Fatalf("another verdict of the same snapshot: %s", cmp.Diff(v, again, sameRows))
		}
		if diff := cmp.Diff(job, s.Job); diff != "" {
			t.Fatalf("Judge changes the job:\n%s", diff)
		}
		if s.IsFinished() && v.Kind != policy.Final {
			t.Fatalf("a finished job is judged anew: %+v", v)
		}
		if !s.IsFinished() && job.Spec.IsSuspended() && v.Kind != policy.Suspend {
			checkHeldSuspension(t, v)
		}
		if (v.Kind == policy.Restart) != (len(v.Restarts) > 0) {
			t.Fatalf("ruling %d with %d orders", v.Kind, len(v.Restarts))
		}
		if v.Kind == policy.Fail && v.Failure == nil && v.Reason != v1alpha1.ReasonDeadlineExceeded {
			t.Fatalf("the job fails without evidence: %s", v.Message)
		}
		if !wake.IsZero() && !wake.After(s.Now) {
			t.Fatalf("wakes at %v, now is %v", wake, s.Now)
		}
		checkOrders(t, s, v)
		checkAsked(t, s, v)
	})
}

// checkAsked: no job waits for a checkpoint if one of its ranks could not read the request. A restart may keep the request of a former wait.
func checkAsked(t *rapid.T, s *state.Snapshot, v policy.Verdict) {
	if v.Kind != policy.Hold {
		return
	}
	for r := range s.Replicas() {
		if v.Asked != nil && r.State == state.Running && !r.Pod.Hears && r.Slot.Role != v1alpha1.Evaluator {
			t.Fatalf("the ranks have a checkpoint request, and %s has no file of requests", r.Slot)
		}
	}
}

// checkHeldSuspension: the suspension of a job waits only for a checkpoint. Only success and the deadlines of the whole job come
// first.
func checkHeldSuspension(t *rapid.T, v policy.Verdict) {
	isDeadline := v.Kind == policy.Fail && (v.Reason == v1alpha1.ReasonDeadlineExceeded || v.Reason == v1alpha1.ReasonSchedulingTimeout)
	isHeld := v.Kind == policy.Hold && v.Reason == v1alpha1.ReasonCheckpointRequested && v.Asked != nil && !v.Wake.IsZero()
	if !isDeadline && !isHeld && v.Kind != policy.Succeed {
		t.Fatalf("a suspended job is judged anew: %+v", v)
	}
}

// Once any job must be suspended, it never restarts, even if it hangs, is drained or starts late.
func TestASuspensionEndsInNoRestart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := builder.ArbitrarySnapshot(t, builder.Progress(60, v1alpha1.StallRestart), builder.Asking(100), builder.Suspended(), builder.StartedAt(0),
			builder.RunsSince(0), func(job *v1alpha1.TrainingJob) {
				meta.RemoveStatusCondition(&job.Status.Conditions, v1alpha1.ConditionFinished)
			})
		if v := policy.Judge(s); v.Kind != policy.Suspend {
			checkHeldSuspension(t, v)
		}
	})
}

// isDone are the states of replicas that never restart by themselves.
var isDone = map[state.State]bool{state.Succeeded: true, state.GivenUp: true}

// goesOn are the states of replicas that a user can restart.
var goesOn = []state.State{state.Pending, state.Starting, state.Running}

func checkOrders(t *rapid.T, s *state.Snapshot, v policy.Verdict) {
	for i := range v.Restarts {
		o := &v.Restarts[i]
		isLoss := o.Cause == v1alpha1.CauseInfrastructure || o.Cause == v1alpha1.CausePreempted
		slot := state.Slot{Role: o.Role, Index: int(o.Index)}
		isEvaluators := slot.Role == v1alpha1.Evaluator && s.Job.Spec.ReplicaSpecs[slot.Role].RestartScope != v1alpha1.ScopeJob
		isOfWholeJob := o.Cause == v1alpha1.CauseRequested && o.Pod == "" // it names the leader, which may have succeeded
		switch {
		case o.NextStart.Before(s.Now.Truncate(time.Second)) || (o.InRow == 1) != !o.NextStart.After(s.Now):
			t.Fatalf("restart %d in a row may begin at %v, now is %v", o.InRow, o.NextStart, s.Now)
		case o.Joins == nil && o.Charged == (isLoss || isEvaluators || !failure.IsFailure(o.Cause) || waitsForOneWithoutNode(s, o)):
			t.Fatalf("a failure of cause %s of %s is charged: %t", o.Cause, slot, o.Charged)
		case o.Joins != nil && (o.Charged || o.Scope == v1alpha1.ScopeJob):
			t.Fatalf("an end that is part of another's incident is charged, or restarts the job: %+v", o)
		case o.Cause == v1alpha1.CauseCompleted && o.Scope != v1alpha1.ScopeReplica:
			t.Fatalf("what is done is restarted with others: %+v", o)
		case o.Cause == v1alpha1.CauseRequested && o.Pod != "" && !slices.Contains(goesOn, s.Replica(slot).State):
			t.Fatalf("a user requests a restart of %s, which is %s", slot, s.Replica(slot).State)
		case o.Cause == v1alpha1.CauseFatal || o.FailedBy != nil:
			t.Fatalf("what is fatal is restarted: %+v", o.Failure)
		case o.Scope == v1alpha1.ScopeJob && len(v.Restarts) > 1:
			t.Fatalf("the whole job restarts, and something else with it: %+v", v.Restarts)
		case !s.InRange(slot) || !isOfWholeJob && isDone[s.Replica(slot).State] || o.Attempt != s.Job.Status.Attempt:
			t.Fatalf("%s is restarted, which is none of the present: %+v", slot, o.Failure)
		case o.Cause == v1alpha1.CauseHang && (s.Replica(slot).State != state.Running || s.Replica(slot).Pod.Page.Port == 0):
			t.Fatalf("%s hangs, which does not run or cannot report", slot)
		case o.Cause == v1alpha1.CauseHang && s.Job.Spec.Progress.Port > 0 && s.Progress.Read.Before(o.Time.Add(time.Minute)):
			t.Fatalf("%s hangs since %v, and its page was last read at %v", slot, o.Time, s.Progress.Read)
		case int(o.Followers) >= state.Total(&s.Job.Spec):
			t.Fatalf("%d follow in a job of %d", o.Followers, state.Total(&s.Job.Spec))
		}
	}
	for i, b := range budget.Budgets(s, budget.Charge(s, nil, v.Restarts)) {
		times := budget.Charge(s, nil, v.Restarts)[i].Times
		if spent := slices.ContainsFunc(v.Restarts, func(o failure.Restart) bool { return o.Charged }); int(b.Used) != len(times) || spent && b.Used > b.Limit && isChargedTo(v, b.Name) {
			t.Fatalf("budget %+v after %d orders", b, len(v.Restarts))
		}
	}
}

// waitsForOneWithoutNode reports whether the program of a rank has ended while another rank of the collective never ran and has no node, or no pod, because the
// API server refuses it.
func waitsForOneWithoutNode(s *state.Snapshot, o *failure.Restart) bool {
	p := s.Replica(failure.SlotOf(&o.Failure)).Pod
	isExit := p != nil && p.Exit != nil && p.Exit.Reason == o.Reason // a rule may call a loss a failure
	if !isExit || !state.IsMember(&s.Job.Spec, o.Role) || s.Job.Spec.Elastic != nil {
		return false
	}
	return s.Any(func(r *state.Replica) bool {
		hasNone := r.State == state.Pending || r.State == state.Missing && s.RefusalOf(r) != nil
		return state.IsMember(&s.Job.Spec, r.Slot.Role) && hasNone && !s.Memory[r.Slot.Role].Started.Has(r.Slot.Index)
	})
}

// sameRows compares the replicas of two verdicts by their slots: they are rows of the snapshot.
var sameRows = cmp.Comparer(func(a, b *state.Replica) bool { return a == b })

func isChargedTo(v policy.Verdict, name v1alpha1.BudgetName) bool {
	return slices.ContainsFunc(v.Restarts, func(o failure.Restart) bool {
		switch o.Cause {
		case v1alpha1.CauseOOM:
			return o.Charged && name == v1alpha1.BudgetOOMRestarts
		case v1alpha1.CauseHang:
			return o.Charged && name == v1alpha1.BudgetHangRestarts
		default:
			return o.Charged && name == v1alpha1.BudgetRestarts
		}
	})
}

// A verdict to continue stands until the time that Judge names.
func TestAJobThatGoesOnDoesSoUntilItIsTimeToLook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := builder.ArbitrarySnapshot(t)
		v := policy.Judge(s)
		wake := v.Wake
		if !v.GoesOn() && v.Kind != policy.Suspend {
			return
		}
		later := s.Now.Add(time.Duration(rapid.IntRange(1, 400).Draw(t, "seconds")) * second)
		if !wake.IsZero() && !later.Before(wake) {
			return
		}
		o := s.Observed
		o.Now = later
		if got := policy.Judge(builder.New(o)); got.Kind != v.Kind {
			t.Fatalf("ruling %d at first, %d (%s: %s) before it wakes", v.Kind, got.Kind, got.Reason, got.Message)
		}
	})
}

// The verdict on a snapshot depends neither on repetition nor on the order of pods.
func TestJudgeIsDeterministic(t *testing.T) {
	job := builder.Job("j", builder.Workers(4), builder.PS(2))
	pods := seen(builder.Failed("worker", 1, builder.Exit(1)), builder.Failed("worker", 3, builder.Exit(1)),
		builder.Failed("worker", 2, builder.Exit(1)), builder.Running("ps", 0))
	want := policy.Judge(builder.Snapshot(job, pods...))
	for range 20 {
		pods = append(pods[1:], pods[0])
		got := policy.Judge(builder.Snapshot(job, pods...))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("another order, another verdict (-want +got):\n%s", diff)
		}
	}
}

package state_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

func TestASnapshotKnowsEachPodsPlaceInTime(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), builder.Attempt(1), builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "0:2"}))
	s := builder.Snapshot(job, builder.Running("worker", 1), builder.Running("worker", 3), builder.Failed("worker", 0, builder.Life(0, 9)), builder.Running("worker", 0))
	var got []string
	for i := range s.Pods {
		got = append(got, fmt.Sprintf("%s past %t", s.Pods[i].Name, s.IsPast(&s.Pods[i])))
	}
	want := []string{"j-worker-0-a0r9 past true", "j-worker-0-a1r2 past false", "j-worker-1-a1r0 past false", "j-worker-3-a1r0 past true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	if p := s.Replica(state.Slot{Role: v1alpha1.Worker}).Pod; p == nil || p.Name != "j-worker-0-a1r2" || s.IsStale() {
		t.Errorf("present pod of worker-0: %v, stale %t", p, s.IsStale())
	}
}

func TestAPodFromTheFutureShowsThatTheJobIsStale(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), builder.Elastic(1, 4), builder.Attempt(1))
	cases := map[string]struct {
		pod  builder.SnapshotOption
		want bool
	}{
		"of the present":                       {builder.Running("worker", 0), false},
		"of an earlier attempt":                {builder.Running("worker", 0, builder.Life(0, 7)), false},
		"of a later attempt":                   {builder.Running("worker", 0, builder.Life(2, 0)), true},
		"of a later replacement":               {builder.Running("worker", 0, builder.Life(1, 1)), true},
		"of a replica the stale job lacks yet": {builder.Running("worker", 3, builder.Life(1, 1)), true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := builder.Snapshot(job, c.pod).IsStale(); got != c.want {
				t.Errorf("stale %t, want %t", got, c.want)
			}
		})
	}
}

// What belongs to one slot is found among the pods of all, whatever their order was.
func TestPodsOfOneSlot(t *testing.T) {
	job := builder.Job("j", builder.PS(1), builder.Workers(12))
	s := builder.Snapshot(job, builder.Running("worker", 11), builder.Running("worker", 1, builder.Life(1, 0)), builder.Running("worker", 10),
		builder.Running("ps", 0), builder.Running("worker", 1), builder.Running("worker", 2))
	for slot, want := range map[state.Slot][]string{
		{Role: v1alpha1.PS, Index: 0}: {"j-ps-0"}, {Role: v1alpha1.Worker, Index: 0}: nil, {Role: v1alpha1.Worker, Index: 1}: {"j-worker-1", "j-worker-1-a1r0"},
		{Role: v1alpha1.Worker, Index: 11}: {"j-worker-11"}, {Role: v1alpha1.Worker, Index: 12}: nil, {Role: v1alpha1.Evaluator, Index: 0}: nil,
	} {
		var got []string
		for _, p := range s.PodsOf(slot) {
			got = append(got, p.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("pods of %s: %v, want %v", slot, got, want)
		}
	}
}

func TestAStatusThatSomebodyElseWroteIsAnErrorThatNamesTheField(t *testing.T) {
	for field, was := range map[string]v1alpha1.RoleMemory{
		"started": {Started: "x"}, "succeeded": {Succeeded: "3-1"}, "replacements": {Replacements: "1"},
		"givenUp": {GivenUp: "-"},
	} {
		o := state.Observed{Job: builder.Job("j", builder.Workers(1), builder.Remember(v1alpha1.Worker, was))}
		if _, err := state.New(o); err == nil || !strings.Contains(err.Error(), "status.memory of Worker: "+field) {
			t.Errorf("%s: error %v", field, err)
		}
	}
}

// BenchmarkTrouble asks of each of 10,000 pods on 1,000 nodes, all of them in trouble, whether it is lost.
func BenchmarkTrouble(b *testing.B) {
	options := []builder.SnapshotOption{builder.Now(time.Hour)}
	for i := range 10_000 {
		options = append(options, builder.Running("worker", i, builder.On(fmt.Sprintf("n%d", i%1000))))
	}
	for i := range 1000 {
		options = append(options, builder.NodeLost(fmt.Sprintf("n%d", i), 0))
	}
	s := builder.Snapshot(builder.Job("j", builder.Workers(10_000)), options...)
	b.ReportAllocs()
	for b.Loop() {
		for i := range s.Pods {
			if !s.IsLost(&s.Pods[i]) {
				b.Fatal("not lost")
			}
		}
	}
}

func BenchmarkPodOf(b *testing.B) {
	job := builder.Job("j", builder.Workers(1))
	pod := builder.Pod(job, state.Slot{Role: v1alpha1.Worker}, state.Life{Attempt: 1}, corev1.PodRunning, builder.Ready(), builder.Exit(0))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := state.PodOf("j", pod); !ok {
			b.Fatal("not ours")
		}
	}
}

func BenchmarkNew(b *testing.B) {
	for _, n := range []int{512, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			job := builder.Job("j", builder.Workers(n), builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Started: fmt.Sprintf("0-%d", n-1)}))
			var pods []builder.SnapshotOption
			for i := range n {
				pods = append(pods, builder.Running("worker", i))
			}
			s := builder.Snapshot(job, pods...)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := state.New(s.Observed); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A cleaner may delete a pod that has ended, before the operator looks. Every version from then on has a deletionTimestamp.
func TestAnEndThatTheWatchHasShownCountsAlthoughThePodWasThenDeleted(t *testing.T) {
	job := builder.Job("j", builder.Workers(3), builder.StartedAt(0))
	pods := []builder.SnapshotOption{builder.Succeeded("worker", 0, builder.DeletedAt(40*time.Second)), builder.Failed("worker", 1, builder.Exit(1), builder.DeletedAt(40*time.Second)),
		builder.Failed("worker", 2, builder.Exit(143), builder.DeletedAt(20*time.Second))}
	remembered := func(o *state.Observed) {
		o.Ended = map[types.UID]state.Pod{}
		for _, p := range o.Pods[:2] {
			p.Deleted, p.EndsBy = time.Time{}, time.Time{}
			o.Ended[p.UID] = p
		}
	}
	s := builder.Snapshot(job, append(pods, remembered)...)
	if got := s.Replica(state.Slot{Role: v1alpha1.Worker}).State; got != state.Succeeded {
		t.Errorf("worker-0 is %v, want a success", got)
	}
	for i, want := range map[int]bool{1: true, 2: false} {
		if r := s.Replica(state.Slot{Role: v1alpha1.Worker, Index: i}); r.State != state.Failed || r.Pod.Deleted.IsZero() != want {
			t.Errorf("worker-%d is %v, deleted %v: want a failure, by itself: %t", i, r.State, r.Pod.Deleted, want)
		}
	}
	isSuspended := builder.Condition(v1alpha1.ConditionSuspended, true, v1alpha1.ReasonSuspended, 0)
	isSuspended(job)
	if r := builder.Snapshot(job, append(pods, remembered)...).Replica(state.Slot{Role: v1alpha1.Worker, Index: 1}); r.Pod.Deleted.IsZero() {
		t.Error("a suspended job deletes the pod, and does not see that it was deleted")
	}
}

package cluster

import (
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// A renewal from a clock that is ahead counts from when it was first seen. Later reads do not make it newer.
func TestARenewalFromTheFutureCountsAsNow(t *testing.T) {
	clock := testclock.NewFakePassiveClock(builder.Epoch)
	c := New(nil, nil, nil, clock, Options{Parallel: 1})
	job := builder.Job("j")
	hour, second := time.Hour, time.Second
	for _, look := range []struct {
		what               string
		now, renewed, want time.Duration
	}{
		{"a renewal of before", 0, -second, -second},
		{"one of the future", 10 * second, hour, 10 * second},
		{"the same one, later", 50 * second, hour, 10 * second},
		{"another one of the future", 60 * second, hour + second, 60 * second},
		{"another one of the future, later", 90 * second, hour + second, 60 * second},
		{"that one, when its time has come", 2 * hour, hour + second, 60 * second},
		{"a clock that was set right", 2*hour + second, 2 * hour, 2 * hour},
	} {
		clock.SetTime(builder.Epoch.Add(look.now))
		if got := c.renewedAt(job, builder.Epoch.Add(look.renewed)).Sub(builder.Epoch); got != look.want {
			t.Errorf("%s: renewed at %v, want %v", look.what, got, look.want)
		}
	}
}

// Rank 0 of an attempt or a life that is over may still report from a node that is cut off only from its peers.
func TestOnlyThePresentLifeReportsProgress(t *testing.T) {
	for _, c := range []struct {
		attempt, life string
		want          bool
	}{
		{"", "", true}, {"2", "", true}, {"1", "", false}, {"3", "", false}, {"two", "", false}, {"02", "", false},
		{"2", "2000004", true}, {"2", "2000003", false}, {"", "2000003", false}, {"2", "2000005", true}, {"2", "a number", false},
	} {
		job := builder.Job("j", builder.Workers(2), builder.Progress(60, v1alpha1.StallRestart))
		job.Status.Attempt = 2
		leader, worker := state.Slot{Role: v1alpha1.Worker}, state.Slot{Role: v1alpha1.Worker, Index: 1}
		o := &state.Observed{Job: job, Pods: []state.Pod{{Slot: leader, Number: 2_000_000}, {Slot: leader, Number: 2_000_004}, {Slot: worker, Number: 2_000_009}}}
		if got := o.Heeds(c.attempt, c.life); got != c.want {
			t.Errorf("attempt %q, life %q: it counts %v, want %v", c.attempt, c.life, got, c.want)
		}
	}
}

package cluster

import (
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/trainingjob/operator/test/builder"
)

// A renewal from a clock that is ahead counts from when it is seen, and does not become newer by being looked at.
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
		if got := c.believable(job, builder.Epoch.Add(look.renewed)).Sub(builder.Epoch); got != look.want {
			t.Errorf("%s: renewed at %v, want %v", look.what, got, look.want)
		}
	}
}

package reads

import (
	"testing"
	"time"

	"github.com/trainingjob/operator/pkg/operator/progress"
	"github.com/trainingjob/operator/test/sim/builder"
)

// A report is new if its time or its step differs from the last read, and it counts from that read. The clock of its node may show any time.
func TestAReportCountsFromWhenItWasFirstSeen(t *testing.T) {
	var shown Shown
	for _, read := range []struct {
		what string
		now  time.Duration
		page string
		err  error
		want time.Duration
	}{
		{"an hour behind", 0, `{"time":"2026-01-05T11:00:00Z","step":1}`, nil, 0},
		{"the same", 10 * time.Second, `{"time":"2026-01-05T11:00:00Z","step":1}`, nil, 0},
		{"a newer one", 20 * time.Second, `{"time":"2026-01-05T11:00:15Z","step":1}`, nil, 20 * time.Second},
		{"an hour ahead", 30 * time.Second, `{"time":"2026-01-05T13:00:25Z","step":1}`, nil, 30 * time.Second},
		{"the same, after a read that failed", 50 * time.Second, `{"time":"2026-01-05T13:00:25Z","step":1}`, nil, 30 * time.Second},
		{"set back", 60 * time.Second, `{"time":"2026-01-05T12:00:55Z","step":1}`, nil, 60 * time.Second},
		{"a clock that stands, and a newer step", 70 * time.Second, `{"time":"2026-01-05T12:00:55Z","step":2}`, nil, 70 * time.Second},
		{"another process", 80 * time.Second, `{"time":"2026-01-05T12:00:55Z","step":2,"attempt":1}`, nil, 80 * time.Second},
		{"silence", 90 * time.Second, "", progress.ErrSilent, 80 * time.Second},
	} {
		shown = shown.After(builder.Epoch.Add(read.now), []byte(read.page), read.err)
		if got := shown.Renewed.Sub(builder.Epoch); got != read.want {
			t.Errorf("%s: first seen at %v, want %v", read.what, got, read.want)
		}
	}
}

// A process counts from when its page is first wanted in place of another. One that the operator finds when it starts may have run for long.
func TestAProcessCountsFromWhenItsPageIsFirstWanted(t *testing.T) {
	var r Reading
	for _, want := range []struct{ now, began, since time.Duration }{
		{0, time.Hour, -1}, {10 * time.Second, time.Hour, -1}, {20 * time.Second, -time.Hour, 20 * time.Second}, {30 * time.Second, -time.Hour, 20 * time.Second},
	} {
		r = r.To(&Page{Pod: "p", Process: builder.Epoch.Add(want.began)}, builder.Epoch.Add(want.now))
		if began := r.Seen().Began; began.IsZero() != (want.since < 0) || !began.IsZero() && began.Sub(builder.Epoch) != want.since {
			t.Errorf("at %v the process began at %v, want %v", want.now, began, want.since)
		}
	}
}

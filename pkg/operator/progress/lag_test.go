package progress

import (
	"testing"
	"time"
)

// A page is read every 10 s. The training reports every so many seconds until it stops after an hour; the clock of its node is wrong.
func TestAReportIsLate(t *testing.T) {
	const stops, seconds = time.Hour, time.Second
	for _, c := range []struct {
		every, skew time.Duration
		within      time.Duration // after the last report and two reads
	}{
		{seconds, 0, 6 * seconds}, {seconds, 40 * seconds, 6 * seconds}, {seconds, -40 * seconds, 6 * seconds}, {30 * seconds, 0, 35 * seconds}, {4 * time.Minute, 0, 245 * seconds},
	} {
		var lag Lag
		begin := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
		for at := time.Duration(0); ; at += 10 * seconds {
			last := min(at, stops).Truncate(c.every)
			lag = lag.After(begin.Add(at), begin.Add(last+c.skew))
			if lag.IsLate() && at < stops {
				t.Fatalf("a report each %v is late after %v", c.every, at)
			}
			if lag.IsLate() {
				if late := at - last; late > c.within+10*seconds {
					t.Errorf("a report each %v, by a clock that is %v ahead, is late after %v", c.every, c.skew, late)
				}
				break
			}
			if at > 2*time.Hour {
				t.Errorf("a report each %v is never late", c.every)
				break
			}
		}
	}
}

// A pause, as for a checkpoint, makes reports late for some time only.
func TestAfterAPauseReportsAreSoonLateAgain(t *testing.T) {
	begin := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	var lag Lag
	read := func(at, renewed int) bool {
		lag = lag.After(begin.Add(time.Duration(at)*time.Second), begin.Add(time.Duration(renewed)*time.Second))
		return lag.IsLate()
	}
	for at := 0; at <= 50; at += 10 {
		read(at, at)
	}
	if read(60, 51) != true || read(70, 70) != false {
		t.Fatal("a pause of 20 s is not late, or a report after it is")
	}
	if read(80, 71) {
		t.Error("so soon after a pause a report is late again")
	}
	for at := 90; at <= 200; at += 10 {
		read(at, at)
	}
	if !read(210, 201) {
		t.Error("long after a pause no report is late")
	}
}

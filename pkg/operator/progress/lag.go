package progress

import (
	"slices"
	"time"
)

const (
	// fewestLags and mostLags are how many reports it takes, and how many count, to show how old a report gets before the next one.
	fewestLags, mostLags = 3, 8
	// lateBy is how much older than these a report is that is late.
	lateBy = 5 * time.Second
)

// Lag shows whether the next report of a page is later than usual.
type Lag struct {
	renewed time.Time
	now     time.Duration
	// usual are the oldest ages of the reports before, as reads have shown them, oldest first.
	usual []time.Duration
}

// After returns the lag after a read, which began at that time, and the newest report, by when it was first seen.
func (l Lag) After(read, renewed time.Time) Lag {
	if !l.renewed.IsZero() && !l.renewed.Equal(renewed) {
		l.usual = append(slices.Clone(l.usual), l.now)
		l.usual = l.usual[max(0, len(l.usual)-mostLags):]
	}
	l.renewed, l.now = renewed, read.Sub(renewed)
	return l
}

// IsLate reports whether the newest report is older than the reports before it got.
func (l Lag) IsLate() bool {
	return len(l.usual) >= fewestLags && l.now > slices.Max(l.usual)+lateBy
}

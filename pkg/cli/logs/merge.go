package logs

import (
	"time"

	"github.com/trainingjob/operator/pkg/job/state"
)

// Line is one line of a log, and the life of the replica that wrote it.
type Line struct {
	Time time.Time
	Text string
	Life state.Life
}

// Merger puts the lines of several sources in the order of their times; lines of one source keep their order. It holds a line back while
// an open source that had a line within Silence has none: an earlier line may be on its way.
type Merger struct {
	// Silence is how long a source may hold up the others; negative for as long as it is open.
	Silence time.Duration

	sources []*source
}

// source is one log that is merged.
type source struct {
	lines []Line
	// latest is the time of its latest line in the order of all: no line of one source overtakes another.
	latest time.Time
	heard  time.Time
	open   bool
}

// Open adds a source and returns its number.
func (m *Merger) Open(now time.Time) int {
	m.sources = append(m.sources, &source{heard: now, open: true})
	return len(m.sources) - 1
}

// Add adds the next line of a source.
func (m *Merger) Add(number int, line Line, now time.Time) {
	s := m.sources[number]
	if line.Time.Before(s.latest) {
		line.Time = s.latest
	}
	s.latest, s.heard = line.Time, now
	s.lines = append(s.lines, line)
}

// Close records that a source has no more lines.
func (m *Merger) Close(number int) { m.sources[number].open = false }

// Next returns the next line in order, and its source; ok is false if it is not known yet which that is, or none is left.
func (m *Merger) Next(now time.Time) (number int, line Line, ok bool) {
	number = -1
	for i, s := range m.sources {
		switch {
		case len(s.lines) > 0:
			if number < 0 || s.lines[0].Time.Before(m.sources[number].lines[0].Time) {
				number = i
			}
		case s.open && (m.Silence < 0 || now.Sub(s.heard) < m.Silence):
			return 0, Line{}, false
		}
	}
	if number < 0 {
		return 0, Line{}, false
	}
	s := m.sources[number]
	line = s.lines[0]
	s.lines = s.lines[1:]
	return number, line, true
}

// IsEmpty reports whether all sources are closed and all their lines were returned.
func (m *Merger) IsEmpty() bool {
	for _, s := range m.sources {
		if s.open || len(s.lines) > 0 {
			return false
		}
	}
	return true
}

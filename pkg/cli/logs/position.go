package logs

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// position is how far a log was read.
type position struct {
	cursor Cursor
	// partial is the end of the latest stream, without an end of line: it is a line if nothing comes after it.
	partial *Line
	// rest is the text of that end.
	rest string
	// end is where the latest reading of a log that grows no more ended, and alike how often in a row it was there. blank is how many
	// readings in a row had no line at all, and elsewhere how many went on behind the line that was read last without having it.
	end       end
	alike     int
	blank     int
	elsewhere int
	// patience is how many readings in a row must lack the line that was read last until that is gone: the kubelet has put the log
	// aside to begin another file.
	patience int
}

// errElsewhere is the error for a log without the last line. The log belongs to a restarted container, which the status does not show
// yet, or the kubelet has rotated the line away.
var errElsewhere = errors.New("it does not go on where it broke off")

// end is where a reading ended.
type end struct {
	last  time.Time
	count int
	rest  string
}

// begin starts a stream.
func (p *position) begin() {
	p.partial = nil
	if !p.cursor.last.IsZero() { // an empty log has no rotated lines
		p.blank++
	}
}

// pass passes a line of a stream, and returns whether it was not read before.
func (p *position) pass(text string) (line Line, isNew bool, err error) {
	line, ok := Parse(strings.TrimSuffix(text, "\n"))
	if !ok {
		return line, false, fmt.Errorf("%w: %s", errGone, strings.TrimSpace(text)) // it is the kubelet who speaks
	}
	p.blank = 0
	if p.cursor.hasPassed(line.Time) && p.elsewhere < p.patience {
		p.elsewhere++
		return line, false, errElsewhere
	}
	isNew = p.cursor.IsNew(line.Time)
	if p.cursor.reached() {
		p.elsewhere = 0
	}
	return line, isNew, nil
}

// keepPartial keeps the text behind the last end of line: the container may have ended with it, or the stream within it.
func (p *position) keepPartial(text string) error {
	p.rest = text
	if line, ok := Parse(text); ok {
		p.partial = &line
	} else if text != "" && (text[0] < '0' || text[0] > '9') {
		return fmt.Errorf("%w: %s", errGone, strings.TrimSpace(text))
	}
	return nil
}

// passPartial passes the text that keepPartial has kept, because no more text comes; is reports whether it is a new line.
func (p *position) passPartial() (line Line, is bool) {
	if p.partial == nil {
		return line, false
	}
	line = *p.partial
	p.partial = nil
	return line, p.cursor.IsNew(line.Time)
}

// turn starts another log, which begins where the old one ended.
func (p *position) turn() {
	p.alike, p.blank, p.elsewhere = 0, 0, 0
	p.cursor.turn()
}

// isConfirmed reports whether a log that grows no more was read to its end: two readings in a row have ended at the same place. One
// alone proves nothing, as a connection that breaks between kubelet and API server looks to us like an end.
func (p *position) isConfirmed() bool {
	now := end{last: p.cursor.last, count: p.cursor.count, rest: p.rest}
	switch {
	case !p.cursor.reached(): // where it ended is not where the cursor stands
		p.end, p.alike = end{}, 0
	case now != p.end:
		p.end, p.alike = now, 1
	default:
		p.alike++
	}
	return p.alike > 1 || p.blank >= p.patience
}

// Parse returns the line behind the time that the kubelet writes before it; ok is false if there is none.
func Parse(text string) (line Line, ok bool) {
	stamp, rest, _ := strings.Cut(text, " ")
	at, err := time.Parse(time.RFC3339Nano, stamp)
	return Line{Time: at, Text: rest}, err == nil
}

package logs

import "time"

// Cursor knows which lines of a log were read, so that a second reading goes on where the first broke off.
type Cursor struct {
	// last is the time of the last line that was read, and count is how many lines of that time were.
	last  time.Time
	count int
	// rereading is whether lines that were read come again; seen is how many of the time last have.
	rereading bool
	seen      int
}

// Begin begins a reading and returns from when on lines are needed; zero for all.
func (c *Cursor) Begin() time.Time {
	c.rereading, c.seen = c.count > 0, 0
	return c.last.Truncate(time.Second)
}

// IsNew reports whether the line of that time was not read before, and counts it as read.
func (c *Cursor) IsNew(at time.Time) bool {
	if c.rereading {
		if at.Before(c.last) {
			return false
		}
		if at.Equal(c.last) {
			c.seen++
			if c.seen <= c.count {
				return false
			}
		}
		c.rereading = false
	}
	if !at.Equal(c.last) {
		c.last, c.count = at, 0
	}
	c.count++
	return true
}

// hasPassed reports whether a line of that time is behind the one that was read last, which has not come again.
func (c *Cursor) hasPassed(at time.Time) bool { return !c.reached() && at.After(c.last) }

// reached reports whether the reading has come as far as the one before.
func (c *Cursor) reached() bool { return !c.rereading || c.seen >= c.count }

// turn starts another log, which begins where the old one ended.
func (c *Cursor) turn() { c.count, c.rereading = 0, false }

package export

import "time"

// EndWithin sets how long the exporter may send the remaining spans, and returns how long it may by default.
func (e *Exporter) EndWithin(d time.Duration) (byDefault time.Duration) {
	byDefault, e.endWithin = e.endWithin, d
	return byDefault
}

package reconcile

import (
	"testing"
	"time"
)

func TestAnErrorIsRetriedWithinAMinute(t *testing.T) {
	limiter := Retries[string]()
	const job = "j"
	if first := limiter.When(job); first > 10*time.Millisecond {
		t.Errorf("the first retry comes after %v", first)
	}
	var last time.Duration
	for range 100 {
		last = limiter.When(job)
	}
	if last != time.Minute {
		t.Errorf("after 100 errors the next retry comes after %v, want 1 min", last)
	}
}

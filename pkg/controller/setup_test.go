package controller

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestAnErrorIsRetriedWithinAMinute(t *testing.T) {
	limiter := Retries()
	job := reconcile.Request{}
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

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// timeline prints what happens, one line an event, with the seconds since it began.
type timeline struct {
	began time.Time
	mu    sync.Mutex
	// told holds the Events that were printed, as "job reason".
	told map[string]bool
}

func (t *timeline) say(who, what, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.told[who+" "+what] = true
	fmt.Printf("%6.1fs  %-11s %-18s %s\n", time.Since(t.began).Seconds(), who, what, why)
}

func (t *timeline) hasTold(who, what string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.told[who+" "+what]
}

// follow prints the Events of TrainingJobs as they come, until ctx ends.
func (t *timeline) follow(ctx context.Context, c client.WithWatch) error {
	w, err := c.Watch(ctx, &corev1.EventList{}, client.InNamespace(namespace), client.MatchingFields{"involvedObject.kind": v1alpha1.Kind})
	if err != nil {
		return fmt.Errorf("watching Events: %w", err)
	}
	go func() {
		for e := range w.ResultChan() {
			if event, ok := e.Object.(*corev1.Event); ok {
				t.say(event.InvolvedObject.Name, event.Reason, event.Message)
			}
		}
	}()
	return nil
}

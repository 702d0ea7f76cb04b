// Package builder makes the jobs and snapshots that tests speak about, in one line each:
//
//	job := builder.Job("j", builder.Framework(v1alpha1.PyTorch), builder.Workers(2))
//	s := builder.Snapshot(job, builder.Running("worker", 0), builder.Failed("worker", 1, builder.Exit(137), builder.At(3*time.Second)))
//
// A job has the defaults of the CRD's schema. A snapshot is complete, and its pods have passed through state.PodOf.
// Times are counted from Epoch, and the clock stands at Epoch + 1 min unless Now sets it.
package builder

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Epoch is the time from which tests count.
var Epoch = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// Time returns the time d after Epoch.
func Time(d time.Duration) metav1.Time { return metav1.NewTime(Epoch.Add(d)) }

// TimePtr returns a pointer to the time d after Epoch.
func TimePtr(d time.Duration) *metav1.Time {
	t := Time(d)
	return &t
}

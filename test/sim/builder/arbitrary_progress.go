package builder

import (
	"time"

	"pgregory.net/rapid"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// arbitraryReport draws what is known of the training's progress: by a Lease at once, by a page as of its last read.
func arbitraryReport(t *rapid.T, job *v1alpha1.TrainingJob, now time.Duration) []SnapshotOption {
	var seen []SnapshotOption
	if job.Spec.Progress == nil {
		return nil
	}
	if rapid.Bool().Draw(t, "reported") {
		seen = append(seen, Reported(rapid.Int64Range(0, 3).Draw(t, "step"), before(t, now)))
	}
	if state.ReportsByPage(&job.Spec) && rapid.Bool().Draw(t, "read") {
		seen = append(seen, Read(before(t, now)))
	}
	if state.ReportsByPage(&job.Spec) && rapid.Bool().Draw(t, "unread") {
		seen = append(seen, Unread("connection refused"))
	}
	if state.ReportsByPage(&job.Spec) && rapid.Bool().Draw(t, "stacks") {
		seen = append(seen, arbitraryStacks(t, now))
	}
	return seen
}

// arbitraryStacks draws where ranks are, of some that the job may no longer have.
func arbitraryStacks(t *rapid.T, now time.Duration) SnapshotOption {
	places := []state.Stack{{}, {IsSilent: true}, {Where: "all_reduce (train.py:41)", Waits: true}, {Where: "read (dataset.py:88)"}}
	list := make([]state.Stack, rapid.IntRange(0, 5).Draw(t, "ranks"))
	for i := range list {
		list[i] = rapid.SampledFrom(places).Draw(t, "place")
		list[i].Slot = state.Slot{Role: rapid.SampledFrom([]v1alpha1.Role{v1alpha1.Worker, v1alpha1.Master}).Draw(t, "role"), Index: i}
	}
	return Stacks(rapid.SampledFrom([]time.Duration{0, before(t, now), now + time.Second}).Draw(t, "until"), list...)
}

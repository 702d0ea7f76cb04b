package plan

import (
	"fmt"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/pkg/job/state"
)

// repeatAfter is how long after an unanswered request the annotation is changed once more. A kubelet misses the change on about
// one of a hundred pods, and renews its files only with the next change, or a minute later.
const repeatAfter = 2 * time.Second

// requestCheckpoint returns the steps that write the checkpoint request of the status to the pods, or remove it, and when to
// repeat it.
func requestCheckpoint(s *state.Snapshot) (steps []Step, again time.Time) {
	request := s.Job.Status.CheckpointRequest
	text := state.StopText(request)
	switch {
	case request == nil:
	case s.HasAnswered(request):
		return nil, time.Time{}
	default:
		if again = request.Time.Add(repeatAfter); !s.Now.Before(again) {
			text, again = text+" again", time.Time{}
		}
	}
	for i := range s.Pods {
		p := &s.Pods[i]
		isPresent := !p.Life.Before(s.Life(p.Slot)) && s.MayAct(p) && p.Scheduled()
		if isPresent && p.Asked != text && (request != nil || p.Deleted.IsZero()) {
			steps = append(steps, AskPod{Name: p.Name, UID: p.UID, Text: text})
		}
	}
	return steps, again
}

// checkpointEvents returns the Events of a checkpoint request and of its result. Other Events report why a request was dropped:
// the ranks broke first, or need not stop any more.
func checkpointEvents(s *state.Snapshot, v *policy.Verdict, is *v1alpha1.CheckpointRequest) []Event {
	switch was := s.Job.Status.CheckpointRequest; {
	case was == nil && is != nil:
		return []Event{normal(v1alpha1.EventCheckpointRequested, is.Reason, fmt.Sprintf(
			"The ranks must save a checkpoint before they are stopped (%s), by %s UTC.", is.Reason, is.DeadlineTime.UTC().Format(time.TimeOnly)))}
	case was == nil || is != nil:
		return nil
	case s.HasAnswered(was):
		saved := fmt.Sprintf("step %d", s.Progress.Step)
		if s.Progress.Checkpoint != "" {
			saved += " in " + s.Progress.Checkpoint
		}
		return []Event{normal(v1alpha1.EventCheckpointSaved, was.Reason, "The ranks have saved "+saved+" and are stopped.")}
	case !s.Now.Before(was.DeadlineTime.Time):
		return []Event{warn(v1alpha1.EventCheckpointMissed, was.Reason, fmt.Sprintf(
			"No rank has confirmed a checkpoint: the ranks are stopped %v after the request.", s.Now.Sub(was.Time.Time).Round(time.Second)))}
	case v.Kind == policy.Suspend && v.Failure != nil:
		return []Event{warn(v1alpha1.EventCheckpointMissed, was.Reason, "No rank has confirmed a checkpoint before "+failure.Describe(v.Failure)+".")}
	default:
		return nil
	}
}

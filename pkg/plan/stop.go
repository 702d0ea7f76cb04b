package plan

import (
	"fmt"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// askAgainAfter is how long after an unanswered request the pods get it once more. A kubelet misses about one changed annotation in a
// hundred, and renews its files only with the next change, or a minute later.
const askAgainAfter = 2 * time.Second

// askPods returns the steps that write the request of the status, or its end, into the pods, and the time of the repetition.
func askPods(s *state.Snapshot) (steps []Step, again time.Time) {
	request := s.Job.Status.CheckpointRequest
	text := state.StopText(request)
	switch {
	case request == nil:
	case s.HasAnswered(request):
		return nil, time.Time{}
	default:
		if again = request.Time.Add(askAgainAfter); !s.Now.Before(again) {
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

// stopID returns the id of the request in the status; empty without one.
func stopID(status *v1alpha1.TrainingJobStatus) string {
	if status.CheckpointRequest == nil {
		return ""
	}
	return status.CheckpointRequest.ID
}

// stopEvents returns Events for a request to save a checkpoint, and for its result. Other Events report why a request ended early: the
// ranks failed first, or the stop was cancelled.
func stopEvents(s *state.Snapshot, was, is *v1alpha1.CheckpointRequest) []Event {
	switch {
	case was == nil && is != nil:
		return []Event{normal(v1alpha1.EventStopAsked, is.Reason, fmt.Sprintf(
			"The ranks save a checkpoint before they are stopped (%s), by %s UTC.", is.Reason, is.DeadlineTime.UTC().Format(time.TimeOnly)))}
	case was == nil || is != nil:
		return nil
	case s.HasAnswered(was):
		return []Event{normal(v1alpha1.EventCheckpointSaved, was.Reason, fmt.Sprintf(
			"The ranks have saved step %d%s and are stopped.", s.Progress.Step, in(s.Progress.Checkpoint)))}
	case !s.Now.Before(was.DeadlineTime.Time):
		return []Event{warn(v1alpha1.EventCheckpointMissed, was.Reason, fmt.Sprintf(
			"No rank has reported a saved checkpoint: they are stopped %v after the request.", s.Now.Sub(was.Time.Time).Round(time.Second)))}
	default:
		return nil
	}
}

func in(checkpoint string) string {
	if checkpoint == "" {
		return ""
	}
	return " in " + checkpoint
}

package story_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/story"
	"github.com/trainingjob/operator/test/sim/builder"
)

// hostile has a terminal's commands (OSC, CSI, the C1 form of CSI), a faked line, and a character that turns the direction of writing.
const hostile = "bad\x1b]0;owned\x07\x1b[2J\u009b31m\nok    All is well\r\u202eevil"

// TestForeignWordsCommandNoTerminal: a tenant with the role edit writes Events and annotations, a pod its messages, an add-on conditions.
func TestForeignWordsCommandNoTerminal(t *testing.T) {
	v := hostileView()
	e, err := story.Why(v)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := story.Replicas(v, 10)
	if err != nil {
		t.Fatal(err)
	}
	told := append(append([]string{e.Sentence}, e.Facts...), e.Next...)
	for _, line := range lines {
		told = append(told, fmt.Sprintf("%+v", line))
	}
	for _, event := range v.EventsByTime() {
		told = append(told, event.Reason, event.Message)
	}
	v.Job.Status.Incidents = []v1alpha1.Incident{{Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Cause: v1alpha1.CauseRetryable, Node: hostile, Container: hostile, Reason: hostile, Message: hostile}}}
	told = append(told, strings.Split(story.Timeline(v, 80, story.ASCII), "\n")...)
	all := strings.Join(told, "|")
	if count := strings.Count(all, "All is well"); count < 5 {
		t.Fatalf("the hostile words are told %d times: this shows nothing:\n%s", count, all)
	}
	for _, line := range told {
		if i := strings.IndexFunc(line, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }); i >= 0 {
			t.Errorf("%q has a command for the terminal at %d", line, i)
		}
	}
}

func hostileView() *story.View {
	job := builder.Job("mnist", builder.Workers(3), builder.StartedAt(0), phase(v1alpha1.PhasePending, hostile, hostile),
		lastFailure(failure(v1alpha1.CauseRetryable, hostile, 1, 0), hostile))
	v := view(job, worker(job, 0, corev1.PodPending, builder.Waiting(hostile, hostile)), worker(job, 1, corev1.PodPending, builder.Unschedulable(hostile)),
		worker(job, 2, corev1.PodFailed, builder.ExitSaying(1, hostile, hostile)))
	v.Pods[0].Spec.NodeName = hostile
	v.Events = []corev1.Event{{Type: corev1.EventTypeWarning, Reason: hostile, Message: hostile}}
	return v
}

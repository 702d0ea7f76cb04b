package plan

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Event is an entry of the job's Events.
type Event struct {
	// Type is Normal or Warning.
	Type   string
	Reason string
	// Action is the condition's reason, or the scope of a restart.
	Action  string
	Message string
	// Node is the node that the Event is about; empty if it is about the job.
	Node string
}

func normal(reason, action, message string) Event {
	return Event{Type: corev1.EventTypeNormal, Reason: reason, Action: action, Message: message}
}

func warn(reason, action, message string) Event {
	return Event{Type: corev1.EventTypeWarning, Reason: reason, Action: action, Message: message}
}

// namedInEvent is how many further replicas an Event names that reports several restarts.
const namedInEvent = 4

// nameFirst lists the first of the names, and counts the others.
func nameFirst(names []string) string {
	list := slices.Clone(names[:min(len(names), namedInEvent)])
	if more := len(names) - namedInEvent; more > 0 {
		list = append(list, fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, ", ")
}

package state

import (
	"cmp"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Told is the latest instruction to a pod that can restart in place, from the annotation v1alpha1.AnnotationInPlaceRestart. A pod that never
// restarted in place has only the life of its creation.
type Told struct {
	// Life is the life that the pod is to begin, From the one that it leaves.
	Life, From Life
	// Process is the id of the main container that it leaves behind, as the node's runtime gives it.
	Process string
	// Time is the time of the instruction.
	Time time.Time
}

// FormerAnnotation is the former name of v1alpha1.AnnotationInPlaceRestart, which pods of running jobs may have.
const FormerAnnotation = v1alpha1.Group + "/told"

// InPlaceRestart returns the text of the pod's annotation; empty if it cannot restart in place.
func InPlaceRestart(pod *corev1.Pod) string {
	return cmp.Or(pod.Annotations[v1alpha1.AnnotationInPlaceRestart], pod.Annotations[FormerAnnotation])
}

// toldText is Told in JSON.
type toldText struct {
	Life    string     `json:"life"`
	From    string     `json:"from,omitempty"`
	Process string     `json:"process,omitempty"`
	Time    *time.Time `json:"time,omitempty"`
}

// String returns the value of the annotation.
func (t Told) String() string {
	text := toldText{Life: t.Life.String()}
	if t.Process != "" {
		text.From, text.Process, text.Time = t.From.String(), t.Process, &t.Time
	}
	b, _ := json.Marshal(text) // strings and a time
	return string(b)
}

// parseTold is the inverse of String; ok is false for other texts.
func parseTold(annotation string) (t Told, ok bool) {
	var text toldText
	if annotation == "" || json.Unmarshal([]byte(Cut(annotation, MaxWords)), &text) != nil {
		return Told{}, false
	}
	if t.Life, ok = parseLife(text.Life); !ok || text.Process == "" {
		return t, ok
	}
	t.From, ok = parseLife(text.From)
	t.Process = text.Process
	if text.Time != nil {
		t.Time = *text.Time
	}
	return t, ok && t.From.Before(t.Life)
}

// readTold reads the pod's restarts in place. The pod is in its new life when its node shows another process than the one to leave, or
// has lost track of its processes. Until then it is restarting, and an end of the old process is no failure. A pod that ends with the old
// process still has the old life.
func (p *Pod) readTold(pod *corev1.Pod) {
	told, ok := parseTold(InPlaceRestart(pod))
	if !ok {
		return
	}
	main := mainStatus(pod)
	p.Main, p.Process, p.Image = main.Name, main.ContainerID, byDigest(pod, main)
	p.Told, p.Former = told.Process != "", told.From
	switch {
	case told.Process == "":
	case main.ContainerID != told.Process && (main.ContainerID != "" || isOver(pod)):
		p.Life, p.Created = told.Life, told.Time
	case p.CanRun():
		p.Life, p.Created, p.Restarting = told.Life, told.Time, true
		p.Exit, p.MainSucceeded, p.Ended, p.Ready = nil, false, false, false
	default:
		p.Life, p.Left = told.From, true
	}
}

// isOver reports whether the pod has ended, though its kubelet may have yet to say how each container did.
func isOver(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Lives are the lives of the processes of a pod's main container.
type Lives struct {
	// Runs is the life of the process that its node shows, and Before the life of the process before it in the pod. They are equal if the
	// kubelet restarted it by itself, or there was none.
	Runs, Before Life
	// Next is the life that the pod should begin; Runs if its node shows it already.
	Next Life
}

// LivesOf returns which slot of the named job a pod is, and the lives of its processes; ok is false if the pod's name is not one that
// the operator gives.
func LivesOf(job string, pod *corev1.Pod) (slot Slot, lives Lives, ok bool) {
	slot, life, ok := ParsePodName(job, pod.Name)
	told, isTold := parseTold(InPlaceRestart(pod))
	if !ok || !isTold || told.Process == "" {
		return slot, Lives{life, life, life}, ok
	}
	main := mainStatus(pod)
	end := main.LastTerminationState.Terminated
	switch {
	case main.ContainerID == told.Process || main.ContainerID == "":
		return slot, Lives{Runs: told.From, Before: told.From, Next: told.Life}, true
	case end != nil && end.ContainerID != told.Process:
		return slot, Lives{told.Life, told.Life, told.Life}, true
	default:
		return slot, Lives{Runs: told.Life, Before: told.From, Next: told.Life}, true
	}
}

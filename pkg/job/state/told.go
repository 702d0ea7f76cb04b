package state

import (
	"cmp"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Told is the latest instruction to a pod that can restart in place, from the annotation v1alpha1.AnnotationInPlaceRestart. A pod that never
// restarted in place has only the life of its creation.
type Told struct {
	// Life is the life that the pod is to begin, From the one that it leaves.
	Life, From Life
	// Process is the id of the main container that it leaves behind, as the node's runtime gives it.
	Process string
	// Before is the id of the process that had ended in the pod before Process; empty for none. A kubelet may forget one that barely ran, and show an earlier one as
	// the last that ended.
	Before string
	// Ended is when the operator saw that this had ended by itself; zero if it had not.
	Ended time.Time
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
	Before  string     `json:"before,omitempty"`
	Ended   *time.Time `json:"ended,omitempty"`
	Time    *time.Time `json:"time,omitempty"`
}

// String returns the value of the annotation.
func (t Told) String() string {
	text := toldText{Life: t.Life.String()}
	if t.Process != "" {
		text.From, text.Process, text.Before, text.Time = t.From.String(), t.Process, t.Before, &t.Time
		if !t.Ended.IsZero() {
			text.Ended = &t.Ended
		}
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
	t.Before, t.Process, t.Time, t.Ended = text.Before, text.Process, ptr.Deref(text.Time, time.Time{}), ptr.Deref(text.Ended, time.Time{})
	return t, ok && t.From.Before(t.Life)
}

// Stay is the life of its slot in which a pod is: the life in its name, or a later one since it restarted in place.
type Stay struct {
	Life Life
	// Created is when the API server accepted the pod, or when the operator started its present life in place.
	Created time.Time
	// Main is the main container's name, Process its id, and Image its image by digest if it can be started again in its pod. All are
	// empty of pods that are not made for it.
	Main, Process, Image string
	// Before is the id of the process that ended in the pod before Process; empty for none.
	Before string
	// Told is whether the operator has started a life in place, Former the life before it, and FormerEnded when the operator saw that this had ended by
	// itself; zero if it had not.
	Told        bool
	Former      Life
	FormerEnded time.Time
	// Restarting is whether that life is the present one, and the old process may still run.
	Restarting bool
	// Left is whether the operator has started another life in place, and the pod ended or lost its node without it.
	Left bool
	// Leaves are the processes that it has left, or is to leave, for its present life.
	Leaves []string
	// RestartRefused is whether the API server has refused to have the pod restarted in place.
	RestartRefused bool
}

// stayOf returns the life in which the pod is. Its name shows the one of its creation; the annotation shows the next one and the process to leave.
//
//	the pod      its node shows                      it is in the
//	can run      the process to leave, or none yet   next life, and restarts
//	any          another process                     next life
//	has ended    no process any more                 next life
//	has ended    the process to leave                former life
func stayOf(pod *corev1.Pod, made Life) Stay {
	stay := Stay{Life: made, Created: pod.CreationTimestamp.Time}
	told, ok := parseTold(InPlaceRestart(pod))
	if !ok {
		return stay
	}
	main := mainStatus(pod)
	if before := main.LastTerminationState.Terminated; before != nil && before.ContainerID != main.ContainerID {
		stay.Before = before.ContainerID
	}
	stay.Main, stay.Process, stay.Image = main.Name, main.ContainerID, byDigest(pod, main)
	stay.Told, stay.Former, stay.FormerEnded = told.Process != "", told.From, told.Ended
	isOther := main.ContainerID != told.Process && (main.ContainerID != "" || isEnd(pod.Status.Phase))
	switch {
	case !stay.Told:
	case isOther, !isEnd(podPhase(pod)):
		stay.Life, stay.Created, stay.Restarting, stay.Leaves = told.Life, told.Time, !isOther, []string{told.Process}
		if told.Before != "" {
			stay.Leaves = append(stay.Leaves, told.Before)
		}
	default:
		stay.Life, stay.Left = told.From, true
		if stay.Before != "" {
			stay.Leaves = []string{stay.Before}
		}
	}
	return stay
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
	lives = Lives{Runs: told.Life, Before: told.From, Next: told.Life}
	switch {
	case main.ContainerID == told.Process, main.ContainerID == "":
		lives.Runs = told.From
	case end != nil && end.ContainerID != told.Process && end.ContainerID != told.Before:
		lives.Before = told.Life
	}
	return slot, lives, true
}

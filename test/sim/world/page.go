package world

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/operator/progress"
)

// page is what a process serves: what docs/recovery.md has of the progress page.
type page struct {
	Time     time.Time `json:"time"`
	Step     int64     `json:"step"`
	SavedFor string    `json:"savedFor,omitempty"`
	Attempt  int64     `json:"attempt"`
	Life     int64     `json:"life"`
	// Checkpoint is the last one that the ranks have saved.
	Checkpoint string `json:"checkpoint,omitempty"`

	// process is the container that serves it, and at when it last changed, by the world's own clock.
	process string
	at      time.Time
}

// PodAddress is the address of every pod. Reads find the page by the pod's UID.
const PodAddress = "10.1.2.3"

// ReportByPage lets each rank that runs and has a port serve how far it is: so many steps further, and an answer if it is asked for a
// checkpoint and answers is true.
func (w *World) ReportByPage(steps int64, answers bool) {
	for _, pod := range w.Pods() {
		if process, serves := serving(pod); serves {
			w.show(pod, process, w.pages[pod.UID].Step+steps, answers)
		}
	}
}

// show has the page of a pod show a step, by the clock of its node, and the answer to a request for a checkpoint, if answers is true.
func (w *World) show(pod *corev1.Pod, process string, step int64, answers bool) {
	if w.pages == nil {
		w.pages = map[types.UID]page{}
	}
	now := w.Clock.Now()
	is := page{Time: now.Add(w.Skew[pod.Spec.NodeName]), Step: step, SavedFor: w.pages[pod.UID].SavedFor, process: process, at: now}
	is.Attempt, is.Life = told(pod)
	saved := step - step%2
	if w.Habits.Training {
		saved = w.training.saved
	}
	if saved > 0 {
		is.Checkpoint = fmt.Sprintf("s3://checkpoints/%d", saved)
	}
	if id, _, _ := strings.Cut(pod.Annotations[v1alpha1.AnnotationCheckpointRequest], " "); answers && id != "" && id != is.SavedFor {
		w.say("training: %s has saved what %s asks", pod.Name, id)
		is.SavedFor = id
		w.training.saved = max(w.training.saved, step)
	}
	w.pages[pod.UID] = is
}

// serving returns the process of a pod that can serve a page.
func serving(pod *corev1.Pod) (process string, serves bool) {
	isTold := slices.ContainsFunc(pod.Spec.Containers[0].Env, func(v corev1.EnvVar) bool { return v.Name == v1alpha1.EnvProgressPort })
	if !isTold || pod.Status.Phase != corev1.PodRunning || len(pod.Status.ContainerStatuses) == 0 || pod.Status.ContainerStatuses[0].State.Running == nil {
		return "", false
	}
	return pod.Status.ContainerStatuses[0].ContainerID, true
}

// told returns the attempt and the life that the variables of the process name.
func told(pod *corev1.Pod) (attempt, life int64) {
	attempt, _ = strconv.ParseInt(pod.Labels[v1alpha1.LabelAttempt], 10, 64)
	life, _ = strconv.ParseInt(pod.Annotations[v1alpha1.AnnotationLifeNumber], 10, 64)
	return attempt, life
}

// Page returns what a read of the pod's page shows.
func (w *World) Page(uid types.UID) ([]byte, error) {
	at := slices.IndexFunc(w.Pods(), func(pod *corev1.Pod) bool { return pod.UID == uid })
	switch {
	case w.Stopped:
		return nil, progress.ErrSilent
	case w.Unreachable:
		return nil, progress.ErrUnreached
	case at < 0:
		return nil, fmt.Errorf("no route to host")
	}
	process, serves := serving(w.Pods()[at])
	if is, reported := w.pages[uid]; serves && reported && is.process == process {
		w.training.shown = max(w.training.shown, is.Step)
		return json.Marshal(is)
	}
	return nil, fmt.Errorf("connection refused")
}

// Reported returns when the pod last reported by its page, by the world's own clock; zero if it has not.
func (w *World) Reported(uid types.UID) time.Time { return w.pages[uid].at }

// Saved reports whether a page of a pod answers the request.
func (w *World) Saved(id string) bool {
	for _, is := range w.pages {
		if is.SavedFor == id {
			return true
		}
	}
	return false
}

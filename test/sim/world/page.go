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
)

// page is what a process serves: what docs/recovery.md has of the progress page.
type page struct {
	Time     time.Time `json:"time"`
	Step     int64     `json:"step"`
	SavedFor string    `json:"savedFor,omitempty"`
	Attempt  int64     `json:"attempt"`
	Life     int64     `json:"life"`

	// process is the container that serves it.
	process string
}

// PodAddress is the address of every pod. Reads find the page by the pod's UID.
const PodAddress = "10.1.2.3"

// ReportByPage lets each rank that runs and has a port serve how far it is: so many steps further, and an answer if it is asked for a
// checkpoint and answers is true.
func (w *World) ReportByPage(steps int64, answers bool) {
	if w.pages == nil {
		w.pages = map[types.UID]page{}
	}
	for _, pod := range w.Pods() {
		process, serves := serving(pod)
		if !serves {
			continue
		}
		was := w.pages[pod.UID]
		is := page{Time: w.Clock.Now(), Step: was.Step + steps, SavedFor: was.SavedFor, process: process}
		is.Attempt, is.Life = told(pod)
		if id, _, _ := strings.Cut(pod.Annotations[v1alpha1.AnnotationCheckpointRequest], " "); answers && id != "" {
			w.say("training: %s has saved what %s asks", pod.Name, id)
			is.SavedFor = id
		}
		w.pages[pod.UID] = is
	}
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
	case w.Unreachable:
		return nil, fmt.Errorf("no connection within 2s")
	case at < 0:
		return nil, fmt.Errorf("no route to host")
	}
	process, serves := serving(w.Pods()[at])
	if is, reported := w.pages[uid]; serves && reported && is.process == process {
		return json.Marshal(is)
	}
	return nil, fmt.Errorf("connection refused")
}

// Reported returns when the pod last reported by its page; zero if it has not.
func (w *World) Reported(uid types.UID) time.Time { return w.pages[uid].Time }

// Saved reports whether a page of a pod answers the request.
func (w *World) Saved(id string) bool {
	for _, is := range w.pages {
		if is.SavedFor == id {
			return true
		}
	}
	return false
}

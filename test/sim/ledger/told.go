package ledger

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Told is what the annotation trainingjob.dev/in-place-restart of a pod says: {"life": "2-0", "from": "1-0", "process": "...", "time": "..."}.
type Told struct{ Life, From, Process string }

// ToldOf returns what the pod was told; the zero value if it was told nothing.
func ToldOf(pod *corev1.Pod) Told {
	var t Told
	_ = json.Unmarshal([]byte(pod.Annotations[v1alpha1.AnnotationInPlaceRestart]), &t) // what is no JSON says nothing
	return t
}

// Process returns the id of the pod's first container; empty if its node says none.
func Process(pod *corev1.Pod) string {
	if len(pod.Status.ContainerStatuses) == 0 {
		return ""
	}
	return pod.Status.ContainerStatuses[0].ContainerID
}

// Present returns in which life the pod is: by its name, or, of one that was restarted in place, by what it was told. restarting is
// whether the process of the life before may still be there.
func Present(job string, pod *corev1.Pod) (is Life, restarting, named bool) {
	is, named = LifeOf(job, pod.Name)
	t := ToldOf(pod)
	left := Process(pod) == t.Process
	switch {
	case !named || t.Process == "":
	case left && !CanRun(pod): // it ended before it began another
		is.tell(t.From)
	default:
		is.tell(t.Life)
		restarting = CanRun(pod) && (left || Process(pod) == "")
	}
	return is, restarting, named
}

func (l *Life) tell(text string) { _, _ = fmt.Sscanf(text, "%d-%d", &l.Attempt, &l.Replacement) }

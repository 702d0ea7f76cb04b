//go:build nodes

package nodes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// story is what was said of one pod: its versions, without those of its start and those that differ only in what the operator does not read
// (pkg/operator/cluster/trim.go).
type story struct {
	versions []string
	// ended is when the end of main was first seen, and of the second that it bears; closed when the pod's phase was one of an end.
	ended, stamped, closed time.Time
	gone                   bool
}

// chronicle watches all pods and writes their stories.
type chronicle struct {
	mutex   sync.Mutex
	stories map[string]*story
}

func beginChronicle(ctx context.Context) *chronicle {
	GinkgoHelper()
	watching, err := kube.Watch(ctx, &corev1.PodList{}, client.InNamespace("default"))
	Expect(err).NotTo(HaveOccurred())
	c := &chronicle{stories: map[string]*story{}}
	go func() {
		for event := range watching.ResultChan() {
			if pod, isPod := event.Object.(*corev1.Pod); isPod {
				c.add(pod, event.Type, time.Now())
			}
		}
	}()
	DeferCleanup(watching.Stop)
	return c
}

func (c *chronicle) add(pod *corev1.Pod, event watch.EventType, at time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	told, found := c.stories[pod.Name]
	if !found {
		told = &story{}
		c.stories[pod.Name] = told
	}
	told.add(pod, event, at)
}

// of returns the story of a pod so far.
func (c *chronicle) of(pod string) story {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if told, found := c.stories[pod]; found {
		return story{slices.Clone(told.versions), told.ended, told.stamped, told.closed, told.gone}
	}
	return story{}
}

// versions counts the versions of a pod.
func (c *chronicle) versions(pod string) int { return len(c.of(pod).versions) }

func (s *story) add(pod *corev1.Pod, event watch.EventType, at time.Time) {
	if isStarting(pod) {
		return
	}
	if event == watch.Deleted {
		s.gone = true
	}
	if text := version(pod); len(s.versions) == 0 || s.versions[len(s.versions)-1] != text {
		s.versions = append(s.versions, text)
	}
	for _, status := range pod.Status.ContainerStatuses {
		if ended := status.State.Terminated; status.Name == "main" && ended != nil && s.ended.IsZero() {
			s.ended, s.stamped = at, ended.FinishedAt.Time
		}
	}
	if isOver := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded; isOver && s.closed.IsZero() {
		s.closed = at
	}
}

// isStarting reports whether nothing has happened yet but that the node makes the pod's containers. A fake node takes no time for that. A
// kubelet says the same of a container again that is deleted before it ran, for a moment; nothing is decided from that.
func isStarting(pod *corev1.Pod) bool {
	if pod.Status.Phase != corev1.PodPending {
		return false
	}
	for _, status := range pod.Status.ContainerStatuses {
		waiting := status.State.Waiting
		if waiting == nil || waiting.Reason != "ContainerCreating" && waiting.Reason != "PodInitializing" {
			return false
		}
	}
	return true
}

// version is phase[(reason)] [deleting GRACE] [disrupted=reason] container=state ... ready=status[:reason].
func version(pod *corev1.Pod) string {
	text := []string{string(pod.Status.Phase)}
	if pod.Status.Reason != "" {
		text[0] += "(" + pod.Status.Reason + ")"
	}
	if pod.DeletionTimestamp != nil {
		text = append(text, fmt.Sprintf("deleting %d", *pod.DeletionGracePeriodSeconds))
	}
	if disrupted := condition(pod, corev1.DisruptionTarget); disrupted != "" {
		text = append(text, "disrupted="+disrupted)
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		text = append(text, c.Name+"="+stateOf(c.State))
	}
	return strings.Join(append(text, "ready="+condition(pod, corev1.PodReady)), " ")
}

func stateOf(state corev1.ContainerState) string {
	switch ended := state.Terminated; {
	case ended != nil:
		text := fmt.Sprintf("%d:%s", ended.ExitCode, ended.Reason)
		if ended.FinishedAt.IsZero() {
			text += ":never"
		}
		if ended.Message != "" && ended.Reason == "Error" {
			text += ":" + ended.Message
		}
		return text
	case state.Waiting != nil:
		return "waiting:" + state.Waiting.Reason
	}
	return "running"
}

// condition is status[:reason], empty if the pod has no such condition.
func condition(pod *corev1.Pod, kind corev1.PodConditionType) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind && c.Reason != "" {
			return string(c.Status) + ":" + c.Reason
		}
		if c.Type == kind {
			return string(c.Status)
		}
	}
	return ""
}

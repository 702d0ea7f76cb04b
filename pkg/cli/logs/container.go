package logs

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/pkg/job/state"
)

// Opener opens the log of a container of a pod.
type Opener interface {
	// Open returns the log as the kubelet writes it, each line with its time before it.
	Open(ctx context.Context, pod, container string, o Options) (io.ReadCloser, error)
}

// Options say which part of a log is opened.
type Options struct {
	// Follow is whether the stream continues until the container ends.
	Follow bool
	// Previous is the log of the container before it was started again in its pod.
	Previous bool
	// From leaves out lines before that time; zero for none. It has whole seconds.
	From time.Time
	// Tail leaves out all but the last lines; negative for none.
	Tail int64
}

// Container is what is known of a container whose log is read.
type Container struct {
	// Started is whether it has ever run, and Ended whether it has ended for good.
	Started, Ended bool
	// Restarts is how often it was started again in its pod.
	Restarts int32
	// Gone is whether its pod is gone.
	Gone bool
	// Restarting is whether it should restart in its pod: its log may become the next log at any moment.
	Restarting bool
	// Life is the life of the replica that it serves, and Before the life of the container before it in its pod.
	Life, Before state.Life
}

// containerIn returns the state of a container from the status of a pod of the named job.
func containerIn(job string, pod *corev1.Pod, name string) Container {
	_, lives, _ := state.LivesOf(job, pod)
	is := statusOf(pod, name)
	is.Life, is.Before = lives.Runs, lives.Before
	if name == state.MainContainer(pod) && lives.Next != lives.Runs && isRunning(pod) {
		is.Restarting, is.Ended = true, false
	}
	return is
}

func isRunning(pod *corev1.Pod) bool {
	return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// statusOf returns the state of a container from a pod's status.
func statusOf(pod *corev1.Pod, name string) Container {
	over := !isRunning(pod)
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if c.Name == name {
			return Container{
				Started:  c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil,
				Ended:    c.State.Terminated != nil && (over || pod.Spec.RestartPolicy == corev1.RestartPolicyNever && !mayRestart(pod, name)),
				Restarts: c.RestartCount,
			}
		}
	}
	return Container{Gone: over}
}

// withContainer returns the sources whose pod has the requested container. It returns an error if none has, as kubectl does.
func (r *Request) withContainer(sources []Source) ([]Source, error) {
	if r.Container == "" || len(sources) == 0 {
		return sources, nil
	}
	with := slices.DeleteFunc(slices.Clone(sources), func(s Source) bool { return !slices.Contains(containersOf(s.Pod), r.Container) })
	if len(with) == 0 {
		pod := sources[0].Pod
		return nil, fmt.Errorf("container %s is not valid for pod %s, which has: %s", r.Container, pod.Name, strings.Join(containersOf(pod), ", "))
	}
	return with, nil
}

// containersOf returns the names of the pod's containers.
func containersOf(pod *corev1.Pod) []string {
	var names []string
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		names = append(names, c.Name)
	}
	for _, c := range pod.Spec.EphemeralContainers {
		names = append(names, c.Name)
	}
	return names
}

// mayRestart reports whether the kubelet may start the container again in its pod.
func mayRestart(pod *corev1.Pod, name string) bool {
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if c.Name == name {
			return c.RestartPolicy != nil || len(c.RestartPolicyRules) > 0
		}
	}
	return false
}

package cluster

import (
	"context"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodSignal is a signal for the main process of a container on a real node.
type PodSignal struct {
	// Dir is the lab's folder.
	Dir            string
	Namespace, Pod string
	// Container is the pod's only one if empty.
	Container string
	// Signal is a name such as SIGKILL, or KILL.
	Signal string
}

// Send sends it. It reaches the process as from outside of the container: SIGKILL and SIGSTOP work on process 1, too.
func (s PodSignal) Send(ctx context.Context, out io.Writer) error {
	name := "SIG" + strings.TrimPrefix(strings.ToUpper(s.Signal), "SIG")
	signal := unix.SignalNum(name)
	if signal == 0 {
		return fmt.Errorf("--signal %s: there is no such signal; write a name such as SIGKILL", s.Signal)
	}
	dir, state, err := runningLab(s.Dir)
	if err != nil {
		return err
	}
	client, err := dir.client()
	if err != nil {
		return err
	}
	pod, err := client.CoreV1().Pods(s.Namespace).Get(ctx, s.Pod, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("looking for the pod: %w", err)
	}
	node, err := state.realIndex(pod.Spec.NodeName)
	if err != nil {
		return fmt.Errorf("pod %s: %w", s.Pod, err)
	}
	container, err := s.containerID(pod)
	if err != nil {
		return err
	}
	runtime, err := dir.runtime(node, state)
	if err != nil {
		return err
	}
	defer runtime.Close()
	pid, err := runtime.Signal(ctx, container, signal)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "sent %s to process %d of pod %s on %s\n", name, pid, s.Pod, pod.Spec.NodeName)
	return nil
}

// containerID is that of the chosen container's present process.
func (s PodSignal) containerID(pod *corev1.Pod) (string, error) {
	container := s.Container
	if container == "" {
		if len(pod.Spec.Containers) > 1 {
			return "", fmt.Errorf("pod %s has %d containers: choose one with --container", s.Pod, len(pod.Spec.Containers))
		}
		container = pod.Spec.Containers[0].Name
	}
	for _, status := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		if status.Name != container {
			continue
		}
		if status.State.Running == nil {
			return "", fmt.Errorf("container %s of pod %s does not run", container, s.Pod)
		}
		_, id, _ := strings.Cut(status.ContainerID, "://")
		return id, nil
	}
	return "", fmt.Errorf("pod %s has no container %s that has a status", s.Pod, container)
}

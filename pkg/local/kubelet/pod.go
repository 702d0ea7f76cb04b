package kubelet

import (
	"fmt"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// pod is a pod with its processes.
type pod struct {
	*corev1.Pod
	kubelet *Kubelet
	folder  string
	// folders are the folders of its volumes, by name.
	folders map[string]string
	// containers are the init containers, then the others; nil before the pod is admitted.
	containers []*container
	// off is whether its node is off, or its object gone.
	off bool
	// gone is whether its object was removed.
	gone bool
	// devices are the GPUs that it holds.
	devices []string
	// failure is why it failed before any container ran; empty if it did not.
	failure string
}

// sync does what is next for the pod, and writes its status.
func (p *pod) sync() {
	switch {
	case p.DeletionTimestamp != nil:
		p.stop(time.Duration(ptr.Deref(p.DeletionGracePeriodSeconds, 0)) * time.Second)
	case isOver(p.Pod):
	case p.containers == nil && !p.admit():
		return
	default:
		p.startNext()
	}
	status := p.status()
	p.kubelet.write(p, status)
	if status.Phase == corev1.PodSucceeded || status.Phase == corev1.PodFailed {
		p.release()
	}
	if p.DeletionTimestamp != nil && p.running() == 0 {
		p.release()
		p.kubelet.remove(p)
	}
}

// admit makes the volumes and takes the devices of the pod. It returns false while there are too few devices.
func (p *pod) admit() bool {
	devices, ok := p.kubelet.take(GPUs(&p.Spec))
	if !ok {
		return false
	}
	p.devices = devices
	p.containers = []*container{}
	for i := range p.Spec.InitContainers {
		p.containers = append(p.containers, newContainer(p, p.Spec.InitContainers[i].Name, true))
	}
	for i := range p.Spec.Containers {
		p.containers = append(p.containers, newContainer(p, p.Spec.Containers[i].Name, false))
	}
	if err := p.kubelet.mount(p); err != nil {
		p.failure = err.Error()
	}
	return true
}

// release gives the devices back and removes the pod's own files.
func (p *pod) release() {
	devices := p.devices
	p.devices = nil
	p.kubelet.give(devices)
	if p.running() == 0 {
		_ = os.RemoveAll(p.folder) // the run's folder goes at the end in any case
	}
}

// startNext starts the next init container, or all others once these are done, and restarts containers whose image has changed.
func (p *pod) startNext() {
	if p.failure != "" || !p.initialize() {
		return
	}
	for _, c := range p.containers {
		switch {
		case c.init:
		case c.isNew():
			c.start()
		case c.process != nil && c.image != c.spec().Image:
			c.restarting = true
			c.process.stop(p.grace())
		}
	}
	if p.isDone() { // side-cars end with the others
		for _, c := range p.containers {
			if c.process != nil {
				c.process.stop(p.grace())
			}
		}
	}
}

// initialize starts the next init container, and reports whether all of them are done. A side-car is done once it runs.
func (p *pod) initialize() bool {
	for _, c := range p.containers {
		if !c.init || c.isDone() {
			continue
		}
		if c.isNew() {
			c.start()
		}
		if !c.isSideCar() || c.process == nil {
			return false
		}
	}
	return true
}

// isDone reports whether all containers but side-cars have ended for good.
func (p *pod) isDone() bool {
	return !slices.ContainsFunc(p.containers, func(c *container) bool { return !c.init && !c.hasEnded() })
}

func (p *pod) grace() time.Duration {
	return time.Duration(ptr.Deref(p.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)) * time.Second
}

func (p *pod) running() int {
	n := 0
	for _, c := range p.containers {
		if c.process != nil {
			n++
		}
	}
	return n
}

func (p *pod) stop(grace time.Duration) {
	for _, c := range p.containers {
		if c.process != nil {
			c.process.stop(grace)
		}
	}
}

func (p *pod) end() {
	for _, c := range p.containers {
		if c.process != nil {
			c.process.end()
		}
	}
}

// id returns a new id of a container.
func (k *Kubelet) id() string {
	k.starts++
	return fmt.Sprintf("local://%d", k.starts)
}

// isOver reports whether the pod's status shows its end.
func isOver(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// ResourceGPU is the resource that stands for the GPUs of this machine.
const ResourceGPU corev1.ResourceName = "nvidia.com/gpu"

// GPUs returns how many GPUs the pod requests.
func GPUs(spec *corev1.PodSpec) int {
	n := 0
	for i := range spec.Containers {
		n += gpus(&spec.Containers[i])
	}
	return n
}

// gpus returns how many GPUs a container requests.
func gpus(c *corev1.Container) int {
	limit := c.Resources.Limits[ResourceGPU]
	return int(limit.Value())
}

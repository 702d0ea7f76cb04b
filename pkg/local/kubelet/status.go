package kubelet

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// status returns the status of the pod as its containers are.
func (p *pod) status() *corev1.PodStatus {
	status := p.Status.DeepCopy()
	status.ContainerStatuses, status.InitContainerStatuses = nil, nil
	for _, c := range p.containers {
		if c.init {
			status.InitContainerStatuses = append(status.InitContainerStatuses, *c.DeepCopy())
		} else {
			status.ContainerStatuses = append(status.ContainerStatuses, *c.DeepCopy())
		}
	}
	if !isOver(p.Pod) {
		status.Phase = p.phase()
	}
	if p.failure != "" {
		status.Reason, status.Message = "UnexpectedAdmissionError", p.failure
	}
	p.setReady(status)
	return status
}

// phase returns the phase of the pod: it has ended once no container runs or starts again, or an init container has failed.
func (p *pod) phase() corev1.PodPhase {
	isBegun := func(c *container) bool { return !c.init && !c.isNew() }
	isInitFailed := func(c *container) bool { return c.init && c.hasFailed() }
	switch {
	case p.failure != "":
		return corev1.PodFailed
	case p.running() > 0 && slices.ContainsFunc(p.containers, isBegun):
		return corev1.PodRunning
	case p.running() > 0 || len(p.containers) == 0:
		return corev1.PodPending
	case slices.ContainsFunc(p.containers, isInitFailed):
		return corev1.PodFailed
	case !p.isDone() && p.DeletionTimestamp != nil:
		return corev1.PodFailed
	case !p.isDone():
		return p.Status.Phase
	case slices.ContainsFunc(p.containers, (*container).hasFailed):
		return corev1.PodFailed
	default:
		return corev1.PodSucceeded
	}
}

// setReady sets the condition Ready: all containers run. Probes are not run here.
func (p *pod) setReady(status *corev1.PodStatus) {
	is := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue}
	if status.Phase != corev1.PodRunning || slices.ContainsFunc(p.containers, func(c *container) bool { return !c.init && c.process == nil }) {
		is.Status, is.Reason = corev1.ConditionFalse, "ContainersNotReady"
	}
	is.LastTransitionTime = second()
	at := slices.IndexFunc(status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
	switch {
	case at < 0:
		status.Conditions = append(status.Conditions, is)
	case status.Conditions[at].Status != is.Status:
		status.Conditions[at] = is
	}
}

// second returns the time as objects hold it.
func second() metav1.Time { return metav1.NewTime(time.Now().Truncate(time.Second)) }

// imageID returns a digest for the image: the same for all names of one repository, which the operator needs for restarts in place.
func imageID(image string) string {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return image
	}
	return fmt.Sprintf("%s@sha256:%x", named.Name(), sha256.Sum256([]byte(named.Name())))
}

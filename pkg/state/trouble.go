package state

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Trouble is a reason and message of Kubernetes, and when it came.
type Trouble struct {
	Reason  string
	Message string
	Time    time.Time
}

// unhealthy returns the first device of the pod's containers that the kubelet calls unhealthy.
func unhealthy(pod *corev1.Pod) Trouble {
	for c := range containers(pod) {
		for _, resource := range c.AllocatedResourcesStatus {
			for _, device := range resource.Resources {
				if device.Health == corev1.ResourceHealthStatusUnhealthy {
					return trouble(v1alpha1.ReasonDeviceUnhealthy, string(resource.Name)+" "+string(device.ResourceID), time.Time{})
				}
			}
		}
	}
	return Trouble{}
}

// waiting returns why the pod has no node, or why the first of its containers that waits does.
func waiting(pod *corev1.Pod) Trouble {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return trouble(c.Reason, c.Message, c.LastTransitionTime.Time)
		}
	}
	for c := range containers(pod) {
		if wait := c.State.Waiting; wait != nil {
			return trouble(wait.Reason, wait.Message, time.Time{})
		}
	}
	return Trouble{}
}

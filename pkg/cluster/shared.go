package cluster

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// shared holds one copy of what trimmed pods have alike.
type shared struct {
	labels     copies[map[string]string]
	containers copies[[]corev1.Container]
}

func newShared() *shared { return &shared{} }

// labelsOf returns the one label by which a pod is in its job's Service, one copy for the pods of a job.
func (s *shared) labelsOf(pod *corev1.Pod) map[string]string {
	labels := only(pod.Labels, v1alpha1.LabelJobName)
	if name := labels[v1alpha1.LabelJobName]; name != "" {
		return s.labels.of(name, labels)
	}
	return labels
}

// containersOf returns what telling returns of the pod, one copy for all whose first container is called the same, was given the same and is
// nothing else.
func (s *shared) containersOf(pod *corev1.Pod) []corev1.Container {
	list := telling(pod)
	if len(list) != 1 || list[0].Image != "" || list[0].RestartPolicy != nil || len(list[0].RestartPolicyRules) > 0 {
		return list
	}
	return s.containers.of(fmt.Sprint(list[0].Name, list[0].Env), list)
}

// maxCopies is how many copies are kept at most: the jobs and containers of a cluster come and go.
const maxCopies = 4096

// copies keeps one of equal values, by name.
type copies[V any] struct {
	mu    sync.Mutex
	known map[string]V
}

// of returns the value that is kept under the name, or keeps and returns this one.
func (c *copies[V]) of(name string, value V) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	if kept, isKnown := c.known[name]; isKnown {
		return kept
	}
	if c.known == nil || len(c.known) >= maxCopies {
		c.known = map[string]V{} // holders of an old one keep it
	}
	c.known[name] = value
	return value
}

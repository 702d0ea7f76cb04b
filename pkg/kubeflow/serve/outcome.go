package serve

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// status returns the job's status under that fate.
func (i *inheritance) status(fate fate, why string) Status {
	m := i.job.mirror(i.served.Child, i.served.Roles, i.now)
	if i.job.IsSuspended() {
		return m.next
	}
	m.begin()
	m.next.ReplicaStatuses = i.counts(m)
	kind, end := i.job.kind.Name, metav1.NewTime(i.now.Truncate(time.Second))
	switch {
	case fate == succeed:
		m.set(Succeeded, corev1.ConditionTrue, "Succeeded", "%s", m.successMessage())
		m.next.CompletionTime = &end
	case fate == fail:
		m.set(Failed, corev1.ConditionTrue, "Failed", "%s %s is failed. %s", kind, i.job.Name, why)
		m.next.CompletionTime = &end
	case fate == replace:
		m.set(Restarting, corev1.ConditionTrue, "Restarting", "%s %s is restarting. %s", kind, i.job.Name, why)
	case i.isRunning():
		m.set(Running, corev1.ConditionTrue, "Running", "%s %s is running.", kind, m.named())
	}
	m.settle()
	return m.next
}

// isRunning reports whether each replica has a pod that runs or has succeeded.
func (i *inheritance) isRunning() bool {
	for _, slot := range slotsOf(&i.served.Child.Spec) {
		pod := i.newest[slot]
		if pod == nil || pod.Status.Phase != corev1.PodRunning && pod.Status.Phase != corev1.PodSucceeded {
			return false
		}
	}
	return true
}

// counts counts the pods of each role by their phase.
func (i *inheritance) counts(m *mirror) map[string]ReplicaStatus {
	counts := map[string]ReplicaStatus{}
	for _, source := range i.served.Roles {
		counts[source] = ReplicaStatus{Selector: m.selector(source)}
	}
	for slot, pod := range i.newest {
		source := i.served.Roles[slot.Role]
		count := counts[source]
		switch pod.Status.Phase {
		case corev1.PodSucceeded:
			count.Succeeded++
		case corev1.PodFailed:
			count.Failed++
		default:
			count.Active++
		}
		counts[source] = count
	}
	return counts
}

package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/build"
	"github.com/trainingjob/operator/pkg/state"
)

// whyGangWaits returns why the gang has no nodes: the scheduler's message with what the gang needs. ok is false unless the whole
// gang waits. A single replica may wait while others run, or while enough pods have nodes. Below the minimum, the scheduler is
// binding the gang and the other pods' messages are stale.
func whyGangWaits(s *state.Snapshot) (reason, message string, ok bool) {
	if !s.IsGang() {
		return "", "", false
	}
	if s.Gang.Unavailable != "" {
		return v1alpha1.ReasonGangUnavailable, s.Gang.Unavailable, true
	}
	why, placed := gangPlacement(s)
	if group := s.PresentGroup(); group != nil {
		why = cmp.Or(group.Waiting.Message, why)
	}
	runs := s.Is(v1alpha1.ConditionRunning)
	if neverFits(s) && placed == 0 {
		return v1alpha1.ReasonGangWaiting, fmt.Sprintf("minAvailable is %d, and the job has %d replicas: write %[2]d or less.", minAvailable(s), state.Total(&s.Job.Spec)), true
	}
	if why == "" || placed >= terms(s).Minimum || placed > 0 && runs {
		return "", "", false
	}
	return v1alpha1.ReasonGangWaiting, clip(fmt.Sprintf("The gang needs %s at once%s: %s", needs(s), inQueue(s), why)), true
}

// gangPlacement returns how many pods of the gang have nodes, and the scheduler's message on the first pod that has none.
func gangPlacement(s *state.Snapshot) (why string, placed int32) {
	for r := range s.Replicas() {
		switch {
		case !isOfGang(s, r):
		case r.HasNode():
			placed++
		case why == "" && r.Pod != nil && r.Pod.Waiting.Reason == v1alpha1.ReasonUnschedulable:
			why = r.Slot.String() + ": " + r.Pod.Waiting.Message
		}
	}
	return why, placed
}

// inQueue names the queue that the gang waits in: Volcano's messages do not distinguish a full queue from a full cluster.
func inQueue(s *state.Snapshot) string {
	if s.Gang.Scheduler != v1alpha1.GangVolcano || s.Job.Spec.Scheduling == nil || s.Job.Spec.Scheduling.Queue == "" {
		return ""
	}
	return " in queue " + s.Job.Spec.Scheduling.Queue
}

// needs describes the gang's requests: "2 x 4 cpu, 17 x 8 nvidia.com/gpu", or "2 of 3 x 8 nvidia.com/gpu" if minAvailable is less
// than all. For elastic workers it counts minReplicas.
func needs(s *state.Snapshot) string {
	var list []string
	var total int32
	spec, counts := &s.Job.Spec, indispensable(s)
	for _, role := range spec.Roles() {
		n := counts[role]
		if n == 0 {
			continue
		}
		total += n
		if request := scarce(build.Requests(spec, role)); request != "" {
			list = append(list, fmt.Sprintf("%d x %s", n, request))
		} else {
			list = append(list, fmt.Sprintf("%d %s pods", n, strings.ToLower(string(role))))
		}
	}
	switch all := strings.Join(list, ", "); {
	case minAvailable(s) >= total:
		return all
	case len(list) == 1:
		return fmt.Sprintf("%d of %s", minAvailable(s), all)
	default:
		return fmt.Sprintf("%d of (%s)", minAvailable(s), all)
	}
}

// scarce lists the devices among the resources, else the CPUs; it is empty if there are neither.
func scarce(resources corev1.ResourceList) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(resources)) {
		if quantity := resources[name]; strings.Contains(string(name), "/") {
			list = append(list, quantity.String()+" "+string(name))
		}
	}
	if cpu, found := resources[corev1.ResourceCPU]; found && len(list) == 0 {
		list = append(list, cpu.String()+" cpu")
	}
	return strings.Join(list, " and ")
}

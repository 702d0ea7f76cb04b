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

// whyGangWaits returns why the gang has no nodes: in its scheduler's words, with the numbers of what it needs. ok is false if
// nothing says that it waits as a whole: a replica that waits beside others that run, or beside enough of them, waits by itself.
// With fewer the scheduler is about to bind them all, and what the rest of the pods say is from before.
func whyGangWaits(s *state.Snapshot) (reason, message string, ok bool) {
	if !s.IsGang() {
		return "", "", false
	}
	if s.Gang.Unavailable != "" {
		return v1alpha1.ReasonGangUnavailable, s.Gang.Unavailable, true
	}
	words, placed := "", int32(0)
	for r := range s.Replicas() {
		switch {
		case !state.IsNeeded(r.Slot.Role):
		case r.HasNode():
			placed++
		case words == "" && r.Pod != nil && r.Pod.Waiting.Reason == v1alpha1.ReasonUnschedulable:
			words = r.Slot.String() + ": " + r.Pod.Waiting.Message
		}
	}
	if group := s.PresentGroup(); group != nil {
		words = cmp.Or(group.Waiting.Message, words)
	}
	runs := s.Is(v1alpha1.ConditionRunning)
	if words == "" || placed >= terms(s).Minimum || placed > 0 && runs {
		return "", "", false
	}
	return v1alpha1.ReasonGangWaiting, clip(fmt.Sprintf("The gang needs %s at once%s: %s", needs(&s.Job.Spec), where(s), words)), true
}

// where names the queue that the gang waits in: Volcano's own words do not tell a full queue from a full cluster.
func where(s *state.Snapshot) string {
	if s.Gang.Scheduler != v1alpha1.GangVolcano || s.Job.Spec.Scheduling == nil || s.Job.Spec.Scheduling.Queue == "" {
		return ""
	}
	return " in queue " + s.Job.Spec.Scheduling.Queue
}

// needs says what the job's replicas ask for: "2 x 4 cpu, 17 x 8 nvidia.com/gpu"; of an elastic job's workers, minReplicas.
func needs(spec *v1alpha1.TrainingJobSpec) string {
	var list []string
	for _, role := range spec.Roles() {
		n := spec.Replicas(role)
		if role == v1alpha1.Worker && spec.Elastic != nil {
			n = spec.Elastic.MinReplicas
		}
		if n == 0 || !state.IsNeeded(role) {
			continue
		}
		if request := scarce(build.Requests(spec, role)); request != "" {
			list = append(list, fmt.Sprintf("%d x %s", n, request))
		} else {
			list = append(list, fmt.Sprintf("%d %s pods", n, strings.ToLower(string(role))))
		}
	}
	return strings.Join(list, ", ")
}

// scarce names the devices among the resources, else the CPUs; it is empty if there are neither.
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

package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
)

// obstacle returns why the replica's pod does not run; empty if every pod waits so for a moment. A gate counts from gatedUntil on: a controller
// may have a gate on every pod.
func obstacle(s *state.Snapshot, r *state.Replica) state.Trouble {
	isUsual := r.Pod == nil || slices.Contains([]string{"", "ContainerCreating", "PodInitializing"}, r.Pod.Waiting.Reason)
	if isUsual || s.Now.Before(gatedUntil(r)) {
		return state.Trouble{}
	}
	return r.Pod.Waiting
}

// whyAbsent returns what keeps the replica from running: its pod, the end after which the job does without it, or the back-off of the job or the
// replica. It returns nothing if its pod only has to be created, or starts.
func whyAbsent(s *state.Snapshot, r *state.Replica) (reason, message string) {
	switch why, next := obstacle(s, r), s.NextAttempt(); {
	case why.Reason != "":
		return why.Reason, state.KeepBeginning(r.Slot.String() + ": " + why.Reason + ": " + why.Message)
	case r.State == state.GivenUp && cmp.Or(r.Pod, r.Last) != nil:
		restart := failure.RestartOf(s, r)
		return v1alpha1.EventReplicaGivenUp, state.KeepBeginning(failure.Describe(&restart.Failure) + " and is not run again in this attempt.")
	case r.State == state.GivenUp:
		return v1alpha1.EventReplicaGivenUp, r.Slot.String() + " has failed and is not run again in this attempt."
	case r.Pod == nil && s.Now.Before(next):
		return v1alpha1.ReasonBackOff, "The next pods are created at " + next.UTC().Format(time.TimeOnly) + " UTC."
	case r.Pod == nil && s.Now.Before(s.NextStart(r.Slot)):
		return v1alpha1.ReasonBackOff, createdAgain(s, r.Slot)
	default:
		return "", ""
	}
}

// createdAgain describes until when the slot's next life is held back, and its number of restarts in a row.
func createdAgain(s *state.Snapshot, slot state.Slot) string {
	return fmt.Sprintf("%s is created again at %s UTC (restart %d in a row).",
		slot, s.NextStart(slot).UTC().Format(time.TimeOnly), s.Memory[slot.Role].RestartsInRow[slot.Index])
}

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
	return v1alpha1.ReasonGangWaiting, state.KeepBeginning(fmt.Sprintf("The gang needs %s at once%s: %s", needs(s), inQueue(s), why)), true
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

// whatStarts returns what a replica without a pod, or whose pod starts, waits for.
func whatStarts(s *state.Snapshot, r *state.Replica) (reason, message string) {
	switch waits := r.Pod == nil && (r.FormerCanAct || !s.AttemptMayBegin()); {
	case waits && len(s.Former) > 0:
		return v1alpha1.ReasonFormerPodsEnding, withLingering(s, "Pods of an earlier job of this name are not gone; the next pods are created when they are.")
	case waits:
		return v1alpha1.ReasonFormerPodsEnding, withLingering(s, "Pods of an earlier life can still run; the next pods are created when they have ended.")
	default:
		return v1alpha1.ReasonReplicasStarting, withLingering(s, "Waiting for all replicas to run.")
	}
}

// notReadyMessage names the first running replica that is not ready: its probe fails, or its node does not report.
func notReadyMessage(s *state.Snapshot) string {
	var first *state.Replica
	more := 0
	for r := range s.Replicas() {
		switch {
		case r.State != state.Running || r.Pod.Ready:
		case first == nil:
			first = r
		default:
			more++
		}
	}
	if first == nil {
		return ""
	}
	text := fmt.Sprintf(" Not ready: %s on %s", first.Slot, first.Pod.Node)
	if node := s.NodeOf(first.Pod); node.IsNotReady() {
		text += ", because its node is not ready"
	}
	if more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text + "."
}

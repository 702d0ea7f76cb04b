package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/state"
)

// phases lists the conditions that make a phase. The first true one decides.
var phases = []struct {
	condition string
	phase     v1alpha1.Phase
}{
	{v1alpha1.ConditionSucceeded, v1alpha1.PhaseSucceeded},
	{v1alpha1.ConditionFailed, v1alpha1.PhaseFailed},
	{v1alpha1.ConditionQueued, v1alpha1.PhaseQueued},
	{v1alpha1.ConditionSuspended, v1alpha1.PhaseSuspended},
	{v1alpha1.ConditionRunning, v1alpha1.PhaseRunning},
	{v1alpha1.ConditionRestarting, v1alpha1.PhaseRestarting},
}

// phaseOf returns the phase that the conditions add up to.
func phaseOf(conditions []metav1.Condition) v1alpha1.Phase {
	for _, p := range phases {
		if meta.IsStatusConditionTrue(conditions, p.condition) {
			return p.phase
		}
	}
	if meta.FindStatusCondition(conditions, v1alpha1.ConditionScheduled) != nil {
		return v1alpha1.PhasePending
	}
	return v1alpha1.PhaseCreated
}

// why returns the reason and message that explain the phase. For a job under way, the obstacle comes first.
func why(status *v1alpha1.TrainingJobStatus) (reason, message string) {
	explanation := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionRunning)
	for _, p := range phases {
		if p.phase == status.Phase {
			explanation = meta.FindStatusCondition(status.Conditions, p.condition)
		}
	}
	if !slices.Contains([]v1alpha1.Phase{v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed, v1alpha1.PhaseSuspended, v1alpha1.PhaseQueued}, status.Phase) {
		if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionScheduled); c != nil && isWaiting(c.Reason) {
			explanation = c
		}
		if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled); c != nil && c.Status == metav1.ConditionTrue {
			explanation = c
		}
	}
	if explanation == nil {
		return "", ""
	}
	return explanation.Reason, state.KeepBeginning(explanation.Message)
}

// isWaiting reports whether the reason of Scheduled shows that pods fit nowhere, or wait for a gang scheduler. A user can fix that.
func isWaiting(reason string) bool {
	return slices.Contains([]string{v1alpha1.ReasonUnschedulable, v1alpha1.ReasonGangWaiting, v1alpha1.ReasonGangUnavailable}, reason)
}

// obstacle returns why the replica's pod does not run; empty if every pod waits so for a moment. A gate counts from gatedUntil on: a controller
// may have a gate on every pod.
func obstacle(s *state.Snapshot, r *state.Replica) state.Trouble {
	isUsual := r.Pod == nil || slices.Contains([]string{"", "ContainerCreating", "PodInitializing"}, r.Pod.Waiting.Reason)
	if isUsual || s.Now.Before(gatedUntil(r)) {
		return state.Trouble{}
	}
	return r.Pod.Waiting
}

// gatedUntil returns how long a pod with scheduling gates may wait before a message names them; zero for a pod without.
func gatedUntil(r *state.Replica) time.Time {
	if r.Pod == nil || r.Pod.Waiting.Reason != corev1.PodReasonSchedulingGated {
		return time.Time{}
	}
	return r.Pod.Created.Add(nameAfter)
}

// whyNotRunning returns why the replica, and so its attempt, does not run.
func whyNotRunning(s *state.Snapshot, r *state.Replica) (reason, message string) {
	p, slot := r.Pod, r.Slot
	why := obstacle(s, r)
	switch next := s.Job.Status.NextStartTime; {
	case why.Reason != "":
		return why.Reason, state.KeepBeginning(slot.String() + ": " + why.Reason + ": " + why.Message)
	case p == nil && next != nil && s.Now.Before(next.Time):
		return v1alpha1.ReasonBackOff, "The next pods are created at " + next.UTC().Format("15:04:05") + " UTC."
	case p == nil && s.Now.Before(s.NextStart(slot)):
		return v1alpha1.ReasonBackOff, createdAgain(s, slot)
	case p == nil && (r.FormerCanAct || !s.AttemptMayBegin()):
		if len(s.Former) > 0 {
			return v1alpha1.ReasonFormerPodsEnding, withLingering(s, "Pods of an earlier job of this name are not gone; the next pods are created when they are.")
		}
		return v1alpha1.ReasonFormerPodsEnding, withLingering(s, "Pods of an earlier life can still run; the next pods are created when they have ended.")
	default:
		return v1alpha1.ReasonReplicasStarting, withLingering(s, "Waiting for all replicas to run.")
	}
}

// createdAgain describes until when the slot's next life is held back, and its number of restarts in a row.
func createdAgain(s *state.Snapshot, slot state.Slot) string {
	return fmt.Sprintf("%s is created again at %s UTC (restart %d in a row).",
		slot, s.NextStart(slot).UTC().Format("15:04:05"), s.Memory[slot.Role].RestartsInRow[slot.Index])
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

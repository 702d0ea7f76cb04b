package policy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/pkg/job/state"
)

// restartsHow completes "this replica ...", of one that restarts without the whole job: it keeps a pod that waits behind its gate, unless the
// incident gives cause for another pod or node.
func restartsHow(s *state.Snapshot, restart *failure.Restart) string {
	if r := s.Replica(failure.SlotOf(&restart.Failure)); r != nil && r.Pod != nil && r.Pod.IsKept() && KeepsPods(s) {
		incidents := append([]v1alpha1.Incident{restart.Incident}, s.Job.Status.Incidents...)
		_, avoided := nodes.Blamed(s, incidents[:1], nil)
		if CanRestart(s, r.Pod, incidents) && !nodes.List(avoided).Now(r.Pod.Node) {
			return "restarts in its pod"
		}
	}
	return "is replaced"
}

// KeepsPods reports whether pods of the present attempt may restart in place. If no pod ran when the restart was decided, or not all could stay in their
// domain, the attempt has its own group. Pods that started since belong to the old one.
func KeepsPods(s *state.Snapshot) bool {
	keepsGroup := !s.IsGang() && !state.RequiresDomain(&s.Job.Spec) || s.Job.Status.Memory.GroupAttempt != nil
	return state.KeepsPods(s.Job) && keepsGroup
}

// CanRestart reports whether the pod can restart in place after these incidents, newest first. Its replica must continue, the pod must not be
// from before a suspension, and the pod and its node must be healthy. The job must not avoid the node, and the API server must not have refused the restart.
func CanRestart(s *state.Snapshot, p *state.Pod, incidents []v1alpha1.Incident) bool {
	r := s.Replica(p.Slot)
	if p.Image == "" || r == nil || !r.NeedsPod() || !runsUndisturbed(p) || isNamed(incidents, p) || mustBeChecked(incidents, p) || s.IsFromBefore(p) {
		return false
	}
	node := s.NodeOf(p)
	isUnfit := node.Loss.Reason != "" || node.Action == state.BlameNode || nodes.Avoided(&s.Observed).Now(p.Node) || isDrained(incidents, &node)
	return r.State != state.Vanished && !p.Restarting && !p.RestartRefused && !isUnfit
}

// isDrained reports whether the latest restart of the whole job was for a pod that was lost on the node, which is unhealthy, or cordoned: its other pods are
// about to go too, and leave it in the same restart.
func isDrained(incidents []v1alpha1.Incident, node *state.Node) bool {
	latest := latestOfJob(incidents)
	return latest != nil && failure.IsLoss(latest.Cause) && latest.Node == node.Name && node.Unhealthy.Reason != ""
}

// isNamed reports whether a user requested the restart of the pod's replica, or the stacks of a hang blame it. It then gets a new pod, and perhaps
// another node.
func isNamed(incidents []v1alpha1.Incident, p *state.Pod) bool {
	return slices.ContainsFunc(incidents, func(incident v1alpha1.Incident) bool {
		isBlamed := incident.Cause == v1alpha1.CauseHang && incident.Node != ""
		return incident.Pod == p.Name && (isBlamed || incident.Cause == v1alpha1.CauseRequested)
	})
}

// mustBeChecked reports whether the latest restart of the whole job suspects a node and the pod has preflight checks. Only a new pod repeats
// them.
func mustBeChecked(incidents []v1alpha1.Incident, p *state.Pod) bool {
	latest := latestOfJob(incidents)
	return latest != nil && failure.ReasonOf(latest.Reason).IsNodeFault && p.Checks.Ended
}

func latestOfJob(incidents []v1alpha1.Incident) *v1alpha1.Incident {
	if n := slices.IndexFunc(incidents, func(i v1alpha1.Incident) bool { return i.Scope == v1alpha1.ScopeJob }); n >= 0 {
		return &incidents[n]
	}
	return nil
}

// runsUndisturbed reports whether all containers of the pod run, or the main one has ended behind a closed gate and the others run, and no
// deletion, disruption or eviction is under way. While its gate is open, the kubelet may have started a process that its status does not show yet.
func runsUndisturbed(p *state.Pod) bool {
	runsWhole := p.Phase == corev1.PodRunning && (p.Exit == nil && !p.Open || p.IsKept() && p.Exit.Main) && len(p.SideExits) == 0 && !p.MainSucceeded && !p.Fenced
	return runsWhole && p.Deleted.IsZero() && p.Disruption.Reason == "" && p.Rejected.Reason == "" && p.Unhealthy.Reason == ""
}

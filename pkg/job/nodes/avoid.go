package nodes

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
)

const (
	// maxAvoided is how many nodes a job avoids at most: the latest ones.
	maxAvoided = 16
	// failuresForExits is how many failures on a node make the job avoid it although the node itself did not break.
	failuresForExits = 2
)

// Excluded returns, sorted, the nodes of the job on which no pod can run now: the lost ones, and the silent ones, which have no taint yet. Of more
// than state.MaxExcluded it returns the first ones.
func Excluded(s *state.Snapshot) []string {
	var lost []string
	for i := range s.Nodes {
		if n := &s.Nodes[i]; isLostNode(n) {
			lost = append(lost, n.Name)
		}
	}
	slices.Sort(lost)
	return lost[:min(len(lost), state.MaxExcluded)]
}

// isLostNode reports whether the node is lost and still exists.
func isLostNode(n *state.Node) bool { return n.Lost && n.Loss.Reason != v1alpha1.ReasonNodeDeleted }

// NotPreferred returns, sorted, the nodes to which new pods of the job prefer all others: the avoided nodes of the status, and the unhealthy
// nodes.
func NotPreferred(s *state.Snapshot) []string {
	nodes := slices.Clone(s.UnhealthyNodes)
	for _, n := range Avoided(&s.Observed) {
		nodes = append(nodes, n.Name)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// Blamed returns what the job holds against nodes after the incidents: the failures that count against each, and the nodes that it avoids. The
// incidents are the latest ones, amended already; an amendment also takes back the failure of the node that was blamed first.
func Blamed(s *state.Snapshot, incidents []v1alpha1.Incident, amendments []failure.Amendment) ([]v1alpha1.NodeFailures, []v1alpha1.AvoidedNode) {
	spec, ttl := &s.Job.Spec, state.AvoidFor(&s.Job.Spec)
	since := s.Now.Add(-ttl)
	list, failures := Avoided(&s.Observed), Failures(s.Job.Status.Memory.NodeFailures).after(since)
	for i := range amendments {
		if was := &amendments[i].Was; isTakenBack(spec, &amendments[i]) {
			list, failures = list.remove(was.Node), failures.remove(was.Node, was.RestartTime)
		}
	}
	against := slices.DeleteFunc(slices.Concat(incidents, lostTogether(s, incidents, amendments)), func(i v1alpha1.Incident) bool {
		return i.Node == "" || !i.RestartTime.After(since) || !countsAgainstNode(spec, &i)
	})
	for i := range against {
		failures = failures.add(against[i].Node, against[i].RestartTime)
	}
	for i := range against {
		incident := &against[i]
		// one failure is enough if the node itself broke; else it takes several that may be the program's
		if n := failures.on(incident.Node); failure.ReasonOf(incident.Reason).IsNodeFault || n >= failuresForExits {
			list = list.add(v1alpha1.AvoidedNode{
				Name: incident.Node, Failures: n, Reason: incident.Reason, ExpirationTime: metav1.NewTime(incident.RestartTime.Add(ttl)),
			})
		}
	}
	return failures.latest(), list.latest()
}

// isTakenBack reports whether the incident, by the amendment, began elsewhere than on the node that was blamed, or in another way.
func isTakenBack(spec *v1alpha1.TrainingJobSpec, amendment *failure.Amendment) bool {
	was, is := &amendment.Was, &amendment.Is
	return countsAgainstNode(spec, was) && (is.Node != was.Node || !countsAgainstNode(spec, is))
}

// List holds the nodes that a job avoids: new pods prefer other nodes. Only this file changes a List.
type List []v1alpha1.AvoidedNode

// At returns the nodes that are still avoided at that time.
func At(nodes []v1alpha1.AvoidedNode, now time.Time) List {
	return slices.DeleteFunc(slices.Clone(nodes), func(n v1alpha1.AvoidedNode) bool { return !now.Before(n.ExpirationTime.Time) })
}

// Now reports whether the job avoids the node.
func (l List) Now(node string) bool { return l.Of(node) != nil }

// Of returns the entry of the node; nil if the job does not avoid it.
func (l List) Of(node string) *v1alpha1.AvoidedNode {
	if i := slices.IndexFunc(l, func(n v1alpha1.AvoidedNode) bool { return n.Name == node }); i >= 0 {
		return &l[i]
	}
	return nil
}

// Avoided returns the nodes that the job avoids now.
func Avoided(o *state.Observed) List { return At(o.Job.Status.AvoidedNodes, o.Now) }

// add returns the list with the node, until the later of the two times. A reason that blames the node itself stays.
func (l List) add(node v1alpha1.AvoidedNode) List {
	known := l.Of(node.Name)
	if known == nil {
		return append(l, node)
	}
	known.Failures = max(known.Failures, node.Failures)
	if known.ExpirationTime.Before(&node.ExpirationTime) {
		known.ExpirationTime = node.ExpirationTime
		if failure.ReasonOf(node.Reason).IsNodeFault || !failure.ReasonOf(known.Reason).IsNodeFault {
			known.Reason = node.Reason
		}
	}
	return l
}

// remove returns the list with one failure less on the node.
func (l List) remove(node string) List {
	n := l.Of(node)
	if n == nil {
		return l
	}
	if n.Failures--; n.Failures < 1 || !failure.ReasonOf(n.Reason).IsNodeFault && n.Failures < failuresForExits {
		return slices.DeleteFunc(l, func(n v1alpha1.AvoidedNode) bool { return n.Name == node })
	}
	return l
}

// latest returns the nodes sorted by name. Of more than maxAvoided nodes it returns those that are avoided for longest.
func (l List) latest() []v1alpha1.AvoidedNode {
	if len(l) > maxAvoided {
		slices.SortStableFunc(l, func(a, b v1alpha1.AvoidedNode) int { return b.ExpirationTime.Compare(a.ExpirationTime.Time) })
		l = l[:maxAvoided]
	}
	slices.SortFunc(l, func(a, b v1alpha1.AvoidedNode) int { return cmp.Compare(a.Name, b.Name) })
	return l
}

// lostTogether returns an incident for each further node that is lost together with the node of the latest incident; at most maxAvoided.
func lostTogether(s *state.Snapshot, incidents []v1alpha1.Incident, amendments []failure.Amendment) []v1alpha1.Incident {
	if len(incidents) == 0 || !failure.ReasonOf(incidents[0].Reason).IsNodeFault {
		return nil
	}
	at := incidents[0].RestartTime
	isAmended := slices.ContainsFunc(amendments, func(a failure.Amendment) bool { return a.Is.RestartTime.Equal(&at) })
	if !isAmended && !at.Time.Equal(s.Now.Truncate(time.Second)) {
		return nil
	}
	var more []v1alpha1.Incident
	for i := range s.Nodes {
		if len(more) == maxAvoided {
			break
		}
		n := &s.Nodes[i]
		named := slices.ContainsFunc(incidents, func(incident v1alpha1.Incident) bool {
			return incident.Node == n.Name && incident.RestartTime.Equal(&at)
		})
		if isLostNode(n) && !named {
			more = append(more, v1alpha1.Incident{
				Failure: v1alpha1.Failure{Node: n.Name, Cause: v1alpha1.CauseInfrastructure, Reason: n.Loss.Reason}, RestartTime: at,
			})
		}
	}
	return more
}

// countsAgainstNode reports whether the node may have caused the incident: an end of the program, whatever it costs, an end that the node does
// not know, as after a reboot, and a hang for which the stacks blame a rank. Drains, preemptions and deletions are decisions of users and
// controllers. What followed from something elsewhere, and so is free, and a lack of memory do not count either, nor do a command that is not there and an end by the
// kubelet that the template requests.
func countsAgainstNode(spec *v1alpha1.TrainingJobSpec, incident *v1alpha1.Incident) bool {
	reason, isConsequence := failure.ReasonOf(incident.Reason), !incident.Charged && (incident.Explained || !failure.IsApart(spec, incident.Role))
	isLossByRule := failure.IsLoss(incident.Cause) && incident.ExitCode != nil && incident.Reason == "Error"
	isOurs := slices.Contains([]v1alpha1.Cause{v1alpha1.CauseRetryable, v1alpha1.CauseStartup, v1alpha1.CauseHang}, incident.Cause)
	isOther := reason.IsOfTemplate || failure.MayBeKubelets(spec, &incident.Failure) || failure.LacksProgram(&incident.Failure)
	return reason.IsNodeFault || reason.IsForgotten || (isOurs && !isConsequence || isLossByRule) && !isOther
}

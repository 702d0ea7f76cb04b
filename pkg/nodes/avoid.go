package nodes

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/state"
)

const (
	// maxAvoided is how many nodes a job avoids at most: the latest ones.
	maxAvoided = 16
	// failuresForExits is how many failures on a node make the job avoid it although the node itself did not break.
	failuresForExits = 2
)

// NotPreferred returns, sorted, the nodes to which new pods of the job prefer all others: the avoided nodes of the status, the unhealthy
// nodes, and the silent ones, which have no taint yet.
func NotPreferred(s *state.Snapshot) []string {
	nodes := slices.Clone(s.Ill)
	for i := range s.Nodes {
		if s.Nodes[i].IsSilent() {
			nodes = append(nodes, s.Nodes[i].Name)
		}
	}
	for _, n := range Avoided(&s.Observed) {
		nodes = append(nodes, n.Name)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// AvoidedAfter returns the nodes that the job avoids after the incidents. The incidents are amended already; an amendment also takes back
// the strike against the node that was blamed first.
func AvoidedAfter(s *state.Snapshot, incidents []v1alpha1.Incident, amendments []failure.Amendment) []v1alpha1.AvoidedNode {
	ttl := state.AvoidFor(&s.Job.Spec)
	since := s.Now.Add(-ttl)
	incidents = slices.Concat(incidents, lostTogether(s, incidents))
	list := Avoided(&s.Observed)
	for i := range amendments {
		list = list.remove(&s.Job.Spec, &amendments[i])
	}
	for _, incident := range incidents {
		if incident.Node == "" || !incident.RestartTime.After(since) {
			continue
		}
		failures := failuresOn(&s.Job.Spec, incident.Node, incidents, since)
		// one failure is enough if the node itself broke; else it takes several exits of the program on it
		if failure.ReasonOf(incident.Reason).IsNodeFault || countsAgainstNode(&s.Job.Spec, &incident) && failures >= failuresForExits {
			list = list.add(v1alpha1.AvoidedNode{
				Name: incident.Node, Failures: failures, Reason: incident.Reason, ExpirationTime: metav1.NewTime(incident.RestartTime.Add(ttl)),
			})
		}
	}
	return list.latest()
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

// remove returns the list without the strike of an incident that, by the amendment, began elsewhere.
func (l List) remove(spec *v1alpha1.TrainingJobSpec, amendment *failure.Amendment) List {
	was, is := &amendment.Was, &amendment.Is
	n := l.Of(was.Node)
	if n == nil || !countsAgainstNode(spec, was) || is.Node == was.Node && countsAgainstNode(spec, is) {
		return l
	}
	if n.Failures--; n.Failures < 1 || !failure.ReasonOf(n.Reason).IsNodeFault && n.Failures < failuresForExits {
		return slices.DeleteFunc(l, func(n v1alpha1.AvoidedNode) bool { return n.Name == was.Node })
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
func lostTogether(s *state.Snapshot, incidents []v1alpha1.Incident) []v1alpha1.Incident {
	now := metav1.NewTime(s.Now.Truncate(time.Second))
	if len(incidents) == 0 || !incidents[0].RestartTime.Equal(&now) || !failure.ReasonOf(incidents[0].Reason).IsNodeFault {
		return nil
	}
	var more []v1alpha1.Incident
	for _, n := range s.Nodes {
		if len(more) == maxAvoided {
			break
		}
		named := slices.ContainsFunc(incidents, func(incident v1alpha1.Incident) bool {
			return incident.Node == n.Name && incident.RestartTime.Equal(&now)
		})
		isLost := n.Lost.Reason != "" && n.Lost.Reason != v1alpha1.ReasonNodeDeleted && !s.Now.Before(n.Lost.Time)
		if isLost && !named {
			more = append(more, v1alpha1.Incident{
				Failure: v1alpha1.Failure{Node: n.Name, Cause: v1alpha1.CauseInfrastructure, Reason: n.Lost.Reason}, RestartTime: now,
			})
		}
	}
	return more
}

// countsAgainstNode reports whether the node may have caused the incident: an end of the program, whatever it costs, and an end that the node does
// not know, as after a reboot. Drains, preemptions and deletions are decisions of users and controllers. The consequence of a loss elsewhere and
// a lack of memory do not count either, nor do a command that is not there and an end by the kubelet that the template requests.
func countsAgainstNode(spec *v1alpha1.TrainingJobSpec, incident *v1alpha1.Incident) bool {
	reason, isConsequence := failure.ReasonOf(incident.Reason), incident.Explained && !incident.Charged
	isLossByRule := failure.IsLoss(incident.Cause) && incident.ExitCode != nil && incident.Reason == "Error"
	isExit := (incident.Cause == v1alpha1.CauseRetryable || incident.Cause == v1alpha1.CauseStartup || isLossByRule) && !isConsequence
	isOther := reason.IsOfTemplate || failure.MayBeKubelets(spec, &incident.Failure) || failure.LacksProgram(&incident.Failure)
	return reason.IsNodeFault || reason.IsForgotten || isExit && !isOther
}

// failuresOn returns how many incidents since then count against the node.
func failuresOn(spec *v1alpha1.TrainingJobSpec, node string, incidents []v1alpha1.Incident, since time.Time) int32 {
	var n int32
	for i := range incidents {
		if incidents[i].Node == node && countsAgainstNode(spec, &incidents[i]) && incidents[i].RestartTime.After(since) {
			n++
		}
	}
	return n
}

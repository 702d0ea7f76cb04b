package plan

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/failure"
	"github.com/trainingjob/operator/pkg/nodes"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/pkg/state"
)

// explained returns Events for incidents whose true cause shows only now, and for their refunds.
func explained(amendments []failure.Amendment) []Event {
	var list []Event
	for i := range amendments {
		list = append(list, normal(v1alpha1.EventIncidentExplained, string(amendments[i].Is.Cause), amendments[i].Message))
	}
	return list
}

// avoidedAnew returns one Event on the job for each group of newly avoided nodes with the same reason, and one Event on each node that
// failed itself. A failure of the job's pods on a node is not reported on the node.
func avoidedAnew(s *state.Snapshot, v *policy.Verdict, next *v1alpha1.TrainingJobStatus) []Event {
	var anew []v1alpha1.AvoidedNode
	was := nodes.Avoided(&s.Observed)
	for _, n := range nodes.At(next.AvoidedNodes, s.Now) {
		if !was.Now(n.Name) {
			anew = append(anew, n)
		}
	}
	var list []Event
	for i := range anew {
		isLike := func(n v1alpha1.AvoidedNode) bool {
			return areAlike(&n, &anew[i]) && staysOn(s, v, &n) == staysOn(s, v, &anew[i])
		}
		if slices.IndexFunc(anew, isLike) == i {
			alike := slices.DeleteFunc(slices.Clone(anew), func(n v1alpha1.AvoidedNode) bool { return !isLike(n) })
			list = append(list, warn(v1alpha1.EventNodeAvoided, anew[i].Reason, avoidedMessage(s, alike, staysOn(s, v, &anew[i]))))
		}
	}
	for i := range anew {
		if n := &anew[i]; failure.ReasonOf(n.Reason).IsOnNode {
			onNode := warn(v1alpha1.EventNodeAvoided, n.Reason, messageOnNode(s, n, staysOn(s, v, n)))
			onNode.Node = n.Name
			list = append(list, onNode)
		}
	}
	return list
}

// areAlike reports whether one sentence fits both nodes.
func areAlike(a, b *v1alpha1.AvoidedNode) bool {
	return a.Reason == b.Reason && a.ExpirationTime.Equal(&b.ExpirationTime)
}

// staysOn reports whether the job would leave the node, which is ill, if there were others.
func staysOn(s *state.Snapshot, v *policy.Verdict, n *v1alpha1.AvoidedNode) bool {
	return v.Kind == policy.Continue && n.Reason == v1alpha1.ReasonNodeIll && slices.ContainsFunc(s.Pods, func(p state.Pod) bool {
		return p.Node == n.Name && p.CanRun() && !s.IsPast(&p)
	})
}

// avoidedMessage returns the message on the job for nodes that are alike.
func avoidedMessage(s *state.Snapshot, alike []v1alpha1.AvoidedNode, stays bool) string {
	var nodes []string
	for i := range alike {
		nodes = append(nodes, alike[i].Name)
	}
	n := &alike[0]
	until := untilWhen(n)
	switch {
	case stays && len(nodes) == 1:
		return fmt.Sprintf("The job stays on %s, which is unhealthy (%s): there are too few others. New pods prefer others until %s.", n.Name, wordsOf(s, n.Name), until)
	case stays:
		return fmt.Sprintf("The job stays on %s, which are unhealthy: there are too few others. New pods prefer others until %s.", firstOf(nodes), until)
	case len(nodes) == 1:
		return fmt.Sprintf("New pods avoid %s until %s: %s, failure %d.", n.Name, until, n.Reason, n.Failures)
	default:
		return fmt.Sprintf("New pods avoid %s until %s: %s.", firstOf(nodes), until, n.Reason)
	}
}

// messageOnNode returns the message on the node.
func messageOnNode(s *state.Snapshot, n *v1alpha1.AvoidedNode, stays bool) string {
	if stays {
		return fmt.Sprintf("TrainingJob %s/%s stays on this node, which is unhealthy: there are too few others.", s.Job.Namespace, s.Job.Name)
	}
	return fmt.Sprintf("TrainingJob %s/%s avoids this node until %s: %s.", s.Job.Namespace, s.Job.Name, untilWhen(n), n.Reason)
}

func untilWhen(n *v1alpha1.AvoidedNode) string {
	return n.ExpirationTime.UTC().Format("2006-01-02 15:04 UTC")
}

// wordsOf returns the report that marks the node as unhealthy.
func wordsOf(s *state.Snapshot, node string) string {
	i := slices.IndexFunc(s.Nodes, func(n state.Node) bool { return n.Name == node })
	if i < 0 {
		return v1alpha1.ReasonNodeIll
	}
	return s.Nodes[i].Ill.Message
}

// parked returns Events for workers of an elastic job that are parked, or tried again.
func parked(v *policy.Verdict) []Event {
	switch {
	case len(v.Park) > 0:
		return []Event{warn(v1alpha1.EventWorkersParked, v1alpha1.ReasonUnschedulable, "No room for "+names(v.Park)+": the job continues without it.")}
	case len(v.Unpark) > 0:
		return []Event{normal(v1alpha1.EventWorkersUnparked, v1alpha1.EventWorkersUnparked, "Trying "+names(v.Unpark)+" again.")}
	default:
		return nil
	}
}

// names lists replicas, the first of them by name.
func names(slots []state.Slot) string {
	var list []string
	for _, slot := range slots {
		list = append(list, slot.String())
	}
	return firstOf(list)
}

// firstOf lists the first of the names, and the number of the others.
func firstOf(names []string) string {
	list := slices.Clone(names[:min(len(names), namedInEvent)])
	if more := len(names) - namedInEvent; more > 0 {
		list = append(list, fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, ", ")
}

// sparesRefused returns the Event about missing spares: the job continues without them, so its conditions do not show it. There is one
// Event for each reason.
func sparesRefused(s *state.Snapshot) []Event {
	if s.SpareRefusal == nil || s.SpareRefusal.Reason == "" || s.SpareRefusal.Told || isIncomplete(s) || !lacksSpare(s) {
		return nil
	}
	return []Event{warn(v1alpha1.EventSpareRefused, s.SpareRefusal.Reason, clip(s.SpareRefusal.Message))}
}

// deletionRefused returns one Event about a job that remains after its time to live. A verdict is final, so no condition of the job shows
// it.
func deletionRefused(s *state.Snapshot) []Event {
	refusal := s.Refusal
	if refusal == nil || refusal.Reason == "" || refusal.Told || refusal.Since.Before(s.Job.Status.CompletionTime.Time) {
		return nil
	}
	return []Event{warn(v1alpha1.EventDeletionRefused, refusal.Reason, clip(refusal.Message))}
}

// sparesUsed returns Events for spares that end for a replica.
func sparesUsed(s *state.Snapshot, steps []Step) []Event {
	var list []Event
	for _, step := range steps {
		d, isDelete := step.(DeletePod)
		i := slices.IndexFunc(s.Spares, func(p state.Pod) bool { return isDelete && p.UID == d.UID })
		if i < 0 || d.Force || sparesInTheWay(s, s.Spares[i].Slot.Role) == 0 {
			continue
		}
		list = append(list, Event{
			Type: corev1.EventTypeNormal, Reason: v1alpha1.EventSpareUsed, Action: d.Name,
			Message: fmt.Sprintf("%s makes way on %s for a replica that fits nowhere else.", d.Name, s.Spares[i].Node),
		})
	}
	return list
}

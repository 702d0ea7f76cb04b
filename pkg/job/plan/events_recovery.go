package plan

import (
	"fmt"
	"slices"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/pkg/job/state"
)

// avoidedEvents returns one Event on the job for each group of similar nodes that the job avoids from now on. Whole racks are lost at
// once. It also returns an Event on each node that failed itself. Failures of the job's own pods emit none there.
func avoidedEvents(s *state.Snapshot, next *v1alpha1.TrainingJobStatus) []Event {
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
			return n.Reason == anew[i].Reason && n.ExpirationTime.Equal(&anew[i].ExpirationTime)
		}
		if slices.IndexFunc(anew, isLike) == i {
			together := slices.DeleteFunc(slices.Clone(anew), func(n v1alpha1.AvoidedNode) bool { return !isLike(n) })
			list = append(list, warn(v1alpha1.EventNodeAvoided, anew[i].Reason, avoidedMessage(together)))
		}
	}
	for i := range anew {
		if n := &anew[i]; failure.ReasonOf(n.Reason).IsOnNode {
			onNode := warn(v1alpha1.EventNodeAvoided, n.Reason, messageOnNode(s, n))
			onNode.Node = n.Name
			list = append(list, onNode)
		}
	}
	return list
}

func avoidedMessage(together []v1alpha1.AvoidedNode) string {
	var nodes []string
	for i := range together {
		nodes = append(nodes, together[i].Name)
	}
	n := &together[0]
	until := n.ExpirationTime.UTC().Format(untilFormat)
	if len(nodes) == 1 {
		return fmt.Sprintf("New pods avoid %s until %s: %s, failure %d.", n.Name, until, n.Reason, n.Failures)
	}
	return fmt.Sprintf("New pods avoid %s until %s: %s.", nameFirst(nodes), until, n.Reason)
}

// untilFormat is how messages show until when a node is avoided.
const untilFormat = "2006-01-02 15:04 UTC"

// messageOnNode describes the node for the node's administrator.
func messageOnNode(s *state.Snapshot, n *v1alpha1.AvoidedNode) string {
	return fmt.Sprintf("TrainingJob %s/%s avoids this node until %s: %s.", s.Job.Namespace, s.Job.Name, n.ExpirationTime.UTC().Format(untilFormat), n.Reason)
}

// deletionRefused returns one Event that explains why an expired job still exists. A result is final, so no condition shows it.
func deletionRefused(s *state.Snapshot, v *policy.Verdict) []Event {
	refusal := s.Refusal
	if !v.Expired || refusal == nil || refusal.Reason == "" || refusal.Reported || refusal.Since.Before(s.Job.Status.CompletionTime.Time) {
		return nil
	}
	return []Event{warn(v1alpha1.EventDeletionRefused, refusal.Reason, state.KeepBeginning(refusal.Message))}
}

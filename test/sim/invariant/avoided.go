package invariant

import (
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/ledger"
)

// What docs/recovery.md promises of avoided nodes: a job avoids a node at once if the node broke, and otherwise after two exits of the program
// there, each for avoidNodesSeconds, or until later evidence shows that the failure began elsewhere.

// nodeFaults are reasons of a node that broke, or of a kubelet that rejected or evicted a pod because of the node's state.
var nodeFaults = []string{
	v1alpha1.ReasonNodeLost, v1alpha1.ReasonNodeSilent, v1alpha1.ReasonNodeTainted, v1alpha1.ReasonNodeUnhealthy, v1alpha1.ReasonDeviceUnhealthy,
	v1alpha1.ReasonPreflightFailed, "TerminationByKubelet", "UnexpectedAdmissionError", "TopologyAffinityError", "NodeAffinity", "DeletionByTaintManager",
}

// isNodeFault reports whether one such incident is enough.
func isNodeFault(i *v1alpha1.Incident) bool {
	return i.Node != "" && (slices.Contains(nodeFaults, i.Reason) || strings.HasPrefix(i.Reason, "OutOf"))
}

// countsForNode reports whether the second such incident on the node is enough; may is also true where the documents leave it open. No SIGTERM counts, as it may be the kubelet's, nor does a hang for which the stacks blame no rank.
func countsForNode(spec *v1alpha1.TrainingJobSpec, i *v1alpha1.Incident) (surely, may bool) {
	isForgotten := slices.Contains(forgotten, i.Reason)
	switch {
	case isNoFault(spec, i):
		return false, false
	case i.Reason == v1alpha1.ReasonProgressStalled:
		return false, slices.ContainsFunc([]string{" is in ", " does not answer", " rank "}, func(how string) bool { return strings.Contains(i.Message, nameOf(i)+how) })
	case i.Reason == "Error" && i.ExitCode != nil && i.Container == "":
		may = *i.ExitCode != 143 && (*i.ExitCode != 137 || !hasProbe(spec, i.Role)) // else the kubelet may have ended it
		return may && !i.Explained && slices.Contains([]v1alpha1.Cause{v1alpha1.CauseRetryable, v1alpha1.CauseInfrastructure}, i.Cause), may
	default:
		return false, isForgotten || i.Reason == v1alpha1.ReasonStartupDeadline || i.ExitCode != nil && i.Reason != "Evicted"
	}
}

// isNoFault reports whether no node is to blame for the incident: it is an exit that followed another failure, or waited in vain, or a user requested it.
func isNoFault(spec *v1alpha1.TrainingJobSpec, i *v1alpha1.Incident) bool {
	isLoss := i.Cause == v1alpha1.CauseInfrastructure || i.Cause == v1alpha1.CausePreempted
	isFree := !i.Charged && (i.Explained || !isApart(spec, i.Role))
	isConsequence := isFree && !isLoss && !slices.Contains(forgotten, i.Reason)
	return i.Node == "" || isConsequence || i.Cause == v1alpha1.CauseRequested || i.Cause == v1alpha1.CauseCompleted
}

func nameOf(i *v1alpha1.Incident) string {
	return state.Slot{Role: i.Role, Index: int(i.Index)}.String()
}

// hasProbe reports whether the kubelet may end the role's program because of a probe or a hook.
func hasProbe(spec *v1alpha1.TrainingJobSpec, role v1alpha1.Role) bool {
	main := spec.ReplicaSpecs[role].Template.Spec.Containers[0]
	return main.LivenessProbe != nil || main.StartupProbe != nil || main.Lifecycle != nil && main.Lifecycle.PostStart != nil
}

// checkAvoided checks invariant 22: each node that the job begins to avoid, or avoids for longer, is to blame for an incident that the status has
// shown, from which the time counts; and each that is to blame is avoided. The incidents are the checker's own books.
func (c *Checker) checkAvoided(h *history, before, after *v1alpha1.TrainingJob) {
	var numbers []int32 // of the incidents in the list
	for n := after.Status.Restarts; n > before.Status.Restarts; n-- {
		numbers = append(numbers, n)
	}
	for i := range before.Status.Incidents {
		if i < len(h.numbers) && !ledger.MakesWay(&before.Status.Incidents[i], &before.Status, &after.Status) {
			numbers = append(numbers, h.numbers[i])
		}
	}
	h.numbers = numbers[:min(len(numbers), len(after.Status.Incidents))]
	for i, n := range h.numbers {
		h.blames[n] = after.Status.Incidents[i]
	}
	ttl := avoidFor(&before.Spec)
	isChanged := before.Status.Restarts != after.Status.Restarts || h.happened[v1alpha1.EventIncidentExplained] != h.explained
	h.explained = h.happened[v1alpha1.EventIncidentExplained]
	for _, n := range after.Status.AvoidedNodes {
		c.checkAvoidedNode(h, before, after, &n, isChanged)
	}
	if isChanged && ttl > 0 && len(after.Status.AvoidedNodes) < 16 {
		c.checkBlamed(before, after, ttl)
	}
}

// avoidFor is how long a node is avoided.
func avoidFor(spec *v1alpha1.TrainingJobSpec) time.Duration {
	return time.Duration(ptr.Deref(spec.Recovery.AvoidNodesSeconds, v1alpha1.DefaultAvoidNodesSeconds)) * time.Second
}

// isGone reports whether the node is lost or silent for the process that has just written, or by what the API server has.
func (c *Checker) isGone(node string) bool {
	return c.seemsAway(node) || c.writer != nil && c.isLostNow(node, c.writer)
}

// checkAvoidedNode checks the first half for one node.
func (c *Checker) checkAvoidedNode(h *history, before, after *v1alpha1.TrainingJob, n *v1alpha1.AvoidedNode, isChanged bool) {
	ttl := avoidFor(&before.Spec)
	at := n.ExpirationTime.Add(-ttl)
	isOld := slices.ContainsFunc(before.Status.AvoidedNodes, func(o v1alpha1.AvoidedNode) bool {
		return o.Name == n.Name && !o.ExpirationTime.Before(&n.ExpirationTime)
	})
	isLostToo := c.isGone(n.Name) && slices.ContainsFunc(after.Status.Incidents, func(i v1alpha1.Incident) bool { return isNodeFault(&i) && i.RestartTime.Time.Equal(at) })
	switch {
	case !isOld && !isLostToo && !h.wasLost[n.Name] && !h.isToBlame(&before.Spec, n.Name, ttl, func(t time.Time) bool { return t.Equal(at) }):
		c.violate("22 blame is true: the job avoids %s until %v, and no incident of %v is the node's fault, or the second there", n.Name, n.ExpirationTime.UTC(), at.UTC())
	case isOld && isChanged && !h.wasLost[n.Name] && c.decided().Before(n.ExpirationTime.Time) && !h.isToBlame(&before.Spec, n.Name, ttl, func(t time.Time) bool { return true }):
		c.violate("22 blame is true: the job avoids %s still, and by late evidence no incident is the node's fault, or the second there", n.Name)
	}
	if isLostToo {
		h.wasLost[n.Name] = true
	}
}

// isToBlame reports whether an incident at one of those times is the fault of the node, or the second within the time that a node is avoided.
func (h *history) isToBlame(spec *v1alpha1.TrainingJobSpec, node string, ttl time.Duration, isIt func(time.Time) bool) bool {
	for number, i := range h.blames {
		if i.Node != node || !isIt(i.RestartTime.Time) {
			continue
		}
		_, may := countsForNode(spec, &i)
		for other, o := range h.blames {
			_, counts := countsForNode(spec, &o)
			between := i.RestartTime.Sub(o.RestartTime.Time)
			isSecond := other != number && o.Node == node && (counts || isNodeFault(&o)) && between >= 0 && between <= ttl+time.Second
			if isNodeFault(&i) || may && isSecond {
				return true
			}
		}
	}
	return false
}

// checkBlamed: a node that the latest incidents blame is avoided for as long as the job says, counted from the last of them. Incidents of the same
// second count as one.
func (c *Checker) checkBlamed(before, after *v1alpha1.TrainingJob, ttl time.Duration) {
	since, incidents := c.decided().Add(-ttl).Add(time.Second), after.Status.Incidents
	counts := func(i *v1alpha1.Incident) bool {
		surely, _ := countsForNode(&before.Spec, i)
		return surely && i.RestartTime.After(since)
	}
	for at := range incidents {
		i := &incidents[at]
		isSecond := counts(i) && slices.ContainsFunc(incidents[at+1:], func(o v1alpha1.Incident) bool {
			return o.Node == i.Node && counts(&o) && !o.RestartTime.Equal(&i.RestartTime)
		})
		until := i.RestartTime.Add(ttl)
		isAvoided := slices.ContainsFunc(after.Status.AvoidedNodes, func(n v1alpha1.AvoidedNode) bool { return n.Name == i.Node && !n.ExpirationTime.Time.Before(until) })
		if (isNodeFault(i) || isSecond) && i.RestartTime.After(since) && !isAvoided {
			c.violate("22 blame is true: %s (%s) is to blame for the restart at %v, and is not avoided until %v", i.Node, i.Reason, i.RestartTime.UTC(), until.UTC())
		}
	}
}

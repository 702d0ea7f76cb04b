package invariant

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/ledger"
	"github.com/trainingjob/operator/test/sim/operator"
	"github.com/trainingjob/operator/test/sim/world"
)

// fate is what truly became of a pod.
type fate struct {
	// exit is the code it ended with by itself, before anybody told it to.
	exit *int32
	// lost is whether it ran and somebody else than the operator took it away.
	lost bool
	// touched is whether somebody else than the operator took it away, whatever it was doing.
	touched bool
	// rejected is whether its node turned it away before a container ran, unstartable whether its container could not be started, programless whether
	// its image lacks the program, and unbegun whether an init container ended it.
	rejected, unstartable, programless, unbegun bool
	// missedPeer is whether it ended with a follower's code, and the words that it lost a peer or a table that has none.
	missedPeer bool
	// mayHaveMissed is whether its words are also of a peer that does not listen yet.
	mayHaveMissed bool
	// node is the pod's node, and lostFrom when it counts as lost with it; zero if it does not.
	node     string
	lostFrom time.Time
	// sideEnded is whether a container beside the main one has ended.
	sideEnded bool
	// doneAt is when its main container exited with 0; zero if it did not.
	doneAt time.Time
	// fault is what ended it, or what it is part of; nil for nothing.
	fault *world.Fault
	// succeededLate is whether its kubelet has started another process in it by itself, which has succeeded.
	succeededLate bool
	// ran is whether a container of it has begun.
	ran bool
	// number is the number of the life, as its processes see it.
	number int64
	uid    types.UID
	// former is the fate of the life before in the same pod, whose process may still be there; nil if there was none.
	former *fate
}

// note writes down what a change of a pod says of its fate.
func (c *Checker) note(was, is *corev1.Pod, byOperator bool) {
	pod := is
	if pod == nil {
		pod = was
	}
	f, h := c.fateOf(pod)
	if f == nil {
		return
	}
	c.notePlace(f, pod)
	f.noteProcess(pod)
	if isDone(pod) && f.doneAt.IsZero() {
		f.doneAt = c.world.Clock.Now()
	}
	if was == nil {
		_, life, _ := parsePodName(ledger.OwnerOf(pod).Name, pod.Name)
		h.begins.notePod(life.Attempt, c.world.Clock.Now())
		return
	}
	ref := ledger.OwnerOf(pod)
	_, _, restarting, _ := livesIn(ref.Name, was)
	restarting = restarting && !f.ran // a kubelet that starts does not know the process
	if !restarting {
		f.fault = cmp.Or(c.world.FaultOf(pod), f.fault)
	}
	if !byOperator && was.DeletionTimestamp == nil && (is == nil || is.DeletionTimestamp != nil) {
		h.outside++
		f.noteDeletion(was, restarting)
	}
	f.noteStray(was, is)
	if is != nil && (!isOver(was) || isForNode(is)) {
		f.noteVersion(is, restarting, c.world.EndedItself(is))
	}
}

// noteStray writes down the success of a process that the kubelet has started by itself.
func (f *fate) noteStray(was, is *corev1.Pod) {
	if is != nil && world.Strayed(was) && isDone(is) {
		f.succeededLate = true
	}
}

// noteDeletion writes down that somebody else than the operator has deleted the pod. A device can be lost long before its taint: also in the life
// before.
func (f *fate) noteDeletion(was *corev1.Pod, restarting bool) {
	f.touched = true
	if restarting && f.former != nil && slices.ContainsFunc(was.Status.Conditions, func(c corev1.PodCondition) bool { return c.Reason == "DeletionByDeviceTaintManager" }) {
		f.former.lost, f.former.touched = true, true
	}
	f.lost = f.lost || !world.IsOver(was) && was.Status.Phase != corev1.PodPending && !restarting
}

// noteVersion writes down what a version of a pod that had not ended says. endedBefore is whether its process ended before any request to end, and
// its kubelet reports that now. How the process of an earlier life ends, before the next one begins in the pod, is no failure. A kubelet that has lost the
// containers does not show in which of the two lives it evicted the pod.
func (f *fate) noteVersion(is *corev1.Pod, restarting, endedBefore bool) {
	if isForNode(is) {
		f.lost, f.touched = true, true
	}
	f.sideEnded = f.sideEnded || slices.ContainsFunc(is.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.Name != is.Spec.Containers[0].Name && c.State.Terminated != nil
	})
	if restarting && f.former != nil && is.Status.Reason == "Evicted" {
		f.former.noteVersion(is, false, true)
	}
	if !restarting && !isOver(is) {
		f.noteEviction(is)
	}
	switch {
	case !isOver(is):
	case !restarting || ledger.Process(is) == "":
		f.noteEnd(is, is.DeletionTimestamp != nil && !endedBefore)
	case endedBefore && f.former != nil: // reported late
		f.former.noteEnd(is, false)
	}
}

// noteEviction writes down that the kubelet evicts the pod for its own storage: the pod may go before it shows how its containers ended.
func (f *fate) noteEviction(is *corev1.Pod) {
	if is.Status.Reason == "Evicted" && !isForNode(is) && is.DeletionTimestamp == nil {
		f.exit = ptr.To[int32](137)
	}
}

// noteProcess writes down whether a process of the life has begun, and the number that it sees. A pod that ends with the process that it was to leave has
// begun no other.
func (f *fate) noteProcess(pod *corev1.Pod) {
	f.uid = pod.UID
	if number, isShown := ledger.Shown(pod); isShown {
		f.number = number
	}
	_, _, restarting, _ := livesIn(ledger.OwnerOf(pod).Name, pod)
	left := ledger.ToldOf(pod).Process
	f.ran = f.ran || hasBegun(pod) && !restarting && (left == "" || ledger.Process(pod) != left)
}

// hasBegun reports whether a container of the pod has begun. Of one that was told to end before that a kubelet says that it does not know it.
func hasBegun(pod *corev1.Pod) bool {
	if !world.IsOver(pod) {
		return pod.Status.Phase == corev1.PodRunning
	}
	end := world.End(pod)
	return end != nil && end.Reason != "ContainerStatusUnknown"
}

// notePlace writes down which node a pod has come to, and what is known of that.
func (c *Checker) notePlace(f *fate, pod *corev1.Pod) {
	if f.node != "" || pod.Spec.NodeName == "" {
		return
	}
	f.node = pod.Spec.NodeName
	node, _ := c.world.Server.Get(server.Nodes, "", f.node).(*corev1.Node)
	c.noteNode(f, node)
}

// isOver reports whether the pod has ended, or a container of it has and the kubelet is about to say so of the pod, or to be asked to.
func isOver(pod *corev1.Pod) bool { return world.IsOver(pod) || world.End(pod) != nil }

// fateOf returns the fate of a pod of a job, and the history of the job; nil for any other pod.
func (c *Checker) fateOf(pod *corev1.Pod) (*fate, *history) {
	ref := ledger.OwnerOf(pod)
	if ref == nil || ref.Kind != v1alpha1.Kind {
		return nil, nil
	}
	slot, life, named := parsePodName(ref.Name, pod.Name)
	if !named {
		return nil, nil
	}
	h := c.of(ref.UID)
	f := h.byPod[pod.UID]
	if f == nil {
		f = &fate{}
		h.byPod[pod.UID] = f
		h.fates[place{slot, life}] = append(h.fates[place{slot, life}], f)
	}
	return f, h
}

// noteEnd writes down how a pod ended. wasStopped is whether it ended because of a request.
func (f *fate) noteEnd(pod *corev1.Pod, wasStopped bool) {
	end := world.End(pod)
	switch {
	case end == nil:
		f.lost, f.touched, f.rejected = true, true, len(pod.Status.ContainerStatuses) == 0
	case isForNode(pod):
	case pod.Status.Reason == "Evicted" && end.Reason == "ContainerStatusUnknown": // for its own storage
		f.exit, f.lost, f.touched = &end.ExitCode, true, true
	case end.Reason == "Unknown" || end.Reason == "ContainerStatusUnknown": // rebooted, or not known how
		f.lost, f.touched = f.lost || !wasStopped, true
	case failedCheck(pod):
		f.lost, f.touched, f.rejected = true, true, true
	case !wasStopped:
		code := world.CodeIn(end.Message, end.ExitCode)
		f.exit, f.programless = &code, end.Message == world.NoProgram
		f.unbegun = slices.ContainsFunc(pod.Status.InitContainerStatuses, func(c corev1.ContainerStatus) bool { return c.State.Terminated == end })
		f.missedPeer = slices.Contains([]int32{1, 134, 139}, code) && (world.SpeaksOfPeer(end.Message) || world.SaysNothing(end.Message))
		f.mayHaveMissed = code == 1 && world.SpeaksOfStart(end.Message)
		f.unstartable = end.Reason == "StartError" && !f.programless
	}
}

// failedCheck reports whether a preflight check of the pod has blamed its node.
func failedCheck(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.InitContainerStatuses, func(c corev1.ContainerStatus) bool {
		return strings.HasPrefix(c.Name, "preflight-") && c.State.Terminated != nil && c.State.Terminated.ExitCode == 1
	})
}

// isForNode reports whether the kubelet has ended the pod for the sake of its node.
func isForNode(pod *corev1.Pod) bool {
	if pod.Status.Reason == "Evicted" && strings.Contains(pod.Status.Message, "The node had condition") {
		return true
	}
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Reason == "TerminationByKubelet"
	})
}

// hearNode writes down which pods a node's trouble takes along: those that are there, and those that are gone, as a process
// may not have seen that yet, and a node's trouble may explain what came before it.
func (c *Checker) hearNode(change *server.Change) {
	node, _ := change.Is.(*corev1.Node)
	for _, h := range c.jobs {
		for _, f := range h.byPod {
			if f.node == change.Request.Key.Name {
				c.noteNode(f, node)
			}
		}
	}
}

// noteNode writes down from when on a pod counts as lost with its node, which is nil if it was deleted.
func (c *Checker) noteNode(f *fate, node *corev1.Node) {
	if f.former != nil {
		c.noteNode(f.former, node)
	}
	now := c.world.Clock.Now()
	from := lostFrom(node, now)
	if from.IsZero() && !f.lostFrom.IsZero() && !now.Before(f.lostFrom) {
		return // it was lost, whatever the node says now
	}
	f.lostFrom = from
}

// seemsLost reports whether the node counts as lost for the process that has just written: its cache may be behind.
func (c *Checker) seemsLost(name string) bool {
	if c.writer == nil || name == "" {
		return false
	}
	node, _ := c.writer.Process.Cache.Get(server.Nodes, client.ObjectKey{Name: name}).(*corev1.Node)
	from := lostFrom(node, c.world.Clock.Now())
	return !from.IsZero() && !c.world.Clock.Now().Before(from)
}

// seemsAway reports whether the node counts as lost for the process that has just written, or as silent by the Leases that it has read.
func (c *Checker) seemsAway(name string) bool {
	return c.seemsLost(name) || c.writer != nil && c.seemsSilent(name, c.writer)
}

// seemsSilent reports whether the node was silent when the process, before its decision, last read the Leases. A read counts for 20 s.
func (c *Checker) seemsSilent(name string, d *operator.Decision) bool {
	return d.At.Sub(d.LeasesRead) <= 20*time.Second && c.world.IsSilent(name, d.LeasesRead)
}

// lostFrom returns from when on pods on the node count as lost; zero if the node is well.
func lostFrom(node *corev1.Node, now time.Time) time.Time {
	if node == nil || len(node.Spec.Taints) > 0 {
		return now.Truncate(time.Second)
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == operator.Loses && condition.Status == corev1.ConditionTrue {
			return condition.LastTransitionTime.Time
		}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
			return condition.LastTransitionTime.Add(operator.LostAfter)
		}
	}
	return time.Time{}
}

// causes are the causes of which a life can be said to have broken.
type causes struct{ loss, exit, fatal bool }

func (a causes) or(b causes) causes {
	return causes{a.loss || b.loss, a.exit || b.exit, a.fatal || b.fatal}
}

// causeOf returns of which causes the life can be said to have broken by now, by what truly happened to its pods.
func (c *Checker) causeOf(h *history, p place, job *v1alpha1.TrainingJob) causes {
	var all causes
	for _, f := range h.fates[p] {
		lostWithNode := !f.lostFrom.IsZero() && !c.world.Clock.Now().Before(f.lostFrom) || c.seemsAway(f.node)
		// gone after it had ended: who saw only that could not know
		one := causes{loss: f.lost || lostWithNode || f.touched && f.exit != nil}
		if f.exit != nil && *f.exit != 0 {
			one.fatal = f.isFatal(&job.Spec, p.slot.Role)
			one.exit = !one.fatal || f.mayHaveMissed && needsPeers(&job.Spec, p.slot.Role)
		}
		all = all.or(one)
	}
	return all
}

// isFatal reports whether no restart mends the exit. The code of a rank that missed a peer is not its own.
func (f *fate) isFatal(spec *v1alpha1.TrainingJobSpec, role v1alpha1.Role) bool {
	policy := spec.ReplicaSpecs[role].RestartPolicy
	missedPeer := f.missedPeer && needsPeers(spec, role) && policy == v1alpha1.RestartExitCode
	isOfProgram := !missedPeer && !f.unstartable && !f.unbegun
	return f.programless || policy == v1alpha1.RestartNever || isOfProgram && isPermanent(*f.exit, policy)
}

// needsPeers reports whether a replica of the role cannot train on without another rank, or a parameter server.
func needsPeers(spec *v1alpha1.TrainingJobSpec, role v1alpha1.Role) bool {
	return (role.IsLeader() || role == v1alpha1.Worker) && (isCollective(spec) || spec.Replicas(v1alpha1.PS) > 0)
}

// isPermanent says it as the documentation of restartPolicy does.
func isPermanent(code int32, restart v1alpha1.RestartPolicy) bool {
	switch {
	case code == 93 || code == 126 || code == 127:
		return true
	case restart == v1alpha1.RestartExitCode:
		return code <= 128 || code > 192 || code == 139
	default:
		return false
	}
}

// uncannyPods are pods of requests that came late or from a process that leads no more.
type uncannyPods map[types.UID]bool

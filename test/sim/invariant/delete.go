package invariant

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/ledger"
	"github.com/trainingjob/operator/test/sim/operator"
	"github.com/trainingjob/operator/test/sim/world"
)

// checkDelete holds the delete of a pod against the job as it is.
func (c *Checker) checkDelete(r *server.Request, pod *corev1.Pod, d *operator.Decision) {
	if p := r.Delete.Preconditions; p == nil || p.UID == nil {
		c.violate("6 deletes: the delete of %s names no UID", pod.Name)
	}
	if c.isLeftBehind(pod, d) {
		return
	}
	if ref := ledger.OwnerOf(pod); ref == nil || ref.UID != d.UID() {
		c.violate("7 foreign objects: %s, which is not the job's, is deleted", pod.Name)
		return
	}
	job := c.world.Job()
	if job == nil || job.UID != d.UID() || job.DeletionTimestamp != nil {
		return // the garbage collector wants it gone too
	}
	if grace := r.Delete.GracePeriodSeconds; grace == nil && ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, 30) == 0 {
		c.violate("3 fence: %s is deleted with a grace period of 0: it is gone before its node has ended it", pod.Name)
	}
	c.checkForce(r, pod, job)
	c.checkGrace(r, pod)
	c.checkReason(r, pod, d, job)
	c.checkKept(pod, d, job)
}

// isLeftBehind reports whether the pod is of a job of the same name that is gone, and on a node that cannot end it.
func (c *Checker) isLeftBehind(pod *corev1.Pod, d *operator.Decision) bool {
	ref := ledger.OwnerOf(pod)
	if ref == nil || ref.Kind != v1alpha1.Kind || d.From == nil || ref.Name != d.From.Name || ref.UID == d.UID() {
		return false
	}
	f, _ := c.fateOf(pod)
	return pod.DeletionTimestamp != nil && (f != nil && !f.lostFrom.IsZero() || c.seemsLost(pod.Spec.NodeName))
}

// waitsForWell reports whether the pod finds no node, and one of the nodes that it excludes is well again.
func (c *Checker) waitsForWell(pod *corev1.Pod) bool {
	excludes := pod.Annotations[v1alpha1.AnnotationExcludedNodes]
	return pod.Spec.NodeName == "" && excludes != "" && slices.ContainsFunc(strings.Split(excludes, ","), func(name string) bool { return !c.seemsLost(name) })
}

// checkReason: a pod is deleted for one of the allowed reasons.
func (c *Checker) checkReason(r *server.Request, pod *corev1.Pod, d *operator.Decision, job *v1alpha1.TrainingJob) {
	slot, life, _, _ := livesIn(job.Name, pod)
	past := life != lifeIn(job, memoryOf(job), slot) || !inRange(job, slot) || !inRange(d.From, slot) || isFromBefore(pod, job)
	switch {
	case is(job, v1alpha1.ConditionFinished):
		c.checkSideCars(pod, job, past)
		c.checkCleanUp(r, pod, d, past)
	case is(job, v1alpha1.ConditionSuspended) || is(d.From, v1alpha1.ConditionSuspended) || past:
	case isDone(pod) && (memoryOf(job)[slot.Role].Succeeded.Has(slot.Index) || memoryOf(d.From)[slot.Role].Succeeded.Has(slot.Index)):
		c.checkSideCars(pod, job, past)
	case c.hasNotRestarted(r, pod, job):
		c.of(d.UID()).moved++
	case c.waitsForWell(pod):
		c.of(d.UID()).moved++
	case c.waitsForGoingGroup(r, pod, d):
		c.of(d.UID()).moved++
	default:
		c.violate("6 deletes: %s, %s, is of the present life of an active job and is deleted", pod.Name, pod.Status.Phase)
	}
}

// isFromBefore reports whether the pod is of the time before a suspension in which the job's replicas kept their lives: a request that came late
// made it.
func isFromBefore(pod *corev1.Pod, job *v1alpha1.TrainingJob) bool {
	return ledger.LifeNumber(pod) < job.Status.Memory.ResumeNumber
}

// isDone reports whether the pod's main container has exited with 0.
func isDone(pod *corev1.Pod) bool {
	end := world.End(pod)
	return end != nil && end.ExitCode == 0
}

// checkSideCars: what runs beside a main container that has succeeded may end by itself in the finish grace, from then on or from the success of
// the job on.
func (c *Checker) checkSideCars(pod *corev1.Pod, job *v1alpha1.TrainingJob, past bool) {
	f, _ := c.fateOf(pod)
	if f == nil || past || is(job, v1alpha1.ConditionFailed) || world.HasEnded(pod) || !isDone(pod) || pod.DeletionTimestamp != nil {
		return
	}
	from := f.doneAt
	if is(job, v1alpha1.ConditionSucceeded) {
		from = state.Earliest(from, job.Status.CompletionTime.Time)
	}
	if passed := c.world.Clock.Since(from); passed < time.Duration(*job.Spec.RunPolicy.FinishGraceSeconds)*time.Second {
		c.violate("13 success is not lost: %s has succeeded %v ago, and its side-cars have no time to end", pod.Name, passed)
	}
}

// checkCleanUp: what has ended keeps its log, unless the policy says otherwise. What ended while the delete was on its way
// cannot be kept.
func (c *Checker) checkCleanUp(r *server.Request, pod *corev1.Pod, d *operator.Decision, past bool) {
	policy := d.From.Spec.RunPolicy.CleanPodPolicy
	if d.Late || past || policy == v1alpha1.CleanAll || !world.IsOver(pod) {
		return
	}
	if seen, _ := d.Process.Cache.Get(server.Pods, r.Key).(*corev1.Pod); seen == nil || world.IsOver(seen) {
		c.violate("6 deletes: %s has ended and the clean-up policy is %s", pod.Name, policy)
	}
}

// checkForce: by force only what is on a node that is lost, or was a moment ago, or has finished, or has had the time that the user
// gives to pods on nodes that are well.
func (c *Checker) checkForce(r *server.Request, pod *corev1.Pod, job *v1alpha1.TrainingJob) {
	if ptr.Deref(r.Delete.GracePeriodSeconds, 1) > 0 || world.IsOver(pod) || ptr.Deref(pod.DeletionGracePeriodSeconds, 1) == 0 {
		return // the last: the request has been looked at when it ended the grace period
	}
	if hasClaim(pod) {
		c.violate("6 deletes: %s is deleted by force and mounts a claim", pod.Name)
	}
	if after := job.Spec.Recovery.ForceAfterSeconds; after != nil && pod.DeletionTimestamp != nil &&
		!c.world.Clock.Now().Before(pod.DeletionTimestamp.Add(time.Duration(*after)*time.Second)) {
		return
	}
	f, _ := c.fateOf(pod)
	node, _ := c.world.Server.Get(server.Nodes, "", pod.Spec.NodeName).(*corev1.Node)
	if lostFrom(node, c.world.Clock.Now()).IsZero() && (f == nil || f.lostFrom.IsZero()) && !c.seemsLost(pod.Spec.NodeName) {
		c.violate("6 deletes: %s is deleted by force and its node is well", pod.Name)
	}
}

// checkPatch: the operator takes pods out of the Service, or tells them what their ranks are asked, and changes nothing else of them.
func (c *Checker) checkPatch(was, is *corev1.Pod, d *operator.Decision) {
	isOfGate := was.Annotations[v1alpha1.AnnotationStartGate] != is.Annotations[v1alpha1.AnnotationStartGate]
	switch {
	case !maps.Equal(was.Labels, is.Labels):
	case isOfGate:
		c.checkGate(was, is, d)
		return
	case !maps.Equal(was.Annotations, is.Annotations):
		c.checkAsk(was, is, d)
		return
	case was.Spec.ActiveDeadlineSeconds == nil && is.Spec.ActiveDeadlineSeconds != nil:
		c.checkEndedPod(was, is, d)
		return
	}
	want := maps.Clone(was.Labels)
	delete(want, v1alpha1.LabelJobName)
	f, _ := c.fateOf(is)
	switch ref := ledger.OwnerOf(is); {
	case ref == nil || ref.UID != d.UID():
		c.violate("7 foreign objects: %s, which is not the job's, is changed", is.Name)
	case !maps.Equal(want, is.Labels) || f == nil:
		c.violate("7 foreign objects: the labels of %s become %v", is.Name, is.Labels)
	case f.lostFrom.IsZero() && !c.seemsAway(f.node):
		c.violate("6 deletes: %s is taken out of the Service and its node was never in trouble", is.Name)
	}
}

func inRange(job *v1alpha1.TrainingJob, slot state.Slot) bool {
	return slot.Index < int(job.Spec.Replicas(slot.Role))
}

// checkDeleteJob: only a finished job is deleted, after its time to live.
func (c *Checker) checkDeleteJob(r *server.Request, job *v1alpha1.TrainingJob) {
	if p := r.Delete.Preconditions; p == nil || p.UID == nil {
		c.violate("6 deletes: the delete of the job names no UID")
	}
	ttl, done := job.Spec.RunPolicy.TTLSecondsAfterFinished, job.Status.CompletionTime
	if ttl == nil || done == nil || c.world.Clock.Now().Before(done.Add(time.Duration(*ttl)*time.Second)) {
		c.violate("6 deletes: the job is deleted before its time to live is over")
	}
}

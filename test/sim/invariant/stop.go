package invariant

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/ledger"
	"github.com/trainingjob/operator/test/sim/operator"
)

// What docs/recovery.md promises of ranks that are well: they are asked for a checkpoint before they are stopped, and are stopped when
// one of them has answered, or when their time is over.

// checkStop holds what the ranks are asked against what becomes of them.
func (c *Checker) checkStop(before, after *v1alpha1.TrainingJob, d *operator.Decision) {
	was, now := before.Status.CheckpointRequest, after.Status.CheckpointRequest
	switch {
	case was == nil && now != nil:
		c.checkRequest(before, now, d)
	case was != nil && now != nil && !equality.Semantic.DeepEqual(was, now):
		c.violate("21 asked: %+v becomes %+v", was, now)
	}
	if !isStopped(before, after) || d == nil || !d.Leads() || seconds(d.From) == 0 || !c.isWell(before, d) {
		return
	}
	switch {
	case was == nil:
		c.violate("21 asked: healthy ranks are stopped (%s) without a request", after.Status.Reason)
	case c.world.Saved(was.ID):
	case c.world.Clock.Now().Before(was.DeadlineTime.Time):
		c.violate("21 asked: healthy ranks are stopped (%s) before %v, and have not answered %s", after.Status.Reason, was.DeadlineTime, was.ID)
	}
}

// noteAsked counts what Events may tell of requests: that one is made, and one of two ends of it.
func (h *history) noteAsked(was, now *v1alpha1.CheckpointRequest) {
	switch {
	case was == nil && now != nil:
		h.happened[v1alpha1.EventCheckpointRequested]++
	case was != nil && now == nil:
		h.happened[v1alpha1.EventCheckpointSaved]++
		h.happened[v1alpha1.EventCheckpointMissed]++
	}
}

// seconds returns how long the ranks of a job have.
func seconds(job *v1alpha1.TrainingJob) int32 {
	if job.Spec.Progress == nil {
		return 0
	}
	return job.Spec.Progress.CheckpointGraceSeconds
}

// checkRequest: the ranks of a job that runs are asked, and have the time that the job gives them, at most.
func (c *Checker) checkRequest(before *v1alpha1.TrainingJob, now *v1alpha1.CheckpointRequest, d *operator.Decision) {
	most := time.Duration(seconds(d.From))*time.Second + time.Second
	if !is(before, v1alpha1.ConditionRunning) || most == time.Second || now.DeadlineTime.Sub(now.Time.Time) > most || now.Time.After(c.world.Clock.Now()) {
		c.violate("21 asked: the ranks of a job that is %s, and gives them %v, get %+v", before.Status.Phase, most, now)
	}
	c.checkCanHear(d)
}

// isStopped reports whether the step stops ranks although nothing has broken: it suspends the job, or restarts it as somebody asks.
func isStopped(before, after *v1alpha1.TrainingJob) bool {
	isSuspended := !is(before, v1alpha1.ConditionSuspended) && is(after, v1alpha1.ConditionSuspended)
	isRestarted := before.Status.Attempt != after.Status.Attempt && after.Status.Incidents[0].Cause == v1alpha1.CauseRequested
	return isSuspended || isRestarted
}

// isWell reports whether the decision saw a job that runs, with a pod of every replica that runs and that nobody has touched.
func (c *Checker) isWell(before *v1alpha1.TrainingJob, d *operator.Decision) bool {
	well, memory := 0, memoryOf(before)
	for _, o := range d.Process.Cache.List(server.Pods) {
		pod, _ := o.(*corev1.Pod)
		ref := ledger.OwnerOf(pod)
		if ref == nil || ref.UID != d.UID() {
			continue
		}
		slot, life, restarting, named := livesIn(before.Name, pod)
		if !named || !inRange(d.From, slot) || life != lifeIn(before, memory, slot) || restarting || pod.Status.Phase != corev1.PodRunning ||
			pod.DeletionTimestamp != nil || hasEnded(pod) || c.seemsAway(pod.Spec.NodeName) || isUnasked(pod, slot) {
			return false
		}
		well++
	}
	return is(before, v1alpha1.ConditionRunning) && d.From.Generation == before.Generation && well == total(&d.From.Spec)
}

// isUnasked reports whether the pod cannot be asked for a checkpoint, as it was made before its job gave it time. Evaluators and a Custom job's own roles are not waited for.
func isUnasked(pod *corev1.Pod, slot state.Slot) bool {
	return slot.Role != v1alpha1.Evaluator && slices.Contains(v1alpha1.Roles, slot.Role) && !wasGiven(pod, v1alpha1.EnvCheckpointRequestFile)
}

// hasEnded reports whether a container of the pod has.
func hasEnded(pod *corev1.Pod) bool {
	for _, c := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		if c.State.Terminated != nil {
			return true
		}
	}
	return false
}

// takeStopFileOff takes away in which every container finds what its rank is asked.
func (c *Checker) takeStopFileOff(pod *corev1.Pod, got *corev1.PodSpec, job *v1alpha1.TrainingJob) {
	if seconds(job) == 0 {
		return
	}
	mount := corev1.VolumeMount{Name: "trainingjob-stop", MountPath: "/etc/trainingjob", ReadOnly: true}
	c.takeVolumeOff(pod, got, mount.Name)
	got.Containers, got.InitContainers = c.takeMountOff(pod, got.Containers, mount), c.takeMountOff(pod, got.InitContainers, mount)
}

// checkAsk: the operator tells a pod of the job's what its status asks, and changes nothing else of it.
func (c *Checker) checkAsk(was, is *corev1.Pod, d *operator.Decision) {
	want, text := maps.Clone(is.Annotations), is.Annotations["trainingjob.dev/checkpoint-request"]
	delete(want, "trainingjob.dev/checkpoint-request")
	had := maps.Clone(was.Annotations)
	delete(had, "trainingjob.dev/checkpoint-request")
	id, _, _ := strings.Cut(text, " ")
	request := d.From.Status.CheckpointRequest
	switch ref := ledger.OwnerOf(is); {
	case ref == nil || ref.UID != d.UID():
		c.violate("7 foreign objects: %s, which is not the job's, is asked", is.Name)
	case !maps.Equal(want, had) || !equality.Semantic.DeepEqual(was.Spec, is.Spec):
		c.violate("7 foreign objects: more of %s is changed than what it is asked", is.Name)
	case id != "" && (request == nil || request.ID != id), id == "" && request != nil:
		c.violate("21 asked: %s has the request %q, and the status has %+v", is.Name, text, request)
	}
}

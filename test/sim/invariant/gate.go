package invariant

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/ledger"
	"github.com/trainingjob/operator/test/sim/operator"
	"github.com/trainingjob/operator/test/sim/world"
)

// What docs/recovery.md promises of pods that are kept after their process has ended.

// checkGate: the operator closes the gate of a pod of the job's, or opens it to begin the life that it was told, and changes nothing else of it.
func (c *Checker) checkGate(was, is *corev1.Pod, d *operator.Decision) {
	had, has := maps.Clone(was.Annotations), maps.Clone(is.Annotations)
	delete(had, v1alpha1.AnnotationStartGate)
	delete(has, v1alpha1.AnnotationStartGate)
	_, _, restarting, _ := livesIn(d.From.Name, was)
	isClosed := is.Annotations[v1alpha1.AnnotationStartGate] == "../closed"
	switch ref := ledger.OwnerOf(is); {
	case ref == nil || ref.UID != d.UID():
		c.violate("7 foreign objects: the gate of %s, which is not the job's, is closed", is.Name)
	case !maps.Equal(had, has) || !equality.Semantic.DeepEqual(was.Spec, is.Spec):
		c.violate("7 foreign objects: more of %s is changed than its gate", is.Name)
	case !isClosed && !restarting:
		c.violate("19 in place: the gate of %s is opened although its process has begun", is.Name)
	}
}

// checkEndedPod: the operator has a pod ended whose main container has ended, if that counts no more, and changes nothing else of it.
func (c *Checker) checkEndedPod(was, is *corev1.Pod, d *operator.Decision) {
	want := was.DeepCopy()
	want.Spec.ActiveDeadlineSeconds = ptr.To[int64](1)
	job := c.world.Job()
	ref := ledger.OwnerOf(is)
	switch {
	case ref == nil || ref.UID != d.UID():
		c.violate("7 foreign objects: %s, which is not the job's, is ended", is.Name)
	case !equality.Semantic.DeepEqual(want.Spec, is.Spec) || !maps.Equal(was.Annotations, is.Annotations) || !maps.Equal(was.Labels, is.Labels):
		c.violate("7 foreign objects: more of %s is changed than how long it may be active", is.Name)
	case !c.hasEndedInIt(was):
		c.violate("6 deletes: %s is ended while its process runs", is.Name)
	case job != nil && !rests(job) && !rests(d.From) && isPresent(job, was):
		c.violate("6 deletes: %s is of the present life of an active job and is ended", is.Name)
	}
}

// isPresent reports whether the pod is of a present life of the job, whose replica is not given up.
func isPresent(job *v1alpha1.TrainingJob, pod *corev1.Pod) bool {
	slot, life, _, _ := livesIn(job.Name, pod)
	m := memoryOf(job)
	return inRange(job, slot) && m[slot.Role] != nil && life == lifeIn(job, m, slot) && !m[slot.Role].GivenUp.Has(slot.Index)
}

// hasEndedInIt reports whether the process of the pod has ended, and the pod goes on. An old kubelet ends the pod soon.
func (c *Checker) hasEndedInIt(pod *corev1.Pod) bool {
	return world.WaitsAtGate(pod) || c.world.OldKubelets && world.HasGate(pod) && world.End(pod) != nil
}

// rests reports whether the job has finished or is suspended.
func rests(job *v1alpha1.TrainingJob) bool {
	return is(job, v1alpha1.ConditionFinished) || is(job, v1alpha1.ConditionSuspended)
}

// takeGateOff takes the gate off the main container of a pod that can be restarted in place.
func (c *Checker) takeGateOff(pod *corev1.Pod, got *corev1.PodSpec) {
	if !world.HasGate(pod) {
		return
	}
	const name = "trainingjob-start-gate"
	c.takeVolumeOff(pod, got, name)
	mount := corev1.VolumeMount{Name: name, MountPath: "/.trainingjob/start-gate", SubPathExpr: "$(TRAININGJOB_START_GATE)"}
	main := &c.takeMountOff(pod, got.Containers[:1], mount)[0]
	if pod.Annotations[v1alpha1.AnnotationInPlaceRestart] == "" || pod.Annotations[v1alpha1.AnnotationStartGate] != "open" || len(main.RestartPolicyRules) != 1 {
		c.violate("16 provenance: %s has a gate that does not open", pod.Name)
	}
	main.RestartPolicy, main.RestartPolicyRules = nil, nil
	got.Containers = append([]corev1.Container{*main}, got.Containers[1:]...)
}

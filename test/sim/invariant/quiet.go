package invariant

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/ledger"
	"github.com/trainingjob/operator/test/sim/world"
)

// statusAtMost is how large a status may be, in bytes of JSON.
const statusAtMost = 64 << 10

// Quiet checks what must hold when nothing happens any more.
func (c *Checker) Quiet() {
	job := c.world.Job()
	if job == nil {
		c.checkNothingLeft()
		return
	}
	text, err := json.Marshal(job.Status)
	if err != nil || len(text) > statusAtMost {
		c.violate("20 bounded: a status of %d bytes (%v)", len(text), err)
	}
	active := map[v1alpha1.Role]int32{}
	for _, pod := range c.world.Pods() {
		ref := ledger.OwnerOf(pod)
		if ref == nil || ref.UID != job.UID {
			continue
		}
		if slot, _, named := parsePodName(job.Name, pod.Name); named && !world.IsOver(pod) {
			active[slot.Role]++
			c.checkNotDone(job, pod)
		}
	}
	for role := range job.Spec.ReplicaSpecs {
		if said := job.Status.ReplicaStatuses[role].Active; job.Spec.ManagedBy == "" && said != active[role] {
			c.violate("11 one phase: the status has %d active pods of %s, %d are active", said, role, active[role])
		}
	}
	c.checkGroupsAtRest(job)
	if !is(job, v1alpha1.ConditionFinished) && !is(job, v1alpha1.ConditionSuspended) {
		c.checkAllCounted(job)
	}
}

// checkNotDone: a replica that is done holds no node for its side-cars, nor does a pod whose process has ended and begins no other one.
func (c *Checker) checkNotDone(job *v1alpha1.TrainingJob, pod *corev1.Pod) {
	if rests(job) && world.WaitsAtGate(pod) {
		c.violate("6 deletes: the process of %s has ended, and the pod holds its node", pod.Name)
	}
	if pod.DeletionTimestamp == nil && isDone(pod) && job.Spec.RunPolicy.CleanPodPolicy != v1alpha1.CleanNone {
		c.violate("13 success is not lost: %s is done, and its side-cars hold its node", pod.Name)
	}
}

// checkAllCounted checks invariant 8: what broke in a present life, for all to see, was counted by now.
func (c *Checker) checkAllCounted(job *v1alpha1.TrainingJob) {
	h, memory := c.of(job.UID), memoryOf(job)
	for _, pod := range c.world.Pods() {
		slot, life, _, named := livesIn(job.Name, pod)
		f := h.byPod[pod.UID]
		if !named || f == nil || memory[slot.Role] == nil || life != lifeIn(job, memory, slot) || !inRange(job, slot) {
			continue
		}
		if broke := f.exit != nil && *f.exit != 0; broke && !memory[slot.Role].GivenUp.Has(slot.Index) {
			c.violate("8 exactly once: %s exited with %d and no status counts it", pod.Name, *f.exit)
		}
	}
}

// checkNothingLeft checks invariant 18: nothing is left of a job that is gone.
func (c *Checker) checkNothingLeft() {
	for _, kind := range []server.Kind{server.Pods, server.Services, server.PodGroups, server.Secrets} {
		for _, o := range c.world.Server.List(kind) {
			if ref := ledger.OwnerOf(o); ref != nil && ref.Kind == v1alpha1.Kind {
				c.violate("18 no leak: %s %s is left", kind, o.GetName())
			}
		}
	}
}

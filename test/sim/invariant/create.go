package invariant

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/ledger"
	"github.com/trainingjob/operator/test/sim/operator"
	"github.com/trainingjob/operator/test/sim/world"
)

// checkCreate holds the create of a pod against the job.
func (c *Checker) checkCreate(r *server.Request, pod *corev1.Pod, d *operator.Decision) {
	h, sent := c.of(d.UID()), world.Sent(r.Object.(*corev1.Pod))
	slot, life, named := parsePodName(d.From.Name, pod.Name)
	if !named {
		c.violate("1 identity: %s is no name of a pod of %s", pod.Name, d.From.Name)
		return
	}
	is, _ := ledger.LifeOf(d.From.Name, pod.Name)
	c.violateAll(ledger.Identity(d.From, pod, is))
	job, strict := c.knownTo(d)
	if !strict {
		h.uncanny[pod.UID] = true
	} else {
		h.creates++
	}
	c.checkWanted(pod.Name, job, slot, life)
	c.checkFuture(pod.Name, d, slot, life)
	if strict {
		c.checkFence(pod)
		c.checkNumber(h, sent, slot)
		c.checkBound(h, job)
	}
	if strict || h.resumes == 0 { // who comes late may have read the job as it was before it was suspended and changed
		c.checkRendezvous(h, sent, d.From, slot, life)
		c.checkMeeting(h, sent, d.From, life)
	}
	stays := strict && c.world.Job().DeletionTimestamp.IsZero() // else the garbage collector takes the job's other children away meanwhile
	c.checkGang(h, pod, d, life, stays)
	c.checkProvenance(sent, d.From, slot)
	c.checkPlacement(sent, d)
	if stays { // who comes late may come when the job is gone, and its key with it
		c.checkKey(pod, d.From)
	}
}

// knownTo returns the job that a decision must be right about: with the status as it is, if its process leads and nobody
// else has written the status since; then strict is true. Else the job as the process had read it, as it cannot know more. The spec is always as
// read: what the user has just written is not known yet.
func (c *Checker) knownTo(d *operator.Decision) (job *v1alpha1.TrainingJob, strict bool) {
	now := c.world.Job()
	if now == nil || now.UID != d.UID() || !d.Leads() || c.of(d.UID()).rogue > versionOf(d.From) {
		return d.From, false
	}
	known := *d.From
	known.Status = now.Status
	return &known, true
}

func versionOf(o metav1.Object) int64 {
	version, _ := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	return version
}

// checkFuture: who sees a pod of a later life knows that the job it has read is old, whether it leads or not.
func (c *Checker) checkFuture(name string, d *operator.Decision, slot state.Slot, life state.Life) {
	if d.Late {
		return
	}
	for _, o := range d.Process.Cache.List(server.Pods) {
		theirs, later, _, named := livesIn(d.From.Name, o.(*corev1.Pod))
		if ref := ledger.OwnerOf(o); named && theirs == slot && life.Before(later) && ref != nil && ref.UID == d.UID() {
			c.violate("3 fence: %s is created by a process that sees %s", name, o.GetName())
		}
	}
}

// isChargedLate reports whether evidence that came late moved a charge from one budget to another, which may be used up: the restart is made already.
func isChargedLate(job *v1alpha1.TrainingJob) bool {
	return slices.ContainsFunc(job.Status.Incidents, func(i v1alpha1.Incident) bool { return i.Explained && i.Charged })
}

// checkWanted asks whether the job wants the pod, and now.
func (c *Checker) checkWanted(name string, job *v1alpha1.TrainingJob, slot state.Slot, life state.Life) {
	memory := memoryOf(job)
	m := memory[slot.Role]
	switch {
	case slot.Index >= int(job.Spec.Replicas(slot.Role)):
		c.violate("5 bounds: %s is created with %d replicas", name, job.Spec.Replicas(slot.Role))
	case is(job, v1alpha1.ConditionFinished):
		c.violate("10 a verdict is final: %s is created, the job is %s", name, job.Status.Phase)
	case job.DeletionTimestamp != nil || job.Spec.IsSuspended() || is(job, v1alpha1.ConditionSuspended):
		c.violate("4 no work without cause: %s is created, suspend %t, phase %s, deleted %v", name, job.Spec.IsSuspended(), job.Status.Phase, job.DeletionTimestamp)
	case slices.ContainsFunc(job.Status.Budgets, func(b v1alpha1.Budget) bool { return b.Used > b.Limit }) && !isChargedLate(job) && !c.of(job.UID).retuned:
		c.violate("4 no work without cause: %s is created, a budget is used up: %v", name, job.Status.Budgets)
	case m == nil || lifeIn(job, memory, slot) != life:
		c.violate("6 lives: %s is created, the present life is %v", name, lifeIn(job, memory, slot))
	case m.Succeeded.Has(slot.Index):
		c.violate("13 success is not lost: %s is created, the replica has succeeded", name)
	case m.GivenUp.Has(slot.Index):
		c.violate("4 no work without cause: %s is created, the replica was given up", name)
	case m.Started.Has(slot.Index):
		c.violate("8 exactly once: %s is created although this life has started once and no status counts its end", name)
	default:
		c.checkDue(name, job, time.Unix(int64(m.NextStarts[slot.Index]), 0))
	}
}

// checkDue asks whether the pod is created in good time: neither before its attempt may begin, nor before its own next start.
func (c *Checker) checkDue(name string, job *v1alpha1.TrainingJob, own time.Time) {
	next, now := job.Status.NextStartTime, c.world.Clock.Now()
	switch {
	case next != nil && now.Before(next.Time):
		c.violate("14 back-off: %s is created %v before the attempt may begin", name, next.Sub(now))
	case now.Before(own):
		c.violate("14 back-off: %s is created %v before its own next start", name, own.Sub(now))
	}
}

// checkFence asks whether somebody can still run whom the new pod must not meet.
func (c *Checker) checkFence(pod *corev1.Pod) {
	for _, other := range c.world.Pods() {
		ref := ledger.OwnerOf(other)
		if other.UID == pod.UID || ref == nil || ref.Kind != v1alpha1.Kind || ref.Name != c.world.Key.Name || world.IsOver(other) || c.of(ref.UID).uncanny[other.UID] {
			continue
		}
		if c.isFenced(other) {
			continue
		}
		if sentence := ledger.Meeting(pod, other); sentence != "" {
			c.violate("%s", sentence)
		}
	}
}

// isFenced reports whether a pod cannot be reached by its peers any more: it is out of the Service, and its node is lost,
// or seems lost or silent to the process.
func (c *Checker) isFenced(pod *corev1.Pod) bool {
	if _, reachable := pod.Labels[v1alpha1.LabelJobName]; reachable {
		return false
	}
	now := c.world.Clock.Now()
	node, _ := c.world.Server.Get(server.Nodes, "", pod.Spec.NodeName).(*corev1.Node)
	from := lostFrom(node, now)
	return !from.IsZero() && !now.Before(from) || c.seemsAway(pod.Spec.NodeName)
}

// checkBound: at most so many creations as there were reasons for.
func (c *Checker) checkBound(h *history, job *v1alpha1.TrainingJob) {
	if most := h.widest*(int(job.Status.Restarts)+1+h.resumes+h.scalings) + h.outside + h.moved; h.creates > most {
		c.violate("5 bounds: %d pods were created, with %d restarts, %d resumptions and %d deletions from outside at most %d can be",
			h.creates, job.Status.Restarts, h.resumes, h.outside, most)
	}
}

func is(job *v1alpha1.TrainingJob, condition string) bool {
	return meta.IsStatusConditionTrue(job.Status.Conditions, condition)
}

func memoryOf(job *v1alpha1.TrainingJob) state.Memory {
	memory, err := state.ReadMemory(job)
	if err != nil {
		panic(err)
	}
	return memory
}

func lifeIn(job *v1alpha1.TrainingJob, memory state.Memory, slot state.Slot) state.Life {
	life := state.Life{Attempt: int(job.Status.Attempt)}
	if m := memory[slot.Role]; m != nil {
		life.Replacement = m.Replacements[slot.Index]
	}
	return life
}

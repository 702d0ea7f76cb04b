package invariant

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/ledger"
	"github.com/trainingjob/operator/test/sim/operator"
	"github.com/trainingjob/operator/test/sim/world"
)

// What docs/recovery.md promises of restarts in place: one process of a slot at a time, each pod told once of an attempt, and the leader
// before the others.

// livesIn returns in which life of which slot the pod is, by its name and by what it was told; restarting is whether its old process is
// still there.
func livesIn(job string, pod *corev1.Pod) (slot state.Slot, life state.Life, restarting, named bool) {
	is, restarting, named := ledger.Present(job, pod)
	slot, _, _ = parsePodName(job, pod.Name)
	return slot, state.Life{Attempt: is.Attempt, Replacement: is.Replacement}, restarting, named
}

func lifeNamed(text string) state.Life {
	attempt, replacement, _ := strings.Cut(text, "-")
	return state.Life{Attempt: atoi(attempt), Replacement: atoi(replacement)}
}

// checkRestart holds the patch that restarts a pod in place against the job and the pod.
func (c *Checker) checkRestart(was, is *corev1.Pod, d *operator.Decision) {
	slot, left, restarting, named := livesIn(d.From.Name, was)
	t := ledger.ToldOf(is)
	life := lifeNamed(t.Life)
	job, strict := c.knownTo(d)
	if strict {
		c.checkWanted(is.Name+", in place,", job, slot, life)
		c.checkAlone(is, slot)
		c.checkLeaderFirst(job, is, slot, life)
	}
	switch {
	case !named || !c.of(d.UID()).inPlace[life.Attempt]:
		c.violate("7 foreign objects: %s is restarted in place without a request", is.Name)
	case restarting || !left.Before(life) || lifeNamed(t.From) != left:
		c.violate("19 in place: %s, in life %v, is assigned %v from %s (the previous restart is under way: %t)", is.Name, left, life, t.From, restarting)
	case isAvoidedAt(d.From, was.Spec.NodeName, d.At):
		c.violate("22 blame is true: %s is restarted in place on %s, which the job avoids", is.Name, was.Spec.NodeName)
	case !c.canRestart(was) || t.Process != ledger.Process(was):
		c.violate("19 in place: %s is %s, deleted %v, process %q, and is restarted from %q", is.Name, was.Status.Phase, was.DeletionTimestamp, ledger.Process(was), t.Process)
	case is.Labels[v1alpha1.LabelAttempt] != strconv.Itoa(life.Attempt) || is.Labels[v1alpha1.LabelLife] != t.Life:
		c.violate("1 identity: %s is assigned %s and has the labels %v", is.Name, t.Life, is.Labels)
	}
	c.checkMeeting(c.of(d.From.UID), is, d.From, life)
	c.checkChecked(was, job)
	if now, before := ledger.LifeNumber(is), ledger.LifeNumber(was); now <= before {
		c.violate("3 fence: %s is restarted in place with the life number %d, after %d", is.Name, now, before)
	}
	c.checkSameBytes(was, is)
	c.of(d.UID()).begins.notePod(life.Attempt, c.world.Clock.Now())
	c.rebirth(was, place{slot, life})
}

// noteMethod notes how the pods of the present attempt are to be restarted: as the spec wants when the attempt begins, and after a suspension.
// What it says later counts for the next attempt.
func (h *history) noteMethod(before, after *v1alpha1.TrainingJob) {
	attempt := int(after.Status.Attempt)
	if _, began := h.inPlace[attempt]; !began || is(before, v1alpha1.ConditionSuspended) || is(after, v1alpha1.ConditionSuspended) {
		h.inPlace[attempt] = wantsInPlace(&after.Spec)
		delete(h.ports, attempt)
	}
}

// wantsInPlace reports whether docs/recovery.md says that the job's ranks are restarted in place: as it wants, and else if its framework
// meets at a port of each attempt and its pods end within recovery.terminationGraceSeconds.
func wantsInPlace(spec *v1alpha1.TrainingJobSpec) bool {
	if spec.Recovery.RestartMethod != "" {
		return spec.Recovery.RestartMethod == "InPlace"
	}
	meets := movesPort(spec) && spec.Elastic == nil
	for _, replicas := range spec.ReplicaSpecs {
		grace := ptr.Deref(replicas.Template.Spec.TerminationGracePeriodSeconds, 30)
		meets = meets && grace <= int64(ptr.Deref(spec.Recovery.TerminationGraceSeconds, 5))
	}
	return meets
}

// checkSameBytes: the container gets another name of the image that it runs, and nothing else of the pod changes.
func (c *Checker) checkSameBytes(was, is *corev1.Pod) {
	want, got := was.DeepCopy(), is.Spec.Containers[0].Image
	want.Spec.Containers[0].Image = got
	want.Labels = maps.Clone(is.Labels)
	_, digest, _ := strings.Cut(was.Status.ContainerStatuses[0].ImageID, "@")
	repository, _, _ := strings.Cut(strings.TrimPrefix(got, "docker.io/library/"), ":")
	original, _, _ := strings.Cut(strings.TrimPrefix(was.Spec.Containers[0].Image, "docker.io/library/"), ":")
	if !strings.HasSuffix(got, "@"+digest) || digest == "" || repository != original || got == was.Spec.Containers[0].Image {
		c.violate("19 in place: %s runs %s and gets %s", is.Name, was.Status.ContainerStatuses[0].ImageID, got)
	}
	for name, value := range is.Labels {
		if old, had := was.Labels[name]; !had || old != value && name != v1alpha1.LabelAttempt && name != v1alpha1.LabelLife {
			c.violate("7 foreign objects: the label %s of %s becomes %s", name, is.Name, value)
		}
	}
	if !equality.Semantic.DeepEqual(want.Spec, is.Spec) {
		c.violate("19 in place: more than the image of %s is changed", is.Name)
	}
}

// canRestart reports whether the pod runs, or its process has ended by itself behind a closed gate.
func (c *Checker) canRestart(pod *corev1.Pod) bool {
	isKept := c.hasEndedInIt(pod) && pod.Annotations[v1alpha1.AnnotationStartGate] == "../closed"
	isWatched := ptr.Deref(pod.Spec.ShareProcessNamespace, false) // what watches the process does not watch the next one
	return pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil && (world.End(pod) == nil || isKept) && !isWatched
}

// checkAlone: no other pod of the slot can run.
func (c *Checker) checkAlone(pod *corev1.Pod, slot state.Slot) {
	ref := ledger.OwnerOf(pod)
	for _, other := range c.world.Pods() {
		theirs, _, _, named := livesIn(ref.Name, other)
		owner := ledger.OwnerOf(other)
		if other.UID != pod.UID && owner != nil && owner.UID == ref.UID && named && theirs == slot && !world.IsOver(other) && !c.isFenced(other) && !c.of(ref.UID).uncanny[other.UID] {
			c.violate("2 uniqueness: %s is restarted in place while %s can run", pod.Name, other.Name)
		}
	}
}

// checkLeaderFirst: where all attempts meet at one port, nobody but the leader is told while a process of the leader's of an earlier attempt can
// run.
func (c *Checker) checkLeaderFirst(job *v1alpha1.TrainingJob, pod *corev1.Pod, slot state.Slot, life state.Life) {
	if slot == leader(&job.Spec) || movesPort(&job.Spec) {
		return
	}
	for _, other := range c.world.Pods() {
		theirs, lives, restarting, named := livesIn(job.Name, other)
		owner := ledger.OwnerOf(other)
		isOld := named && owner != nil && owner.UID == job.UID && theirs == leader(&job.Spec) && (restarting || lives.Attempt < life.Attempt)
		if isOld && !world.IsOver(other) && !c.isFenced(other) && !c.of(job.UID).uncanny[other.UID] {
			c.violate("3 fence: %s is restarted in place while the leader's %s of an earlier attempt can run", pod.Name, other.Name)
		}
	}
}

// hasNotRestarted reports whether a pod should restart in place and has not: within its grace period and 15 s, before its node was lost, or before it was
// taken out of the Service, to which no pod returns.
func (c *Checker) hasNotRestarted(r *server.Request, pod *corev1.Pod, job *v1alpha1.TrainingJob) bool {
	_, _, restarting, _ := livesIn(job.Name, pod)
	due := toldAt(pod).Add(time.Duration(ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, 30))*time.Second + 15*time.Second)
	isLate := !c.world.Clock.Now().Before(due) && r.Delete.Preconditions.ResourceVersion != nil
	_, isReachable := pod.Labels[v1alpha1.LabelJobName]
	return restarting && (isLate || c.seemsAway(pod.Spec.NodeName) || !isReachable)
}

// toldAt returns when the pod was told.
func toldAt(pod *corev1.Pod) time.Time {
	var told struct{ Time time.Time }
	_ = json.Unmarshal([]byte(pod.Annotations[v1alpha1.AnnotationInPlaceRestart]), &told) // of what is no JSON, never
	return told.Time
}

// rebirth begins the next life of a pod, of which nothing has become yet.
func (c *Checker) rebirth(pod *corev1.Pod, next place) {
	was, h := c.fateOf(pod)
	if was == nil {
		return
	}
	f := &fate{node: was.node, lostFrom: was.lostFrom, uid: was.uid, former: was}
	h.byPod[pod.UID] = f
	h.fates[next] = append(h.fates[next], f)
}

// placeOf returns which life of its pod the failure says that it ended: the one that the pod was created for, or told. named is false for one that the
// pod of that name cannot have had.
func placeOf(job string, f *v1alpha1.Failure) (p place, named bool) {
	slot, first, named := parsePodName(job, f.Pod)
	life := state.Life{Attempt: int(f.Attempt), Replacement: int(f.Replacement)}
	return place{slot, life}, named && !life.Before(first)
}

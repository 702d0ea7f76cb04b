package invariant

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
	"github.com/trainingjob/operator/test/ledger"
	"github.com/trainingjob/operator/test/sim/operator"
	"github.com/trainingjob/operator/test/sim/server"
)

// What docs/recovery.md promises of warm spares: one that waits becomes one replica, once, and which was in the status before.

// isPromotion reports whether the patch has a warm spare of the job become a replica.
func (c *Checker) isPromotion(was, is *corev1.Pod, d *operator.Decision) bool {
	if is == nil {
		return false
	}
	_, isSpare := parseSpareName(d.From.Name, is.Name)
	return isSpare && ledger.ToldOf(was).Slot == "" && ledger.ToldOf(is).Slot != ""
}

// checkPromotion holds the patch against the job and the pod, as checkCreate does the create of a replica's pod.
func (c *Checker) checkPromotion(was, is *corev1.Pod, d *operator.Decision) {
	h := c.of(d.UID())
	slot, life, named := placeIn(d.From.Name, is)
	if !named {
		c.violate("1 identity: %s is told %v", is.Name, ledger.ToldOf(is))
		return
	}
	job, strict := c.knownTo(d)
	if strict {
		h.creates++
		c.checkFence(is)
		c.checkBound(h, job)
	} else {
		h.uncanny[is.UID] = true
	}
	c.checkWanted(is.Name+", a spare,", job, slot, life)
	c.checkFuture(is.Name, d, slot, life)
	whole, _ := ledger.PlaceOf(d.From.Name, is)
	c.violateAll(ledger.Identity(d.From, is, whole))
	ref := metav1.GetControllerOfNoCopy(was)
	spare, _ := parseSpareName(d.From.Name, is.Name)
	switch {
	case ref == nil || ref.UID != d.UID():
		c.violate("7 foreign objects: %s, which is not the job's, becomes %v", is.Name, slot)
	case was.Status.Phase != corev1.PodPending || was.DeletionTimestamp != nil || !slices.ContainsFunc(was.Status.InitContainerStatuses, awaits):
		c.violate("23 warm: %s is %s, deleted %v, and becomes %v", is.Name, was.Status.Phase, was.DeletionTimestamp, slot)
	case spare.Role != slot.Role || slot == leader(&job.Spec) || ledger.AllNamed(job):
		c.violate("23 warm: %s becomes %v, which others find by its name", is.Name, slot)
	case !strings.Contains(","+job.Status.Memory.Roles[slot.Role].Promoted+",", ","+strconv.Itoa(slot.Index)+":"+is.Name+","):
		c.violate("23 warm: %s becomes %v, and the status says %q", is.Name, slot, job.Status.Memory.Roles[slot.Role].Promoted)
	case !equality.Semantic.DeepEqual(was.Spec, is.Spec) || is.Labels[v1alpha1.LabelSpare] != "":
		c.violate("23 warm: %s stays a spare, or its spec is changed", is.Name)
	}
	c.checkValues(is)
	h.promoted[is.Name] = place{slot, life}
}

// checkValues: the variables that the pod reads from its annotations are there, and are those of its rank.
func (c *Checker) checkValues(pod *corev1.Pod) {
	env := ledger.Env(pod)
	for _, v := range pod.Spec.Containers[0].Env {
		if v.ValueFrom == nil || v.ValueFrom.FieldRef == nil {
			continue
		}
		key, isAnnotation := strings.CutPrefix(v.ValueFrom.FieldRef.FieldPath, "metadata.annotations['")
		if _, has := pod.Annotations[strings.TrimSuffix(key, "']")]; isAnnotation && !has {
			c.violate("23 warm: %s is told no %s", pod.Name, v.Name)
		}
	}
	for _, name := range []string{v1alpha1.EnvRank, "RANK", "JAX_PROCESS_ID"} {
		if value, set := env[name]; set && value != pod.Labels[v1alpha1.LabelRank] {
			c.violate("23 warm: %s has %s=%s and the rank %s", pod.Name, name, value, pod.Labels[v1alpha1.LabelRank])
		}
	}
}

// isWithdrawn reports whether the life was to begin in a warm spare, nobody has seen it begin, and the spare is gone or cannot become it.
func (c *Checker) isWithdrawn(m *state.RoleMemory, job *v1alpha1.TrainingJob, index int) bool {
	name := m.Promoted[index]
	if name == "" || m.Started.Has(index) {
		return false
	}
	pod, _ := c.world.Server.Get(server.Pods, job.Namespace, name).(*corev1.Pod)
	return pod == nil || pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodPending || !slices.ContainsFunc(pod.Status.InitContainerStatuses, awaits)
}

// awaits reports whether it is the container of a warm spare that waits, and does.
func awaits(s corev1.ContainerStatus) bool {
	return s.Name == v1alpha1.AwaitContainer && s.State.Running != nil
}

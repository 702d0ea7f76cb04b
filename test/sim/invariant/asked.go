package invariant

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/scheduler"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/ledger"
	"github.com/trainingjob/operator/test/sim/operator"
	"github.com/trainingjob/operator/test/sim/world"
)

// What a request may not leave out: the other half of checks that ask only whether a request may be made.

// presentPods calls visit with each pod of a present life that the decision saw, and its slot.
func presentPods(d *operator.Decision, visit func(pod *corev1.Pod, slot state.Slot)) {
	memory := memoryOf(d.From)
	for _, o := range d.Process.Cache.List(server.Pods) {
		pod := o.(*corev1.Pod)
		slot, life, _, named := livesIn(d.From.Name, pod)
		if ref := ledger.OwnerOf(pod); named && ref != nil && ref.UID == d.UID() && inRange(d.From, slot) && life == lifeIn(d.From, memory, slot) {
			visit(pod, slot)
		}
	}
}

// checkExclusions: a new pod excludes each node that its annotation names.
func (c *Checker) checkExclusions(pod *corev1.Pod) {
	for _, node := range strings.Split(pod.Annotations[v1alpha1.AnnotationExcludedNodes], ",") {
		if node != "" && !scheduler.Excludes(pod, node) {
			c.violate("22 blame is true: %s is created, names %s as lost, and does not exclude it", pod.Name, node)
		}
	}
}

// holds reports whether a pod of the job that has not ended is on the node, as far as the decision saw.
func holds(node string, d *operator.Decision) bool {
	return slices.ContainsFunc(d.Process.Cache.List(server.Pods), func(o client.Object) bool {
		ref := ledger.OwnerOf(o)
		return ref != nil && ref.UID == d.UID() && o.(*corev1.Pod).Spec.NodeName == node && !world.IsOver(o.(*corev1.Pod))
	})
}

// checkGrace: no pod has longer to end than its own template says.
func (c *Checker) checkGrace(r *server.Request, pod *corev1.Pod) {
	own := ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, 30)
	if grace := r.Delete.GracePeriodSeconds; grace != nil && *grace > max(own, 1) {
		c.violate("6 deletes: %s is deleted with %d s to end, and its template has %d", pod.Name, *grace, own)
	}
}

// hasClaim reports whether the pod mounts a claim: it is never deleted by force, as the volume may be writable on its node only.
func hasClaim(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil })
}

// endsBeside is within which time of the failure the ends of other ranks keep their logs.
const endsBeside = 2 * time.Second

// checkKept: the pods of ranks that ended by themselves within two seconds of the last failure keep their logs until the next one or the
// clean-up.
func (c *Checker) checkKept(pod *corev1.Pod, d *operator.Decision, job *v1alpha1.TrainingJob) {
	f, seen := job.Status.LastFailure, d.Process.Cache.Get(server.Pods, client.ObjectKeyFromObject(pod))
	truly, end := c.of(d.UID()).byPod[pod.UID], world.End(pod)
	if f == nil || c.mayDrop(d) || seen == nil || !world.IsOver(seen.(*corev1.Pod)) || truly == nil || truly.exit == nil || truly.touched || !isBeside(pod, f, d.From) {
		return
	}
	if end != nil && end.ExitCode != 0 && end.FinishedAt.Sub(f.Time.Time).Abs() <= endsBeside && pod.DeletionTimestamp == nil {
		c.violate("6 deletes: %s ended with %d at %v, beside %s at %v, and is deleted with its log", pod.Name, end.ExitCode, end.FinishedAt.UTC(), f.Pod, f.Time.UTC())
	}
}

// mayDrop reports whether nothing promises the log: the decision is not the leader's, the job is over, or a quota counts the pods.
func (c *Checker) mayDrop(d *operator.Decision) bool {
	return d.Late || !d.Leads() || is(d.From, v1alpha1.ConditionFinished) || c.world.Clock.Now().Before(c.world.Crowded)
}

// isBeside reports whether the pod is of a rank in the attempt in which another one, or itself, failed by an exit that no rule makes a loss.
func isBeside(pod *corev1.Pod, f *v1alpha1.Failure, job *v1alpha1.TrainingJob) bool {
	isRank := func(role v1alpha1.Role) bool { return role.IsLeader() || role == v1alpha1.Worker }
	slot, life, restarting, _ := livesIn(job.Name, pod)
	isExit := f.Reason == "Error" && f.Cause != v1alpha1.CauseInfrastructure && f.Cause != v1alpha1.CausePreempted && f.Container == ""
	isFormer := slot == state.Slot{Role: f.Role, Index: int(f.Index)} && pod.Name != f.Pod // the rank itself, a life earlier
	return isExit && isRank(f.Role) && isRank(slot.Role) && !isFormer && !restarting && life.Attempt == int(f.Attempt) && inRange(job, slot)
}

// checkChecked: after an incident that blames a node, pods with checks are not restarted in place: every node is checked again.
func (c *Checker) checkChecked(pod *corev1.Pod, job *v1alpha1.TrainingJob) {
	hasCheck := slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
		return strings.HasPrefix(c.Name, "preflight-") && c.RestartPolicy == nil
	})
	latest := slices.IndexFunc(job.Status.Incidents, func(i v1alpha1.Incident) bool { return i.Scope == v1alpha1.ScopeJob })
	if hasCheck && latest >= 0 && isNodeFault(&job.Status.Incidents[latest]) {
		c.violate("19 in place: %s has a preflight check, %s is to blame, and it is restarted in place", pod.Name, job.Status.Incidents[latest].Node)
	}
}

// checkCanHear: every rank that is asked for a checkpoint can read the request.
func (c *Checker) checkCanHear(d *operator.Decision) {
	presentPods(d, func(pod *corev1.Pod, slot state.Slot) {
		if pod.Status.Phase == corev1.PodRunning && isUnasked(pod, slot) {
			c.violate("21 asked: %s runs without %s, and the job waits for its checkpoint", pod.Name, v1alpha1.EnvCheckpointRequestFile)
		}
	})
}

// checkAfterGang: a pod that joins no group is created when all pods of the gang have nodes.
func (c *Checker) checkAfterGang(name string, d *operator.Decision) {
	presentPods(d, func(pod *corev1.Pod, slot state.Slot) {
		if isOfGang(&d.From.Spec, slot.Role) && pod.Spec.NodeName == "" && !world.IsOver(pod) && pod.DeletionTimestamp == nil {
			c.violate("17 gang: %s is created, and the gang's %s has no node yet", name, pod.Name)
		}
	})
}

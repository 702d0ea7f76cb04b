package ledger

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// pod enters a version of a pod that a job controls or controlled.
func (l *Ledger) pod(pod *corev1.Pod, created bool) {
	ref := OwnerOf(pod)
	if ref != nil && ref.Kind == v1alpha1.Kind {
		if a, known := l.jobs[ref.UID]; known {
			is, named := LifeOf(ref.Name, pod.Name)
			l.must(named, "1 identity: %s is no name of a pod of %s", pod.Name, ref.Name)
			if named && created {
				l.birth(a, pod, is)
			}
			a.began[pod.Name] = a.began[pod.Name] || hasBegun(pod)
			if named {
				l.number(a, pod, is.Slot(), created)
			}
			lives, restarting, _ := Present(ref.Name, pod)
			l.must(lives.Attempt <= int(a.now.Status.Attempt), "8 exactly once: %s got attempt %d in attempt %d", pod.Name, lives.Attempt, a.now.Status.Attempt)
			if pod.Status.Phase == corev1.PodSucceeded && pod.DeletionTimestamp == nil && !restarting {
				a.succeeded[is.Slot()] = lives.Attempt
			}
		} else {
			l.must(false, "1 identity: %s belongs to a job that never was", pod.Name)
		}
	}
	l.pods[pod.UID] = pod
}

// hasBegun reports whether the pod has used up its life. One that was deleted before any of its containers began has not,
// although a kubelet makes it Failed.
func hasBegun(pod *corev1.Pod) bool {
	began := func(c corev1.ContainerStatus) bool {
		return c.State.Running != nil || c.State.Terminated != nil && !c.State.Terminated.StartedAt.IsZero()
	}
	if pod.DeletionTimestamp != nil && pod.Status.Phase == corev1.PodFailed {
		return slices.ContainsFunc(pod.Status.ContainerStatuses, began)
	}
	return pod.Status.Phase != corev1.PodPending
}

// birth says what must hold when a pod is created.
func (l *Ledger) birth(a *account, pod *corev1.Pod, is Life) {
	status := &a.now.Status
	role := roleOf(is.Role)
	l.Broken = append(l.Broken, Identity(a.now, pod, is)...)
	l.fence(pod)
	l.agreement(a, pod, is)
	l.cause(status, pod)
	l.must(int32(is.Index) < a.mostReplicas[role], "5 bounds: %s, but %s had at most %d replicas", pod.Name, role, a.mostReplicas[role])
	l.must(is.Attempt <= int(status.Attempt), "8 exactly once: %s was created in attempt %d", pod.Name, status.Attempt)
	l.must(a.suspended || !a.began[pod.Name], "5 bounds: life %s began twice", pod.Name)
	if next := status.NextStartTime; next != nil {
		l.must(!pod.CreationTimestamp.Before(next), "14 back-off: %s was created at %s, before nextStartTime %s", pod.Name, pod.CreationTimestamp, next)
	}
	if next := numberOf(status.Memory.Roles[role].NextStarts, is.Index); next != 0 {
		l.must(pod.CreationTimestamp.Unix() >= int64(next), "14 back-off: %s was created at %s, before its own next start, %d", pod.Name, pod.CreationTimestamp, next)
	}
	if attempt, done := a.succeeded[is.Slot()]; done && a.now.Spec.ReplicaSpecs[role].RestartPolicy != v1alpha1.RestartAlways {
		l.must(attempt < is.Attempt && isMember(&a.now.Spec, role), "13 success is not lost: %s was created after %s had succeeded", pod.Name, is.Slot())
	}
	a.creations++
}

// cause says that nothing is created for a job that has ended or rests.
func (l *Ledger) cause(status *v1alpha1.TrainingJobStatus, pod *corev1.Pod) {
	l.must(!meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionFinished), "4 no work without cause: %s was created after the end of the job", pod.Name)
	l.must(!meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionSuspended), "4 no work without cause: %s was created while the job was suspended", pod.Name)
}

// fence says that no pod of an earlier life, of an earlier attempt or of an earlier job of the same name can still run, unless
// it was taken out of the Service, as one on a lost node is.
func (l *Ledger) fence(pod *corev1.Pod) {
	ref := OwnerOf(pod)
	for _, other := range l.pods {
		owner := OwnerOf(other)
		if owner == nil || owner.Kind != ref.Kind || owner.Name != ref.Name || !CanAct(other) {
			continue
		}
		if sentence := Meeting(pod, other); sentence != "" {
			l.must(false, "%s", sentence)
		}
	}
}

// LifeNumber returns what TRAININGJOB_LIFE is in the main container's present process of the pod; -1 if it is no number.
func LifeNumber(pod *corev1.Pod) int64 {
	for _, v := range pod.Spec.Containers[0].Env {
		text := v.Value
		switch {
		case v.Name != "TRAININGJOB_LIFE":
			continue
		case v.ValueFrom != nil && v.ValueFrom.FieldRef != nil:
			key, isAnnotation := strings.CutPrefix(v.ValueFrom.FieldRef.FieldPath, "metadata.annotations['")
			if text = pod.Annotations[strings.TrimSuffix(key, "']")]; !isAnnotation {
				return -1
			}
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
			return n
		}
	}
	return -1
}

// Shown returns the number that the main container's present process sees; ok is false if the pod was told another one that its process has
// not begun with.
func Shown(pod *corev1.Pod) (number int64, ok bool) {
	told := ToldOf(pod).Process
	return LifeNumber(pod), told == "" || Process(pod) != told && Process(pod) != ""
}

// number says that no two processes of a slot have the same fencing token, and that the later one has the larger. A pod without a node has no
// process.
func (l *Ledger) number(a *account, pod *corev1.Pod, slot string, created bool) {
	number, isShown := Shown(pod)
	known := a.numbers[slot]
	for uid, former := range known {
		isLater := uid != pod.UID && created
		l.must(!isLater || former < number, "3 fence: %s has the life number %d, and an earlier process of %s had %d", pod.Name, number, slot, former)
		l.must(uid != pod.UID || !isShown || former <= number, "3 fence: the life number of %s falls from %d to %d", pod.Name, former, number)
	}
	if known == nil {
		a.numbers[slot] = map[types.UID]int64{}
	}
	if pod.Spec.NodeName != "" && isShown {
		a.numbers[slot][pod.UID] = number
	}
}

// agreed are the variables that all ranks of an attempt must agree on.
var agreed = []string{"WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "PET_NNODES", "PET_RDZV_ENDPOINT", "JAX_NUM_PROCESSES",
	"JAX_COORDINATOR_ADDRESS", v1alpha1.EnvAttempt, v1alpha1.EnvLeaderAddress}

// agreement says that the ranks of an attempt are unique and that all its pods see the same cluster.
func (l *Ledger) agreement(a *account, pod *corev1.Pod, is Life) {
	key := fmt.Sprintf("attempt %d rank %s", is.Attempt, pod.Labels[v1alpha1.LabelRank])
	if whose, taken := a.ranks[key]; taken {
		l.must(whose == is.Slot(), "15 rendezvous: %s belongs to %s and to %s", key, whose, is.Slot())
	}
	a.ranks[key] = is.Slot()
	if a.suspended {
		return // replicas may have changed while the job was suspended
	}
	values := Env(pod)
	for _, own := range a.now.Spec.ReplicaSpecs[roleOf(is.Role)].Template.Spec.Containers[0].Env {
		delete(values, own.Name) // the user's own wins
	}
	l.must(values[v1alpha1.EnvRank] == pod.Labels[v1alpha1.LabelRank], "15 rendezvous: %s has rank %s in its label and %s in its environment",
		pod.Name, pod.Labels[v1alpha1.LabelRank], values[v1alpha1.EnvRank])
	if a.now.Spec.Elastic != nil {
		delete(values, "WORLD_SIZE") // the size when the pod was made: torchrun counts anew
	}
	if text := values["TF_CONFIG"]; text != "" && a.now.Spec.Elastic == nil {
		var config struct{ Cluster json.RawMessage }
		l.must(json.Unmarshal([]byte(text), &config) == nil, "15 rendezvous: TF_CONFIG of %s is no JSON: %s", pod.Name, text)
		values["the cluster of TF_CONFIG"] = string(config.Cluster)
	}
	for _, name := range append(agreed, "the cluster of TF_CONFIG") {
		value, set := values[name]
		if !set {
			continue
		}
		key := fmt.Sprintf("%s of attempt %d", name, is.Attempt)
		former, known := a.rendezvous[key]
		l.must(!known || former == value, "15 rendezvous: %s is %s for some pods and %s for %s", key, former, value, pod.Name)
		a.rendezvous[key] = value
	}
}

func roleOf(lower string) v1alpha1.Role {
	for _, role := range v1alpha1.Roles {
		if string(role[0]|0x20)+string(role[1:]) == lower || (role == v1alpha1.PS && lower == "ps") {
			return role
		}
	}
	return v1alpha1.Role(lower)
}

// isMember reports whether a whole-job restart runs succeeded replicas of the role again, as the others cannot meet without them: leader
// and workers of a collective, which a job is by its framework, or as the scope of all of them is Job.
func isMember(spec *v1alpha1.TrainingJobSpec, role v1alpha1.Role) bool {
	_, hasPS := spec.ReplicaSpecs[v1alpha1.PS]
	byFramework, byScope := spec.Framework != v1alpha1.Custom && !hasPS, spec.Replicas(v1alpha1.Worker) > 0
	for other, replicas := range spec.ReplicaSpecs {
		if isRank(other) && replicas.RestartScope != v1alpha1.ScopeJob && (other != v1alpha1.Launcher || replicas.RestartScope != "") {
			byScope = false
		}
	}
	return isRank(role) && (byFramework || byScope)
}

func isRank(role v1alpha1.Role) bool { return role.IsLeader() || role == v1alpha1.Worker }

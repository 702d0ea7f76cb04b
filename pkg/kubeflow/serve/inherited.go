package serve

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// quiet is how long nothing of a job must change until the operator acts on a replica without a pod that runs: a controller that still serves the
// job reacts sooner.
const quiet = 30 * time.Second

// fate is what becomes of inherited pods.
type fate int

const (
	goOn    fate = iota // they run, or another controller may still act on them
	succeed             // the job has succeeded
	fail                // the job has failed
	replace             // they go, and a TrainingJob makes new ones
)

// inheritance is a job whose pods no TrainingJob owns: Kubeflow's operator made them, or a TrainingJob that is gone. The job ends as it began:
// these pods run on, and their end is the job's by the rules of Kubeflow's operator. If one of them fails, a TrainingJob starts all again.
type inheritance struct {
	job    *Job
	served *Served
	// newest has the newest pod of each slot that was not deleted. An older one is of an earlier life.
	newest map[state.Slot]*corev1.Pod
	now    time.Time
}

func (j *Job) inherit(served *Served, pods []corev1.Pod, now time.Time) *inheritance {
	i := &inheritance{job: j, served: served, newest: map[state.Slot]*corev1.Pod{}, now: now}
	for n := range pods {
		if !pods[n].DeletionTimestamp.IsZero() { // its end shows nothing
			continue
		}
		slot, found := i.slotOf(&pods[n])
		if known := i.newest[slot]; found && (known == nil || known.CreationTimestamp.Before(&pods[n].CreationTimestamp)) {
			i.newest[slot] = &pods[n]
		}
	}
	return i
}

// slotOf returns the slot of a pod by the labels of Kubeflow's operator, which call a role as the Kubeflow job or as the TrainingJob does.
func (i *inheritance) slotOf(pod *corev1.Pod) (state.Slot, bool) {
	index, err := strconv.Atoi(pod.Labels[v1alpha1.KubeflowLabelReplicaIndex])
	if err != nil {
		return state.Slot{}, false
	}
	label := pod.Labels[v1alpha1.KubeflowLabelReplicaType]
	for role, source := range i.served.Roles {
		if strings.EqualFold(label, source) || strings.EqualFold(label, string(role)) {
			return state.Slot{Role: role, Index: index}, true
		}
	}
	return state.Slot{}, false
}

// fate returns what becomes of the pods, with a sentence about the cause.
func (i *inheritance) fate() (fate, string) {
	spec := &i.served.Child.Spec
	if i.job.IsSuspended() {
		return replace, ""
	}
	if i.hasSucceeded() {
		return succeed, ""
	}
	broken := ""
	for _, slot := range slotsOf(spec) {
		switch pod := i.newest[slot]; {
		case pod == nil && i.isElastic(slot.Role):
		case pod == nil:
			broken = fmt.Sprintf("%s has no pod.", slot)
		case pod.Status.Phase == corev1.PodFailed && isFinal(spec.ReplicaSpecs[slot.Role].RestartPolicy, pod):
			return fail, fmt.Sprintf("Pod %s failed.", pod.Name)
		case pod.Status.Phase == corev1.PodFailed:
			broken = fmt.Sprintf("Pod %s failed.", pod.Name)
		}
	}
	start, deadline := i.job.Status.StartTime, spec.RunPolicy.ActiveDeadlineSeconds
	if start != nil && deadline != nil && i.now.After(start.Add(time.Duration(*deadline)*time.Second)) {
		return fail, "It was active longer than its deadline."
	}
	if broken != "" && i.now.Sub(i.lastChange()) >= quiet {
		return replace, broken
	}
	return goOn, ""
}

// isElastic reports whether the training can go on without some replicas of the role.
func (i *inheritance) isElastic(role v1alpha1.Role) bool {
	elastic, workers := i.served.Child.Spec.Elastic, 0
	for slot := range i.newest {
		if slot.Role == role {
			workers++
		}
	}
	return elastic != nil && role == v1alpha1.Worker && workers >= int(elastic.MinReplicas)
}

// hasSucceeded reports whether the pods whose success is the job's have succeeded.
func (i *inheritance) hasSucceeded() bool {
	spec := &i.served.Child.Spec
	done, open := false, false
	for _, slot := range slotsOf(spec) {
		if !state.IsAwaited(spec, slot) {
			continue
		}
		if pod := i.newest[slot]; pod != nil && pod.Status.Phase == corev1.PodSucceeded {
			done = true
		} else {
			open = true
		}
	}
	return done && (!open || spec.SuccessPolicy == v1alpha1.SuccessAnyWorker)
}

// isFinal reports whether the failure of the pod is the job's under the restart policy. Under ExitCode these are 1 to 127.
// Source: pkg/controller.v1/common/pod.go and pkg/util/train/train_util.go of Training Operator 1.9.4.
func isFinal(policy v1alpha1.RestartPolicy, pod *corev1.Pod) bool {
	switch policy {
	case v1alpha1.RestartNever:
		return true
	case v1alpha1.RestartExitCode:
		for _, c := range pod.Status.ContainerStatuses {
			if c.State.Terminated != nil && c.State.Terminated.ExitCode > 0 && c.State.Terminated.ExitCode < 128 {
				return true
			}
		}
	}
	return false
}

// lastChange returns when last a pod began or ended, or another controller wrote the job's status.
func (i *inheritance) lastChange() time.Time {
	_, last := i.job.otherWriter()
	later := func(t metav1.Time) {
		if t.After(last) {
			last = t.Time
		}
	}
	for _, pod := range i.newest {
		later(pod.CreationTimestamp)
		for _, c := range pod.Status.ContainerStatuses {
			if c.State.Terminated != nil {
				later(c.State.Terminated.FinishedAt)
			}
		}
	}
	return last
}

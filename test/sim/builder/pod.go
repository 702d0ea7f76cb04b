package builder

import (
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// grace is the pods' deletionGracePeriodSeconds.
const grace = 30

// PodOption changes a pod of a job.
type PodOption func(*draft)

// draft is a pod in the making: its options may come in any order.
type draft struct {
	slot state.Slot
	life state.Life
	at   time.Duration
	exit *corev1.ContainerStateTerminated
	edit []func(*corev1.Pod)
}

// Pod returns a pod of one life of a slot as the API server shows it, on node node-<index> once it has started.
func Pod(job *v1alpha1.TrainingJob, slot state.Slot, life state.Life, phase corev1.PodPhase, options ...PodOption) *corev1.Pod {
	d := &draft{slot: slot, life: life}
	for _, apply := range options {
		apply(d)
	}
	name := state.PodName(job.Name, d.slot, d.life)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: job.Namespace, UID: types.UID("uid-" + name), Labels: map[string]string{v1alpha1.LabelJobName: job.Name},
		},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}},
		Status: corev1.PodStatus{Phase: phase},
	}
	pod.Spec.Containers[0].Env = environment(job)
	if phase != corev1.PodPending {
		pod.Spec.NodeName = "node-" + slot.String()
	}
	if d.exit != nil {
		d.exit.FinishedAt = Time(d.at)
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Terminated: d.exit}}}
	}
	for _, change := range d.edit {
		change(pod)
	}
	return pod
}

// environment returns the variables by which a pod shows what it was made for, as spec.progress says now.
func environment(job *v1alpha1.TrainingJob) []corev1.EnvVar {
	var env []corev1.EnvVar
	if progress := job.Spec.Progress; progress != nil {
		if progress.Port > 0 {
			env = append(env, corev1.EnvVar{Name: "TRAININGJOB_PROGRESS_PORT", Value: strconv.Itoa(int(progress.Port))})
		}
		if progress.CheckpointGraceSeconds > 0 {
			env = append(env, corev1.EnvVar{Name: "TRAININGJOB_CHECKPOINT_REQUEST_FILE", Value: "/etc/trainingjob/stop"})
		}
	}
	return env
}

// MadeWith says which of the variables of spec.progress the pod was made with, whatever the spec says since: "PORT" and "CHECKPOINT_REQUEST_FILE", or less.
func MadeWith(names ...string) PodOption {
	return Edit(func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Env = slices.DeleteFunc(pod.Spec.Containers[0].Env, func(v corev1.EnvVar) bool {
			return !slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(v.Name, name) })
		})
	})
}

// Began says when, after Epoch, the process of the pod's main container began.
func Began(at time.Duration) PodOption {
	return Edit(func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: Time(at)}}}}
	})
}

// Exit says that the pod's container ended with the code: reason Completed for 0, else Error.
func Exit(code int32) PodOption {
	return func(d *draft) {
		d.exit = &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error"}
		if code == 0 {
			d.exit.Reason = "Completed"
		}
	}
}

// NoProgram is what containerd reports of a command that is not in the image.
const NoProgram = "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: " +
	`unable to start container process: exec: "/no/such/program": stat /no/such/program: no such file or directory: unknown`

// ExitSaying says that the pod's container ended with the code, and Kubernetes' and the program's words for it.
func ExitSaying(code int32, reason, message string) PodOption {
	return func(d *draft) {
		d.exit = &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}
	}
}

// At sets the time, after Epoch, at which the pod's container ended.
func At(at time.Duration) PodOption { return func(d *draft) { d.at = at } }

// Life makes the pod one of another life than the present.
func Life(attempt, replacement int) PodOption {
	return func(d *draft) { d.life = state.Life{Attempt: attempt, Replacement: replacement} }
}

// DeletedAt says that somebody asked for the pod's deletion at that time after Epoch.
func DeletedAt(at time.Duration) PodOption {
	return Edit(func(pod *corev1.Pod) {
		seconds, until := int64(grace), Time(at+grace*time.Second)
		pod.DeletionGracePeriodSeconds, pod.DeletionTimestamp = &seconds, &until
	})
}

// Ready says that the pod is ready.
func Ready() PodOption { return withCondition(corev1.PodReady, corev1.ConditionTrue, "", "", 0) }

// Disrupted says that Kubernetes is taking the pod away: PreemptionByScheduler, EvictionByEvictionAPI, ...
func Disrupted(reason string, at time.Duration) PodOption {
	return withCondition(corev1.DisruptionTarget, corev1.ConditionTrue, reason, "Taken away.", at)
}

// Unschedulable says that the scheduler finds no node for the pod, since Epoch.
func Unschedulable(message string) PodOption { return UnschedulableSince(0, message) }

// UnschedulableSince says that the scheduler finds no node for the pod, since that time after Epoch.
func UnschedulableSince(at time.Duration, message string) PodOption {
	return withCondition(corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable, message, at)
}

// Unhealthy says that the kubelet calls a device of the pod's container broken.
func Unhealthy(resource, device string) PodOption {
	return Edit(func(pod *corev1.Pod) {
		if len(pod.Status.ContainerStatuses) == 0 {
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main"}}
		}
		pod.Status.ContainerStatuses[0].AllocatedResourcesStatus = []corev1.ResourceStatus{{
			Name:      corev1.ResourceName(resource),
			Resources: []corev1.ResourceHealth{{ResourceID: corev1.ResourceID(device), Health: corev1.ResourceHealthStatusUnhealthy}},
		}}
	})
}

// Flagged gives the pod a condition of that type that is True.
func Flagged(condition string) PodOption {
	return withCondition(corev1.PodConditionType(condition), corev1.ConditionTrue, "", "", 0)
}

func withCondition(kind corev1.PodConditionType, status corev1.ConditionStatus, reason, message string, at time.Duration) PodOption {
	return Edit(func(pod *corev1.Pod) {
		pod.Status.Conditions = append(pod.Status.Conditions,
			corev1.PodCondition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: Time(at)})
	})
}

// FailedInit says that an init container failed the pod before its program began.
func FailedInit(container string, code int32) PodOption {
	return Edit(func(pod *corev1.Pod) {
		end := &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error", FinishedAt: Time(30 * time.Second)}
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: container, State: corev1.ContainerState{Terminated: end}}}
		pod.Status.ContainerStatuses = nil
	})
}

// Checking says that a preflight check of the pod runs.
func Checking() PodOption {
	return check(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
}

// Checked says that the pod's node passed the preflight check, which took so long.
func Checked(took time.Duration) PodOption {
	return check(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: Time(0), FinishedAt: Time(took)}})
}

func check(is corev1.ContainerState) PodOption {
	return Edit(func(pod *corev1.Pod) {
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "preflight-a", State: is}}
	})
}

// Rejected says why the pod failed as a whole: Evicted, UnexpectedAdmissionError, ...
func Rejected(reason, message string) PodOption {
	return Edit(func(pod *corev1.Pod) { pod.Status.Reason, pod.Status.Message = reason, message })
}

// ByKueue says that Kueue has ended the pod.
func ByKueue(at time.Duration) PodOption {
	return withCondition("TerminatedByKueue", corev1.ConditionTrue, "UnschedulableOnAssignedNode", "Pod terminated by Kueue due to node taint", at)
}

// StillRunning says that the pod's container runs, whatever the phase says.
func StillRunning() PodOption {
	return Edit(func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	})
}

// RanBefore says that the pod's container ran, and that the kubelet cannot find it now.
func RanBefore() PodOption {
	return Edit(func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: 137, Reason: "ContainerStatusUnknown", Message: "The container could not be located when the pod was deleted.  The container used to be Running"}},
		}}
	})
}

// Waiting says why the pod's container does not run yet.
func Waiting(reason, message string) PodOption {
	return Edit(func(pod *corev1.Pod) {
		pod.Spec.NodeName = "node-1"
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}}
	})
}

// MainDone says that the main container has exited with 0, at Epoch + 30 s, and a side-car beside it runs on.
func MainDone() PodOption {
	return Edit(func(pod *corev1.Pod) {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "side"})
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{
			{Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: Time(30 * time.Second)}}},
			{Name: "side", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
		}
	})
}

// On puts the pod on a node; "" takes it off.
func On(node string) PodOption { return Edit(func(pod *corev1.Pod) { pod.Spec.NodeName = node }) }

// Asked says what the pod's containers find in the file of requests to stop.
func Asked(text string) PodOption {
	return Edit(func(pod *corev1.Pod) { pod.Annotations = map[string]string{v1alpha1.AnnotationCheckpointRequest: text} })
}

// Fenced takes the pod out of the Service.
func Fenced() PodOption {
	return Edit(func(pod *corev1.Pod) { delete(pod.Labels, v1alpha1.LabelJobName) })
}

// Told has the pod restart in place, from one life to another. process is the process of the main container that its node shows: "old", "new",
// or none.
func Told(from, to state.Life, process string) PodOption {
	return Edit(func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{v1alpha1.AnnotationInPlaceRestart: state.Told{Life: to, From: from, Process: "old", Time: Epoch}.String()}
		if len(pod.Status.ContainerStatuses) == 0 {
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: Time(0)}}}}
		}
		pod.Status.ContainerStatuses[0].ContainerID = process
	})
}

// Claiming gives the pod a volume that may be writable on one node only.
func Claiming() PodOption {
	return Edit(func(pod *corev1.Pod) {
		source := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: source})
	})
}

// Edit changes the pod as the API server shows it.
func Edit(change func(*corev1.Pod)) PodOption {
	return func(d *draft) { d.edit = append(d.edit, change) }
}

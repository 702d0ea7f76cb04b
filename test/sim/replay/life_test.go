package replay

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/test/sim/builder"
)

// Those whose fields an API server tracks.
const (
	operator = "trainingjob-operator"
	kubelet  = "kubelet"
)

// version is how a pod comes to its next version.
type version struct {
	event watch.EventType
	// isKubelets is whether the API server tracks the fields that change, as it does not for a binding and a deletion.
	isKubelets bool
	change     func(*corev1.Pod)
}

// starting and stopping are the versions of a pod that a kubelet 1.37 runs, and that is deleted and obeys SIGTERM.
var (
	starting = []version{
		{watch.Added, false, func(*corev1.Pod) {}},
		{watch.Modified, false, bind},
		{watch.Modified, true, func(pod *corev1.Pod) { await(pod, corev1.ConditionFalse) }},
		{watch.Modified, true, func(pod *corev1.Pod) { await(pod, corev1.ConditionTrue) }},
		{watch.Modified, true, run},
	}
	stopping = []version{
		{watch.Modified, false, remove},
		{watch.Modified, true, func(pod *corev1.Pod) { pod.Status.ObservedGeneration = pod.Generation }},
		{watch.Modified, true, end},
		{watch.Modified, false, func(pod *corev1.Pod) { pod.DeletionGracePeriodSeconds = ptr.To[int64](0) }},
		{watch.Deleted, false, func(*corev1.Pod) {}},
	}
)

// applyDefaults writes into the spec what an API server does before it tracks whose its fields are.
func applyDefaults(spec *corev1.PodSpec) {
	spec.SchedulerName, spec.DNSPolicy = corev1.DefaultSchedulerName, corev1.DNSClusterFirst
	spec.EnableServiceLinks, spec.SecurityContext = ptr.To(true), &corev1.PodSecurityContext{}
	spec.TerminationGracePeriodSeconds = ptr.To[int64](30)
	for i := range spec.Containers {
		c := &spec.Containers[i]
		c.ImagePullPolicy = corev1.PullIfNotPresent
		c.TerminationMessagePath, c.TerminationMessagePolicy = corev1.TerminationMessagePathDefault, corev1.TerminationMessageReadFile
	}
}

// admit adds what the admission of an API server adds to pods.
func admit(spec *corev1.PodSpec) {
	const volume, account = "kube-api-access-gkh9c", "/var/run/secrets/kubernetes.io/serviceaccount"
	spec.ServiceAccountName, spec.DeprecatedServiceAccount = "default", "default"
	spec.Priority, spec.PreemptionPolicy = ptr.To[int32](0), ptr.To(corev1.PreemptLowerPriority)
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{Projected: token()}})
	for i := range spec.Containers {
		c := &spec.Containers[i]
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: account, ReadOnly: true})
	}
}

// token is the volume by which a pod knows its account.
func token() *corev1.ProjectedVolumeSource {
	return &corev1.ProjectedVolumeSource{DefaultMode: ptr.To[int32](0o644), Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: ptr.To[int64](3607)}},
		{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
			Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
		}}}},
	}}
}

func bind(pod *corev1.Pod) {
	pod.Spec.NodeName = "gpu-node-15432"
	pod.Status.Conditions = []corev1.PodCondition{condition(corev1.PodScheduled, corev1.ConditionTrue, "")}
}

// await has the container wait for its image, without or with a sandbox.
func await(pod *corev1.Pod, sandbox corev1.ConditionStatus) {
	pod.Status.ObservedGeneration, pod.Status.StartTime = 1, builder.TimePtr(time.Second)
	pod.Status.HostIP, pod.Status.HostIPs = "10.1.0.4", []corev1.HostIP{{IP: "10.1.0.4"}}
	pod.Status.Conditions = conditions(sandbox, corev1.ConditionFalse, "ContainersNotReady")
	setState(pod, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}})
}

func run(pod *corev1.Pod) {
	pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, "10.64.0.11", []corev1.PodIP{{IP: "10.64.0.11"}}
	pod.Status.Conditions = conditions(corev1.ConditionTrue, corev1.ConditionTrue, "")
	setState(pod, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: builder.Time(2 * time.Second)}})
}

func remove(pod *corev1.Pod) {
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds, pod.Generation = builder.TimePtr(time.Minute), ptr.To[int64](5), 2
}

func end(pod *corev1.Pod) {
	pod.Status.Phase = corev1.PodFailed
	pod.Status.Conditions = conditions(corev1.ConditionFalse, corev1.ConditionFalse, "PodFailed")
	setState(pod, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: 143, Reason: "Error", StartedAt: builder.Time(2 * time.Second), FinishedAt: builder.Time(time.Minute), ContainerID: containerID,
	}})
}

const (
	containerID = "containerd://3f5c0d9f3a1b4e6c8d7a2b1c0e9f8d7c6b5a49382716051423d4e5f607182930"
	imageID     = "registry.example.com/train@sha256:b901995887aadddca87cca30dbc68663a907c14f0e693ca6ac5896fb86bf20c3"
)

func setState(pod *corev1.Pod, at corev1.ContainerState) {
	pod.Status.ContainerStatuses = nil
	for _, c := range pod.Spec.Containers {
		status := corev1.ContainerStatus{Name: c.Name, Image: c.Image, State: at, Ready: at.Running != nil, Started: ptr.To(at.Running != nil)}
		if at.Waiting == nil {
			status.ContainerID, status.ImageID = containerID, imageID
		}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
	}
}

// conditions are those of a pod that has a node.
func conditions(sandbox, ready corev1.ConditionStatus, reason string) []corev1.PodCondition {
	return []corev1.PodCondition{
		condition(corev1.PodReadyToStartContainers, sandbox, ""),
		condition(corev1.PodInitialized, corev1.ConditionTrue, ""),
		condition(corev1.PodReady, ready, reason),
		condition(corev1.ContainersReady, ready, reason),
		condition(corev1.PodScheduled, corev1.ConditionTrue, ""),
	}
}

func condition(kind corev1.PodConditionType, status corev1.ConditionStatus, reason string) corev1.PodCondition {
	return corev1.PodCondition{Type: kind, Status: status, Reason: reason, ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(builder.Epoch)}
}

package cluster

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

var word = rapid.SampledFrom([]string{"", "Error", "OOMKilled", "Evicted", "Unschedulable", "ImagePullBackOff"})

var when = rapid.Map(rapid.IntRange(0, 100), func(n int) metav1.Time { return builder.Time(time.Duration(n) * time.Second) })

var container = rapid.Custom(func(t *rapid.T) corev1.ContainerStatus {
	status := corev1.ContainerStatus{Name: "c", Image: "i", RestartCount: 3, Ready: true}
	health := rapid.SampledFrom([]corev1.ResourceHealthStatus{corev1.ResourceHealthStatusHealthy, corev1.ResourceHealthStatusUnhealthy, corev1.ResourceHealthStatusUnknown})
	for range rapid.IntRange(0, 2).Draw(t, "devices") {
		status.AllocatedResourcesStatus = append(status.AllocatedResourcesStatus, corev1.ResourceStatus{Name: "nvidia.com/gpu",
			Resources: []corev1.ResourceHealth{{ResourceID: "GPU-1", Health: health.Draw(t, "health")}}})
	}
	switch rapid.IntRange(0, 3).Draw(t, "state") {
	case 0:
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: word.Draw(t, "reason"), Message: word.Draw(t, "message")}
	case 1:
		status.State.Running = &corev1.ContainerStateRunning{StartedAt: when.Draw(t, "started")}
	case 2:
		status.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: rapid.Int32Range(0, 255).Draw(t, "code"),
			Reason: word.Draw(t, "reason"), Message: word.Draw(t, "message"), FinishedAt: when.Draw(t, "finished")}
	}
	status.ContainerID = rapid.SampledFrom([]string{"", "old", "new"}).Draw(t, "process")
	status.ImageID = rapid.SampledFrom([]string{"", "docker.io/library/i@sha256:" + strings.Repeat("0", 64)}).Draw(t, "bytes")
	if rapid.Bool().Draw(t, "ran before") {
		status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: rapid.Int32Range(0, 255).Draw(t, "code before"),
			Reason: word.Draw(t, "reason before"), Message: word.Draw(t, "message before"), FinishedAt: when.Draw(t, "finished before"),
			ContainerID: rapid.SampledFrom([]string{"", "old", "new"}).Draw(t, "process before")}
	}
	return status
})

var condition = rapid.Custom(func(t *rapid.T) corev1.PodCondition {
	return corev1.PodCondition{
		Type: rapid.SampledFrom([]corev1.PodConditionType{corev1.PodReady, corev1.PodScheduled, corev1.DisruptionTarget, corev1.PodInitialized,
			corev1.ContainersReady, corev1.PodReadyToStartContainers, "example.com/Own"}).Draw(t, "type"),
		Status: rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown}).Draw(t, "status"),
		Reason: word.Draw(t, "reason"), Message: word.Draw(t, "message"), LastTransitionTime: when.Draw(t, "time"),
	}
})

var rule = rapid.Custom(func(t *rapid.T) corev1.ContainerRestartRule {
	return corev1.ContainerRestartRule{Action: corev1.ContainerRestartRuleActionRestart, ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{
		Operator: rapid.SampledFrom([]corev1.ContainerRestartRuleOnExitCodesOperator{
			corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn}).Draw(t, "operator"),
		Values: rapid.SliceOfN(rapid.Int32Range(0, 255), 0, 255).Draw(t, "codes"),
	}}
})

var volume = rapid.Custom(func(t *rapid.T) corev1.Volume {
	return corev1.Volume{Name: "v", VolumeSource: rapid.SampledFrom([]corev1.VolumeSource{
		{EmptyDir: &corev1.EmptyDirVolumeSource{}}, {Secret: &corev1.SecretVolumeSource{SecretName: "s"}},
		{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}},
		{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}}},
	}).Draw(t, "source")}
})

var fullPod = rapid.Custom(func(t *rapid.T) *corev1.Pod {
	always := corev1.ContainerRestartPolicyAlways
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: rapid.SampledFrom([]string{"j-worker-0", "j-ps-3-a1r2", "x"}).Draw(t, "name"),
			UID: types.UID(word.Draw(t, "uid")), ResourceVersion: word.Draw(t, "version"), Annotations: map[string]string{"a": "b"}},
		Spec: corev1.PodSpec{NodeName: word.Draw(t, "node"), Containers: []corev1.Container{{Name: "c", Image: "i"}},
			InitContainers: []corev1.Container{{Name: "c", RestartPolicy: &always}, {Name: "preflight-proxy", RestartPolicy: &always}, {Name: "preflight-gpu"}}},
		Status: corev1.PodStatus{
			Phase:  rapid.SampledFrom([]corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed, corev1.PodUnknown}).Draw(t, "phase"),
			Reason: word.Draw(t, "reason"), Message: word.Draw(t, "message"), PodIP: "10.0.0.1",
			ContainerStatuses:     rapid.SliceOfN(container, 0, 3).Draw(t, "containers"),
			InitContainerStatuses: rapid.SliceOfN(container, 0, 2).Draw(t, "initContainers"),
			Conditions:            rapid.SliceOfN(condition, 0, 5).Draw(t, "conditions"),
		},
	}
	for i := range pod.Status.ContainerStatuses[min(1, len(pod.Status.ContainerStatuses)):] {
		pod.Status.ContainerStatuses[i+1].Name = "side" + strconv.Itoa(i)
	}
	for i := range pod.Status.InitContainerStatuses {
		pod.Status.InitContainerStatuses[i].Name = rapid.SampledFrom([]string{"c", "preflight-proxy", "preflight-gpu"}).Draw(t, "init container")
	}
	if rapid.Bool().Draw(t, "told") {
		pod.Annotations[v1alpha1.AnnotationInPlaceRestart] = rapid.SampledFrom([]string{`{"life":"1-0","time":"2026-01-01T00:00:00Z"}`,
			`{"life":"1-0","from":"0-0","process":"old","time":"2026-01-01T00:00:00Z"}`}).Draw(t, "to begin") + strings.Repeat(" ", rapid.IntRange(0, 2000).Draw(t, "blanks"))
	}
	if gate := rapid.SampledFrom([]string{"", v1alpha1.GateOpen, v1alpha1.GateClosed}).Draw(t, "gate"); gate != "" {
		pod.Annotations[v1alpha1.AnnotationStartGate] = gate
	}
	pod.Spec.Containers[0].Env = rapid.SliceOfN(rapid.SampledFrom([]corev1.EnvVar{{Name: "MINE", Value: "x"},
		{Name: v1alpha1.EnvCheckpointRequestFile, Value: "/etc/trainingjob/stop"}, {Name: v1alpha1.EnvProgressPort, Value: "9500"},
		{Name: v1alpha1.EnvProgressPort, Value: strings.Repeat("0", 2000) + "1"}}), 0, 3).Draw(t, "env")
	pod.Spec.Containers[0].Ports = rapid.SliceOfN(rapid.SampledFrom([]corev1.ContainerPort{{ContainerPort: 80}, {ContainerPort: 9500}, {ContainerPort: 9500, HostPort: 9500},
		{ContainerPort: 9500, HostIP: "127.0.0.2"}, {ContainerPort: 9500, Protocol: corev1.ProtocolUDP}}), 0, 3).Draw(t, "ports")
	pod.Spec.HostNetwork = rapid.Bool().Draw(t, "host network")
	pod.Spec.ShareProcessNamespace = rapid.SampledFrom([]*bool{nil, new(false), new(true)}).Draw(t, "one view of processes")
	pod.Status.HostIP = rapid.SampledFrom([]string{"", "10.0.0.1", "10.0.0.2"}).Draw(t, "host address")
	pod.Spec.Volumes = rapid.SliceOfN(volume, 0, 3).Draw(t, "volumes")
	pod.Annotations[v1alpha1.AnnotationCheckpointRequest] = rapid.SampledFrom([]string{"", "0-1 Suspended"}).Draw(t, "asked")
	if never := corev1.ContainerRestartPolicyNever; rapid.Bool().Draw(t, "own policy") {
		pod.Spec.Containers[0].RestartPolicy = &never
	}
	for range rapid.IntRange(0, 3).Draw(t, "rules") {
		pod.Spec.Containers[0].RestartPolicyRules = append(pod.Spec.Containers[0].RestartPolicyRules, rule.Draw(t, "rule"))
	}
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "Foreign", Name: "f"}, *metav1.NewControllerRef(builder.Job("j"), v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))}
	if rapid.Bool().Draw(t, "reachable") {
		pod.Labels = map[string]string{v1alpha1.LabelJobName: "j"}
	}
	if rapid.Bool().Draw(t, "deleted") {
		at := when.Draw(t, "deletion")
		pod.DeletionTimestamp = &at
		if rapid.Bool().Draw(t, "grace") {
			grace := rapid.Int64Range(0, 600).Draw(t, "seconds")
			pod.DeletionGracePeriodSeconds = &grace
		}
	}
	return pod
})

// What the cache drops changes no decision.
func TestATrimmedPodTellsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		full := fullPod.Draw(t, "pod")
		want, ours := state.PodOf("j", full)
		got, still := state.PodOf("j", trimmed(t, full))
		if diff := cmp.Diff(want, got); diff != "" || ours != still {
			t.Fatalf("ours %t and trimmed %t (-full +trimmed):\n%s", ours, still, diff)
		}
	})
}

var fullNode = rapid.Custom(func(t *rapid.T) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", ResourceVersion: "7", Labels: map[string]string{"zone": "a"}, Annotations: map[string]string{"a": "b"}},
		Spec:       corev1.NodeSpec{PodCIDR: "10.0.0.0/24", ProviderID: "x"},
		Status:     corev1.NodeStatus{Images: []corev1.ContainerImage{{Names: []string{"i"}}}},
	}
	types := rapid.SliceOfDistinct(rapid.SampledFrom([]corev1.NodeConditionType{corev1.NodeReady, corev1.NodeMemoryPressure, "GpuMemWatch", "NVSwitchDown"}), rapid.ID) // a list by type
	for _, kind := range types.Draw(t, "conditions") {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type:   kind,
			Status: rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown}).Draw(t, "status"),
			Reason: word.Draw(t, "reason"), LastHeartbeatTime: when.Draw(t, "heartbeat"), LastTransitionTime: when.Draw(t, "transition"),
		})
	}
	for range rapid.IntRange(0, 3).Draw(t, "taints") {
		taint := corev1.Taint{Key: rapid.SampledFrom([]string{corev1.TaintNodeOutOfService, "broken", "gpu"}).Draw(t, "key"), Effect: corev1.TaintEffectNoExecute}
		if rapid.Bool().Draw(t, "timed") {
			added := when.Draw(t, "added")
			taint.TimeAdded = &added
		}
		node.Spec.Taints = append(node.Spec.Taints, taint)
	}
	return node
})

// The same for nodes, whose heartbeats then change nothing.
func TestATrimmedNodeTellsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		full := fullNode.Draw(t, "node")
		small := trimmedNode(t, full)
		if diff := cmp.Diff(nodes.Of(full, time.Minute, signals), nodes.Of(small, time.Minute, signals)); diff != "" {
			t.Fatalf("(-full +trimmed):\n%s", diff)
		}
		for i := range full.Status.Conditions {
			full.Status.Conditions[i].LastHeartbeatTime = when.Draw(t, "next heartbeat")
		}
		if diff := cmp.Diff(small, trimmedNode(t, full)); diff != "" {
			t.Fatalf("a heartbeat changes the node (-before +after):\n%s", diff)
		}
	})
}

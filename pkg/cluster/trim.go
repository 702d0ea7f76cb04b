package cluster

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// CacheOptions returns the options of a cache that holds jobs and their own children only, trimmed to what decisions
// need, in these namespaces, or in all if there are none. Of nodes it holds the conditions that are signals.
func CacheOptions(namespaces []string, signals state.Signals) (cache.Options, error) {
	ours, err := labels.NewRequirement(v1alpha1.LabelJobUID, selection.Exists, nil)
	if err != nil {
		return cache.Options{}, err
	}
	children := labels.NewSelector().Add(*ours)
	options := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		// of everything else, children only: pod groups cannot be named here, as a cluster may not have them
		DefaultLabelSelector: children,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:           {Label: children, Transform: newShared().trimPod},
			&v1alpha1.TrainingJob{}: {Label: labels.Everything(), Transform: newTemplates().trimJob},
			&corev1.Node{}:          {Label: labels.Everything(), Transform: trimNode(signals)},
		},
	}
	for _, namespace := range namespaces {
		if options.DefaultNamespaces == nil {
			options.DefaultNamespaces = map[string]cache.Config{}
		}
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options, nil
}

// trimPod returns a pod with only what state.PodOf reads and what finds its job. It shares what the pods of a job have alike: code that reads
// the cache without a copy must change nothing in it.
func (s *shared) trimPod(o any) (any, error) {
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return o, nil
	}
	trimmed := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			Labels:            s.labelsOf(pod),
			OwnerReferences:   owners(pod.OwnerReferences),
			CreationTimestamp: pod.CreationTimestamp,
			Annotations:       only(pod.Annotations, v1alpha1.AnnotationTold, v1alpha1.AnnotationCheckpointRequest, state.AnnotationMain),
			DeletionTimestamp: pod.DeletionTimestamp, DeletionGracePeriodSeconds: pod.DeletionGracePeriodSeconds,
		},
		Spec: corev1.PodSpec{NodeName: pod.Spec.NodeName, Containers: s.containersOf(pod)},
		Status: corev1.PodStatus{
			Phase: pod.Status.Phase, Reason: pod.Status.Reason, Message: pod.Status.Message,
			ContainerStatuses:     states(pod.Status.ContainerStatuses, isTold(pod)),
			InitContainerStatuses: states(pod.Status.InitContainerStatuses, false),
		},
	}
	for _, c := range pod.Status.Conditions {
		if isTelling(&c) {
			trimmed.Status.Conditions = append(trimmed.Status.Conditions, c)
		}
	}
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
			trimmed.Spec.Volumes = []corev1.Volume{{Name: v.Name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: v.PersistentVolumeClaim, Ephemeral: ephemeral(v)}}}
		}
	}
	return trimmed, nil
}

// isTelling reports whether a decision may read the condition: of those that every pod has only that it is ready, and that it has no node.
func isTelling(c *corev1.PodCondition) bool {
	switch c.Type {
	case corev1.PodInitialized, corev1.ContainersReady, corev1.PodReadyToStartContainers:
		return false
	case corev1.PodScheduled:
		return c.Status == corev1.ConditionFalse
	default:
		return true
	}
}

// owners returns the references with one copy of what those to TrainingJobs have in common: each pod brings its own.
func owners(refs []metav1.OwnerReference) []metav1.OwnerReference {
	refs = slices.Clone(refs)
	for i := range refs {
		if refs[i].Kind == v1alpha1.Kind && refs[i].APIVersion == apiVersion {
			refs[i].Kind, refs[i].APIVersion = v1alpha1.Kind, apiVersion
		}
	}
	return refs
}

var apiVersion = v1alpha1.GroupVersion.String()

// isTold reports whether the pod can be restarted in place: then it matters which process of which image runs.
func isTold(pod *corev1.Pod) bool { return pod.Annotations[v1alpha1.AnnotationTold] != "" }

// telling returns the first container, which may be the main one, those that the kubelet may start again in their pod, and all if
// the operator may, with nothing but their names, when, and the image.
func telling(pod *corev1.Pod) []corev1.Container {
	var list []corev1.Container
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if i > 0 && c.RestartPolicy == nil && len(c.RestartPolicyRules) == 0 && !isTold(pod) {
			continue
		}
		told := corev1.Container{Name: c.Name, RestartPolicy: c.RestartPolicy, RestartPolicyRules: c.RestartPolicyRules}
		if isTold(pod) {
			told.Image = c.Image
		}
		list = append(list, told)
	}
	return list
}

// ephemeral keeps of an ephemeral volume only that it is one.
func ephemeral(v *corev1.Volume) *corev1.EphemeralVolumeSource {
	if v.Ephemeral == nil {
		return nil
	}
	return &corev1.EphemeralVolumeSource{}
}

// only returns the labels or annotations of those names that are there.
func only(annotations map[string]string, names ...string) map[string]string {
	var kept map[string]string
	for _, name := range names {
		if value, found := annotations[name]; found {
			if kept == nil {
				kept = map[string]string{}
			}
			kept[name] = value
		}
	}
	return kept
}

// trimNode returns the function that returns a node with only what state.NodeOf and suitable read: its heartbeats then change nothing, nor
// do conditions that are no signals, or not True.
func trimNode(signals state.Signals) func(any) (any, error) {
	return func(o any) (any, error) {
		node, ok := o.(*corev1.Node)
		if !ok {
			return o, nil
		}
		trimmed := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion, Labels: node.Labels},
			Spec:       corev1.NodeSpec{Taints: node.Spec.Taints, Unschedulable: node.Spec.Unschedulable},
			Status:     corev1.NodeStatus{Allocatable: node.Status.Allocatable, Capacity: devices(node.Status.Capacity)},
		}
		for i := range node.Status.Conditions {
			c := &node.Status.Conditions[i]
			kept := corev1.NodeCondition{Type: c.Type, Status: c.Status, LastTransitionTime: c.LastTransitionTime}
			switch isSignal := signals.Heeds(c); {
			case c.Type != corev1.NodeReady && !isSignal:
				continue
			case isSignal:
				kept.Reason, kept.Message = c.Reason, c.Message
			}
			trimmed.Status.Conditions = append(trimmed.Status.Conditions, kept)
		}
		return trimmed, nil
	}
}

// devices returns the part of a capacity that device plugins report; nil if there is none.
func devices(capacity corev1.ResourceList) corev1.ResourceList {
	var kept corev1.ResourceList
	for name, quantity := range capacity {
		if state.IsDevice(name) {
			if kept == nil {
				kept = corev1.ResourceList{}
			}
			kept[name] = quantity
		}
	}
	return kept
}

// states returns how the containers are, and which processes of which images they are if that matters.
func states(full []corev1.ContainerStatus, processes bool) []corev1.ContainerStatus {
	var trimmed []corev1.ContainerStatus
	for i := range full {
		c := corev1.ContainerStatus{
			Name: full[i].Name, State: full[i].State, Ready: full[i].Ready, AllocatedResourcesStatus: full[i].AllocatedResourcesStatus,
		}
		if processes {
			c.ContainerID, c.ImageID = full[i].ContainerID, full[i].ImageID
		}
		trimmed = append(trimmed, c)
	}
	return trimmed
}

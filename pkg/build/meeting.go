package build

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

const (
	// meetings is how many attempts in a row each meet at a port of their own.
	meetings = 16
	mostPort = 65535
)

// LeaderPort returns the port at which the replicas meet in an attempt. If they are restarted in place, an old process may still look for
// its peers when a new leader is there: they do not meet, as each attempt has a port of its own, the first or one of the 15 above it
// (below it, if there are none).
func LeaderPort(job *v1alpha1.TrainingJob, first int32, attempt int) int32 {
	if !state.KeepsPods(&job.Spec) {
		return first
	}
	step := int32(attempt % meetings)
	if first+meetings > mostPort {
		return first - step
	}
	return first + step
}

// Meeting returns the leader's port as the values of variables have it, and the variables that these refer to.
func Meeting(job *v1alpha1.TrainingJob, first int32) (port string, variables []corev1.EnvVar) {
	if !state.KeepsPods(&job.Spec) {
		return strconv.Itoa(int(first)), nil
	}
	return "$(" + v1alpha1.EnvLeaderPort + ")", []corev1.EnvVar{fromMetadata(v1alpha1.EnvLeaderPort, "annotations", v1alpha1.AnnotationLeaderPort)}
}

// TellPort tells a pod that can be restarted in place the port of its attempt; 0 for none.
func TellPort(pod *corev1.Pod, port int32) {
	if _, canRestart := pod.Annotations[v1alpha1.AnnotationTold]; canRestart && port != 0 {
		pod.Annotations[v1alpha1.AnnotationLeaderPort] = strconv.Itoa(int(port))
	}
}

// fromMetadata returns a variable that each start of a container reads anew from a label or an annotation of its pod.
func fromMetadata(name, kind, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: metadata(kind, key)}}
}

// metadata selects a label or an annotation of a pod.
func metadata(kind, key string) *corev1.ObjectFieldSelector {
	return &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata." + kind + "['" + key + "']"}
}

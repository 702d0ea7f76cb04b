package cli

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/pkg/cli/logs"
)

// still is a cluster at one moment.
type still struct {
	*podLogs
	scene logs.Scene
}

// See returns the moment; it never changes.
func (s *still) See() (logs.Scene, <-chan struct{}) { return s.scene, nil }

// Pod returns the pod at that moment.
func (s *still) Pod(name string, uid types.UID) *corev1.Pod {
	for i := range s.scene.Pods {
		if pod := &s.scene.Pods[i]; pod.Name == name && pod.UID == uid {
			return pod
		}
	}
	return nil
}

// moving is a cluster that is watched.
type moving struct {
	*podLogs
	*watched
}

package testbed

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/test/sim/builder"
)

// Annotations are what the lab's fake nodes are told, without the prefix: {"exit-code": "1"}; nil takes one away.
type Annotations map[string]any

// Tell tells the lab's fake nodes how to treat a pod, or a fake node how to behave, from now on.
func Tell(ctx context.Context, kube client.Client, object client.Object, what Annotations) error {
	annotations := Annotations{}
	for name, value := range what {
		annotations[builder.LabPrefix+name] = value
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return err
	}
	return kube.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))
}

// Evict asks for the pod's eviction, as kubectl drain does.
func Evict(ctx context.Context, kube client.Client, pod *corev1.Pod) error {
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	return kube.SubResource("eviction").Create(ctx, pod, eviction)
}

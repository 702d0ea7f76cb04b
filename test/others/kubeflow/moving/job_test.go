//go:build kubeflow

package moving

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// job is a Kubeflow job of the cluster.
type job struct {
	namespace, kind, name string
}

// read returns the job as it is; nil if there is none.
func (j job) read(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: "kubeflow.org", Version: "v1", Kind: j.kind})
	err := kube.Get(t.Context(), client.ObjectKey{Namespace: j.namespace, Name: j.name}, object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// conditions returns the types of the conditions that are True.
func (j job) conditions(t *testing.T) []string {
	t.Helper()
	object := j.read(t)
	if object == nil {
		return []string{"gone"}
	}
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	var are []string
	for _, each := range list {
		condition, _ := each.(map[string]any)
		if condition["status"] == "True" {
			are = append(are, fmt.Sprint(condition["type"]))
		}
	}
	return are
}

// until waits for a condition of the job.
func (j job) until(t *testing.T, condition string) {
	t.Helper()
	until(t, j.kind+" "+j.name+" is "+condition, func() (bool, any) {
		are := j.conditions(t)
		return slices.Contains(are, condition), are
	})
}

func (j job) suspend(t *testing.T, value bool) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"runPolicy":{"suspend":%t}}}`, value))
	if err := kube.Patch(t.Context(), j.read(t), patch); err != nil {
		t.Fatal(err)
	}
}

// pods returns the pods of the job by name, without those that go.
func (j job) pods(t *testing.T) map[string]corev1.Pod {
	t.Helper()
	var list corev1.PodList
	if err := kube.List(t.Context(), &list, client.InNamespace(j.namespace), client.MatchingLabels{"training.kubeflow.org/job-name": j.name}); err != nil {
		t.Fatal(err)
	}
	pods := map[string]corev1.Pod{}
	for _, pod := range list.Items {
		if pod.DeletionTimestamp.IsZero() {
			pods[pod.Name] = pod
		}
	}
	return pods
}

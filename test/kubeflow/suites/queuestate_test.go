//go:build kubeflow

package suites

import (
	"context"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// countPods counts the pods that exist and have not ended. most ends the count and returns the highest number.
func (q *queue) countPods(t *testing.T) (most func() chan int) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	watch, err := q.client.Watch(ctx, &corev1.PodList{}, client.InNamespace(q.name))
	q.Expect(err).NotTo(gomega.HaveOccurred())
	counted := make(chan int, 1)
	go func() {
		alive, highest := map[types.UID]bool{}, 0
		for event := range watch.ResultChan() {
			if pod, isPod := event.Object.(*corev1.Pod); isPod {
				delete(alive, pod.UID)
				if event.Type != "DELETED" && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
					alive[pod.UID] = true
				}
				highest = max(highest, len(alive))
			}
		}
		counted <- highest
	}()
	return func() chan int { watch.Stop(); return counted }
}

// reserved returns how many CPUs Kueue counts as in use.
func (q *queue) reserved(g gomega.Gomega) string {
	object := q.get(g, "kueue.x-k8s.io/v1beta2", "ClusterQueue", client.ObjectKey{Name: q.name})
	flavors, _, _ := unstructured.NestedSlice(object.Object, "status", "flavorsReservation")
	g.Expect(flavors).To(gomega.HaveLen(1))
	resources, _, _ := unstructured.NestedSlice(flavors[0].(map[string]any), "resources")
	total, _, _ := unstructured.NestedString(resources[0].(map[string]any), "total")
	return total
}

// condition returns the type of the job's last condition that is True, which clients of Kubeflow show as its state.
func (q *queue) condition(g gomega.Gomega, name string) (last string) {
	list, _, _ := unstructured.NestedSlice(q.job(g, name).Object, "status", "conditions")
	for _, c := range list {
		if c := c.(map[string]any); c["status"] == "True" {
			last = c["type"].(string)
		}
	}
	return last
}

func conditions(object *unstructured.Unstructured) map[string]any {
	all := map[string]any{}
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range list {
		all[c.(map[string]any)["type"].(string)] = c.(map[string]any)["status"]
	}
	return all
}

func (q *queue) job(g gomega.Gomega, name string) *unstructured.Unstructured {
	return q.get(g, "kubeflow.org/v1", queuedKinds[q.kind].kind, client.ObjectKey{Namespace: q.name, Name: name})
}

// workload returns Kueue's object for the job.
func (q *queue) workload(g gomega.Gomega, name string) *unstructured.Unstructured {
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadList"}}
	g.Expect(q.client.List(context.Background(), list, client.InNamespace(q.name))).To(gomega.Succeed())
	for i := range list.Items {
		if owners := list.Items[i].GetOwnerReferences(); len(owners) == 1 && owners[0].Name == name {
			return &list.Items[i]
		}
	}
	g.Expect(name).To(gomega.BeEmpty(), "no Workload of this job")
	return nil
}

func (q *queue) get(g gomega.Gomega, version, kind string, key client.ObjectKey) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind}}
	g.Expect(q.client.Get(context.Background(), key, object)).To(gomega.Succeed())
	return object
}

func (q *queue) eventually(check func(gomega.Gomega)) {
	q.Eventually(check).WithTimeout(time.Minute).WithPolling(250 * time.Millisecond).Should(gomega.Succeed())
}

//go:build kubeflow

package suites

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// countPods watches the pods whose containers may still run. most ends that, and returns the names of the most that existed at a time.
func (q *queue) countPods(t *testing.T) (most func() []string) {
	watch, err := q.client.Watch(t.Context(), &corev1.PodList{}, client.InNamespace(q.name))
	q.Expect(err).NotTo(gomega.HaveOccurred())
	result := make(chan []string, 1)
	go func() {
		alive, highest := map[types.UID]string{}, []string{}
		for event := range watch.ResultChan() {
			if pod, isPod := event.Object.(*corev1.Pod); isPod {
				delete(alive, pod.UID)
				if event.Type != "DELETED" && !hasEnded(pod) {
					alive[pod.UID] = pod.Name
				}
			}
			if len(alive) > len(highest) {
				highest = slices.Sorted(maps.Values(alive))
			}
		}
		result <- highest
	}()
	return func() []string { watch.Stop(); return <-result }
}

// hasEnded reports whether no container of the pod runs any more, or ever.
func hasEnded(pod *corev1.Pod) bool {
	statuses := pod.Status.ContainerStatuses
	return len(statuses) > 0 && !slices.ContainsFunc(statuses, func(s corev1.ContainerStatus) bool { return s.State.Terminated == nil })
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

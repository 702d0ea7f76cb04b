//go:build kubeflow

package suites

import (
	"context"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// Kueue's webhook gives a job that names no queue the namespace's LocalQueue default, and suspends the job.
func TestAKubeflowJobWithoutAQueueWaitsInTheDefaultQueue(t *testing.T) {
	inQueues(t, "-default", func(t *testing.T, q *queue) {
		q.create(`{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: default, namespace: ` + q.name + `}, spec: {clusterQueue: ` + q.name + `}}`)
		probe := &unstructured.Unstructured{}
		q.eventually(func(g gomega.Gomega) { // Kueue's webhook reads LocalQueues from a cache
			g.Expect(yaml.Unmarshal([]byte(q.manifest("probe")), &probe.Object)).To(gomega.Succeed())
			g.Expect(q.client.Create(context.Background(), probe, client.DryRunAll)).To(gomega.Succeed())
			g.Expect(probe.GetLabels()).To(gomega.HaveKeyWithValue("kueue.x-k8s.io/queue-name", "default"))
		})
		most := q.countPods(t)
		q.submit("first", "")
		q.runs("first")
		q.create(q.manifest("nameless"))
		q.waits("nameless")
		q.finish("first")
		q.runs("nameless")
		if names := most(); len(names) != quota {
			t.Errorf("these pods existed at a time, want %d: %v", quota, names)
		}
	})
}

// A user can change the TrainingJob that serves a Kubeflow job, and is in no queue: the operator takes that back.
func TestATrainingJobOfAQueuedKubeflowJobKeepsItsPods(t *testing.T) {
	inQueues(t, "-scaled", func(_ *testing.T, q *queue) {
		q.submit("first", "")
		q.runs("first")
		served := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "trainingjob.dev/v1alpha1", "kind": "TrainingJob"}}
		served.SetNamespace(q.name)
		served.SetName("first")
		patch := func(text string) error {
			return q.client.Patch(context.Background(), served, client.RawPatch(types.MergePatchType, []byte(text)))
		}
		q.Eventually(func() error { // its replicas may change only while it is suspended
			q.Expect(patch(`{"spec": {"suspend": true}}`)).To(gomega.Succeed())
			return patch(`{"spec": {"suspend": false, "replicaSpecs": {"Worker": {"replicas": 5}}}}`)
		}).Should(gomega.Succeed())
		q.eventually(func(g gomega.Gomega) {
			g.Expect(q.client.Get(context.Background(), client.ObjectKeyFromObject(served), served)).To(gomega.Succeed())
			spec := served.Object["spec"].(map[string]any)
			g.Expect(spec["suspend"]).NotTo(gomega.BeTrue())
			workers := spec["replicaSpecs"].(map[string]any)["Worker"].(map[string]any)
			g.Expect(workers).To(gomega.HaveKeyWithValue("replicas", gomega.BeNumerically("<=", quota)))
		})
		q.runs("first")
	})
}

//go:build kubeflow

package moving

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// An elastic job without a Master succeeds with the first worker that does, whichever operator runs it.
func TestAnElasticJobSucceedsWithItsFirstWorker(t *testing.T) {
	play := func(t *testing.T) {
		j := job{namespace(t, "elastic"), "PyTorchJob", "elastic"}
		object := parse(t, `{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: elastic, namespace: `+j.namespace+`}, spec: {
			elasticPolicy: {minReplicas: 1, maxReplicas: 3}, pytorchReplicaSpecs: {Worker: {replicas: 3, template: {spec: {containers: [{name: pytorch, image: i}]}}}}}}`)
		if err := kube.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		exit(t, "0", movers{t, j.namespace}.hasPods(j, corev1.PodRunning)["elastic-worker-2"])
		j.until(t, "Succeeded")
	}
	t.Run("Kubeflow's", func(t *testing.T) {
		startFormer(t)
		play(t)
	})
	t.Run("this one", func(t *testing.T) {
		startOurs(t)
		play(t)
	})
}

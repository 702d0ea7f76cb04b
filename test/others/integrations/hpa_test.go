//go:build e2e

package integrations

import "testing"

const elastic = `
apiVersion: trainingjob.dev/v1alpha1
kind: TrainingJob
metadata: {name: bert}
spec:
  framework: PyTorch
  elastic: {minReplicas: 2, maxReplicas: 4}
  replicaSpecs:
    Worker: {replicas: 2, template: {spec: {containers: [{name: main, image: i}]}}}
`

// The controller of Kubernetes scales an elastic job by its scale subresource: up to its own minReplicas it needs no metric for that.
func TestAutoscaler(t *testing.T) {
	apply(t, elastic)
	becomes(t, "tj/bert", "{.status.ready}", "2/2")
	apply(t, string(manifest(t, "hpa/autoscaler.yaml", nil)))
	becomes(t, "tj/bert", "{.spec.replicaSpecs.Worker.replicas} {.status.ready}", "3 3/3")
	becomes(t, "hpa/bert", `{.status.conditions[?(@.type=="AbleToScale")].status}`, "True")
}

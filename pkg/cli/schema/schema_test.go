package schema_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/pkg/cli/schema"
)

const head = "apiVersion: trainingjob.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: j}\n"

const template = "{spec: {containers: [{name: main, image: train}]}}"

// The defaults are those that the API documents.
func TestDefaults(t *testing.T) {
	job, err := schema.Job([]byte(head + "spec: {framework: JAX, replicaSpecs: {Worker: {template: " + template + "}}}"))
	if err != nil {
		t.Fatal(err)
	}
	if got := job.Spec.ReplicaSpecs["Worker"].Replicas; ptr.Deref(got, -1) != 1 {
		t.Errorf("replicas %v", got)
	}
	if got := job.Spec.Recovery.MaxOOMRestarts; ptr.Deref(got, -1) != 3 {
		t.Errorf("recovery.maxOOMRestarts %v", got)
	}
	if job.Spec.SuccessPolicy != "Leader" || job.Spec.RunPolicy.CleanPodPolicy != "Running" {
		t.Errorf("successPolicy %s, cleanPodPolicy %s", job.Spec.SuccessPolicy, job.Spec.RunPolicy.CleanPodPolicy)
	}
}

const hostPort = "name that port in the ports of the role's main container, without hostIP"

// onHost returns the spec of a job on the network of its nodes, with a page at the port and that entry of ports.
func onHost(page int, entry string) string {
	return fmt.Sprintf("{framework: JAX, progress: {port: %d}, replicaSpecs: {Worker: {template: {spec: {hostNetwork: true, containers: [{name: main, image: i, ports: [%s]}]}}}}}", page, entry)
}

func TestAPageOnTheHostNetwork(t *testing.T) {
	for _, spec := range []string{onHost(9500, "{containerPort: 9500}"), onHost(9500, "{containerPort: 80}, {containerPort: 9500, hostPort: 9500, protocol: TCP}"), onHost(10261, "{containerPort: 10261}")} {
		if _, err := schema.Job([]byte(head + "spec: " + spec)); err != nil {
			t.Errorf("%s: %v", spec, err)
		}
	}
	ownNetwork := strings.Replace(onHost(6443, ""), "hostNetwork: true", "hostNetwork: false", 1)
	if _, err := schema.Job([]byte(head + "spec: " + ownNetwork)); err != nil {
		t.Errorf("%s: %v", ownNetwork, err)
	}
}

func TestWhatTheAPIServerWouldRefuse(t *testing.T) {
	cases := []struct{ name, spec, want string }{
		{"a rule of the CRD", "{framework: JAX, replicaSpecs: {PS: {template: " + template + "}}}", "a JAX job has the roles Worker and Evaluator"},
		{"a type", "{framework: JAX, replicaSpecs: {Worker: {replicas: two, template: " + template + "}}}", "spec.replicaSpecs.Worker.replicas"},
		{"a bound", "{framework: JAX, replicaSpecs: {Worker: {replicas: 10001, template: " + template + "}}}", "(10001): write a number up to 10000"},
		{"a value", "{framework: Keras, replicaSpecs: {Worker: {template: " + template + "}}}", `Unsupported value: "Keras"`},
		{"an unknown field", "{framework: JAX, replicas: 3, replicaSpecs: {Worker: {template: " + template + "}}}", "unknown field spec.replicas: write spec.replicaSpecs.Worker.replicas"},
		{"Kubeflow's bound of restarts", "{framework: JAX, runPolicy: {backoffLimit: 3}, replicaSpecs: {Worker: {template: " + template + "}}}", "unknown field spec.runPolicy.backoffLimit: write spec.recovery.maxRestarts"},
		{"a misspelt field", "{framework: JAX, recovery: {maxRestart: 3}, replicaSpecs: {Worker: {template: " + template + "}}}", "unknown field spec.recovery.maxRestart: write maxRestarts"},
		{"a misspelt field of a role", "{framework: JAX, replicaSpecs: {Worker: {replica: 3, template: " + template + "}}}", "unknown field spec.replicaSpecs.Worker.replica: write replicas"},
		{"a misspelt field of a container", "{framework: JAX, replicaSpecs: {Worker: {template: {spec: {containers: [{name: main, image: i, comand: [a]}]}}}}}", "containers[0].comand: write command"},
		{"a field in another place", "{framework: JAX, cleanPodPolicy: None, replicaSpecs: {Worker: {template: " + template + "}}}", "unknown field spec.cleanPodPolicy: write spec.runPolicy.cleanPodPolicy"},
		{"a framework in lower case", "{framework: pytorch, replicaSpecs: {Worker: {template: " + template + "}}}", "write PyTorch"},
		{"a misspelt framework", "{framework: Pytroch, replicaSpecs: {Worker: {template: " + template + "}}}", "write PyTorch"},
		{"a role in lower case", "{framework: JAX, replicaSpecs: {worker: {template: " + template + "}}}", "spec.replicaSpecs.worker: write Worker"},
		{"a misspelt role", "{framework: JAX, replicaSpecs: {Wroker: {template: " + template + "}}}", "spec.replicaSpecs.Wroker is no role: write Worker"},
		{"a missing field", "{replicaSpecs: {Worker: {template: " + template + "}}}", "spec.framework is missing: write one of TensorFlow, PyTorch"},
		{"no such main container", "{framework: JAX, replicaSpecs: {Worker: {template: {metadata: {annotations: {kubectl.kubernetes.io/default-container: trainer}}, spec: {containers: [{name: main, image: i}]}}}}}",
			"names no container"},
		{"a page on the host network", onHost(9500, ""), hostPort},
		{"a page on the host network at another port", onHost(9500, "{containerPort: 9501}"), hostPort},
		{"a page on the host network at a port of UDP", onHost(9500, "{containerPort: 9500, protocol: UDP}"), hostPort},
		{"a page on the host network at one address", onHost(9500, "{containerPort: 9500, hostIP: 127.0.0.2}"), hostPort},
		{"a page at the kubelet's port", onHost(10250, "{containerPort: 10250}"), "progress.port must not be a port of Kubernetes"},
		{"a page at the API server's port", onHost(6443, "{containerPort: 6443}"), "progress.port must not be a port of Kubernetes"},
		{"a page at etcd's port", onHost(2379, "{containerPort: 2379}"), "progress.port must not be a port of Kubernetes"},
		{"a page on a port of root", "{framework: JAX, progress: {port: 80}, replicaSpecs: {Worker: {template: " + template + "}}}", "spec.progress.port"},
		{"no image", "{framework: JAX, replicaSpecs: {Worker: {template: {spec: {containers: [{name: main}]}}}}}", "a container has no image"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, err := schema.Job([]byte(head + "spec: " + c.spec)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
		})
	}
}

// A merge key may be written over.
func TestMergeKeys(t *testing.T) {
	job, err := schema.Job([]byte(head + "spec: {framework: PyTorch, replicaSpecs: {Master: &r {replicas: 1, template: " + template + "}, Worker: {<<: *r, replicas: 3}}}"))
	if err != nil || ptr.Deref(job.Spec.ReplicaSpecs["Worker"].Replicas, 0) != 3 {
		t.Errorf("job %+v, error %v", job, err)
	}
}

func TestAnotherKind(t *testing.T) {
	if _, err := schema.Job([]byte("apiVersion: v1\nkind: Pod\nmetadata: {name: p}")); !errors.Is(err, schema.ErrOtherKind) {
		t.Errorf("error %v", err)
	}
	if _, err := schema.Job([]byte("a: [")); err == nil || !strings.Contains(err.Error(), "no YAML") {
		t.Errorf("error %v", err)
	}
}

package main

import "sigs.k8s.io/controller-runtime/pkg/client"

var pyTorchJobKind = kind{
	yaml: `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
spec:
  pytorchReplicaSpecs:
    Master: {replicas: 1, restartPolicy: ExitCode, template: $TEMPLATE}
    Worker: {replicas: $PEERS, restartPolicy: ExitCode, template: $TEMPLATE}
`,
	container: "pytorch",
}

// pyTorchJob is that of Kubeflow's Training Operator.
var pyTorchJob = contender{
	name: "PyTorchJob", peers: []string{"training-operator"}, processes: []string{"training-operator"}, asks: []string{"system:serviceaccount:kubeflow:"},
	kinds: []client.Object{pyTorchJobKind.object()}, job: pyTorchJobKind.job,
	cannot: map[string]string{rowRestart: "makes the failed pod again, whatever its framework"},
}

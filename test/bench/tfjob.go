package main

import "sigs.k8s.io/controller-runtime/pkg/client"

// tfJobKind has workers only, so that all of its pods are alike.
var tfJobKind = kind{
	yaml: `
apiVersion: kubeflow.org/v1
kind: TFJob
spec:
  tfReplicaSpecs:
    Worker: {replicas: $PODS, restartPolicy: ExitCode, template: $TEMPLATE}
`,
	container: "tensorflow",
}

// tfJob is that of Kubeflow's Training Operator. Each of its pods has the addresses of all in its environment.
var tfJob = contender{
	name: "TFJob", peers: pyTorchJob.peers, processes: pyTorchJob.processes, asks: pyTorchJob.asks,
	kinds: []client.Object{tfJobKind.object()}, job: tfJobKind.job,
	cannot: map[string]string{
		rowRestart: pyTorchJob.cannot[rowRestart],
		rowHuge:    "the TF_CONFIG of each pod, with the names of all, would be longer than Linux lets a variable be",
	},
}

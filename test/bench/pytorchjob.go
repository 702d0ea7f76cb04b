package main

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// formerNamespace is where this operator serves no jobs, so that Kubeflow's can run them.
const formerNamespace = "bench-former"

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
	namespace: formerNamespace, kinds: []client.Object{pyTorchJobKind.object()}, job: pyTorchJobKind.job,
	cannot: map[string]string{rowRestart: "makes the failed pod again, whatever its framework"},
}

// servedPyTorchJob is served by this operator. It can not be beside Kubeflow's, which runs during the whole row of the lost node.
var servedPyTorchJob = contender{
	name: "PyTorchJob, served", processes: trainingJob.processes, asks: trainingJob.asks, kinds: pyTorchJob.kinds, job: pyTorchJobKind.job,
	only: []string{rowLarge, rowSmall, rowHuge, rowRestart, rowReplace, rowRest}, cannot: map[string]string{rowReplace: "restarts the whole job"},
}

// bareServedPyTorchJob has no Service for each replica.
var bareServedPyTorchJob = contender{
	name: "PyTorchJob, served, one Service", processes: trainingJob.processes, asks: trainingJob.asks, kinds: pyTorchJob.kinds,
	job: bareServedJob, only: []string{rowLarge, rowSmall, rowHuge, rowRestart, rowRest},
}

func bareServedJob(b *bench, i int, s shape, r recovery) ([]client.Object, error) {
	objects, err := pyTorchJobKind.job(b, i, s, r)
	for _, job := range objects {
		job.SetAnnotations(map[string]string{v1alpha1.AnnotationReplicaServices: "None"})
	}
	return objects, err
}

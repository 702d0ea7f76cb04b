package main

import (
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

var trainJobKind = kind{
	yaml: `
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
spec:
  runtimeRef: {apiGroup: trainer.kubeflow.org, kind: TrainingRuntime, name: $SHARED}
  trainer: {numNodes: $PODS}
`,
}

// trainingRuntimeKind is upstream's torch-distributed with the bench's pods.
var trainingRuntimeKind = kind{
	yaml: `
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      failurePolicy: {maxRestarts: $RESTARTS}
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {backoffLimit: $BACKOFF, template: $TEMPLATE}
`,
	container:  "node",
	recoveries: jobSetKind.recoveries,
}

// trainJob is that of Kubeflow Trainer, which makes JobSets.
var trainJob = contender{
	name: "TrainJob", peers: []string{"jobset", "trainer"}, processes: []string{"jobset", "trainer"},
	asks:  []string{"system:serviceaccount:kubeflow-system:", "system:serviceaccount:jobset-system:"},
	kinds: []client.Object{trainJobKind.object(), trainingRuntimeKind.object()}, shared: trainingRuntimeKind.shared, job: trainJobKind.job,
}

// servedRuntimeKind has JobSets run by this operator.
var servedRuntimeKind = kind{
	yaml: strings.Replace(trainingRuntimeKind.yaml, "failurePolicy", "managedBy: trainingjob.dev/operator\n      failurePolicy", 1), container: "node", recoveries: jobSetKind.recoveries,
}

// servedTrainJob is the same TrainJob, whose JobSet this operator runs.
var servedTrainJob = contender{
	name: "TrainJob, served", peers: trainJob.peers, processes: []string{"jobset", "trainer", "operator"}, asks: append([]string{"trainingjob-operator/"}, trainJob.asks...),
	kinds: trainJob.kinds, shared: servedRuntimeKind.shared, job: trainJobKind.job, only: []string{rowLarge, rowSmall, rowHuge, rowRestart, rowRest},
}

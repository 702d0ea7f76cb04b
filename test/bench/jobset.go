package main

import "sigs.k8s.io/controller-runtime/pkg/client"

var jobSetKind = kind{
	yaml: `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
spec:
  failurePolicy: {maxRestarts: $RESTARTS}
  replicatedJobs:
  - name: worker
    template:
      spec: {parallelism: $PODS, completions: $PODS, completionMode: Indexed, backoffLimit: $BACKOFF, template: $TEMPLATE}
`,
	recoveries: map[recovery]map[string]string{
		whole:  {"RESTARTS": "100", "BACKOFF": "0"},
		single: {"RESTARTS": "0", "BACKOFF": "100"},
	},
}

// jobSet restarts as a whole by its failure policy; a single pod is made again by the Job that it consists of.
var jobSet = contender{
	name: "JobSet", peers: []string{"jobset"}, processes: []string{"jobset"}, asks: []string{"system:serviceaccount:jobset-system:"},
	kinds: []client.Object{jobSetKind.object()}, job: jobSetKind.job,
}

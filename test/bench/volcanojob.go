package main

import "sigs.k8s.io/controller-runtime/pkg/client"

var volcanoJobKind = kind{
	yaml: `
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
spec:
  schedulerName: volcano
  queue: default
  minAvailable: $PODS
  maxRetry: 100
  policies: [{event: PodFailed, action: $ACTION}, {event: PodEvicted, action: $ACTION}]
  tasks: [{name: worker, replicas: $PODS, template: $TEMPLATE}]
`,
	recoveries: map[recovery]map[string]string{whole: {"ACTION": "RestartJob"}, single: {"ACTION": "RestartPod"}},
}

// volcanoJob is a gang that Volcano's own scheduler places. What that spends does not count, as that of Kubernetes' does not for the others.
var volcanoJob = contender{
	name: "Volcano Job", peers: []string{"volcano"}, processes: []string{"volcano-controller-manager"}, asks: []string{"controller-manager/"},
	kinds: []client.Object{volcanoJobKind.object()}, job: volcanoJobKind.job,
}

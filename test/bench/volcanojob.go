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

// volcanoJob is a gang that Volcano's own scheduler places, whose requests count as its controllers'.
var volcanoJob = contender{
	name: "Volcano Job", peers: []string{"volcano"}, asks: []string{"controller-manager/", "scheduler/"},
	kinds: []client.Object{volcanoJobKind.object()}, job: volcanoJobKind.job,
}

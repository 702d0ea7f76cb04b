package main

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var leaderWorkerSetKind = kind{
	yaml: `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
spec:
  replicas: 1
  leaderWorkerTemplate: {size: $PODS, restartPolicy: $POLICY, workerTemplate: $TEMPLATE}
`,
	restart:    corev1.RestartPolicyAlways,
	recoveries: map[recovery]map[string]string{whole: {"POLICY": "RecreateGroupOnPodRestart"}, single: {"POLICY": "None"}},
}

// leaderWorkerSet consists of StatefulSets, which make its pods. It is for serving: its pods never succeed, and an exit does not end them.
var leaderWorkerSet = contender{
	name: "LeaderWorkerSet", peers: []string{"lws"}, processes: []string{"lws"}, asks: []string{"system:serviceaccount:lws-system:"},
	kinds: []client.Object{leaderWorkerSetKind.object()}, job: leaderWorkerSetKind.job,
	restartsContainers: true,
}

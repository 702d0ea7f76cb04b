package main

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAPeersJobHasThePodsAndTheRecoveryThatWereAskedFor(t *testing.T) {
	b := &bench{options: options{namespace: "here", image: "pause"}}
	for _, test := range []struct {
		kind     kind
		recovery recovery
		path     []string
		want     any
	}{
		{jobSetKind, whole, []string{"spec", "failurePolicy", "maxRestarts"}, int64(100)},
		{jobSetKind, single, []string{"spec", "failurePolicy", "maxRestarts"}, int64(0)},
		{trainingRuntimeKind, whole, []string{"spec", "template", "spec", "failurePolicy", "maxRestarts"}, int64(100)},
		{servedRuntimeKind, whole, []string{"spec", "template", "spec", "managedBy"}, "trainingjob.dev/operator"},
		{trainJobKind, whole, []string{"spec", "trainer", "numNodes"}, int64(8)},
		{pyTorchJobKind, single, []string{"spec", "pytorchReplicaSpecs", "Worker", "replicas"}, int64(7)},
		{tfJobKind, single, []string{"spec", "tfReplicaSpecs", "Worker", "replicas"}, int64(8)},
		{tfJobKind, single, []string{"spec", "tfReplicaSpecs", "Worker", "template", "spec", "restartPolicy"}, string(corev1.RestartPolicyNever)},
		{volcanoJobKind, whole, []string{"spec", "minAvailable"}, int64(8)},
		{leaderWorkerSetKind, whole, []string{"spec", "leaderWorkerTemplate", "restartPolicy"}, "RecreateGroupOnPodRestart"},
		{leaderWorkerSetKind, single, []string{"spec", "leaderWorkerTemplate", "restartPolicy"}, "None"},
		{leaderWorkerSetKind, single, []string{"spec", "leaderWorkerTemplate", "workerTemplate", "metadata", "labels", benchLabel}, "pod"},
		{leaderWorkerSetKind, single, []string{"spec", "leaderWorkerTemplate", "workerTemplate", "spec", "restartPolicy"}, string(corev1.RestartPolicyAlways)},
		{pyTorchJobKind, single, []string{"metadata", "namespace"}, "here"},
	} {
		objects, err := test.kind.job(b, 3, shape{1, 8}, test.recovery)
		if err != nil {
			t.Fatal(err)
		}
		object, ok := objects[0].(*unstructured.Unstructured)
		if !ok {
			t.Fatalf("%T is no object of a peer", objects[0])
		}
		got, _, err := unstructured.NestedFieldNoCopy(object.Object, test.path...)
		if err != nil || got != test.want {
			t.Errorf("%s, recovery %s: %v is %v (error %v), want %v", object.GetKind(), test.recovery, test.path, got, err, test.want)
		}
	}
}

// A kubelet starts the containers of such pods again, so that an exit never makes them Failed.
func TestWhoseContainersStartAgainIsNotRestartedByAFailedPod(t *testing.T) {
	for _, test := range []struct {
		contender contender
		kind      kind
	}{
		{jobSet, jobSetKind}, {pyTorchJob, pyTorchJobKind}, {tfJob, tfJobKind}, {trainJob, trainJobKind}, {volcanoJob, volcanoJobKind},
		{leaderWorkerSet, leaderWorkerSetKind},
	} {
		if want := test.kind.restart == corev1.RestartPolicyAlways; test.contender.restartsContainers != want {
			t.Errorf("%s: restarts containers is %t, want %t", test.contender.name, !want, want)
		}
	}
}

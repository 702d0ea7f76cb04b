package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/framework"
	"github.com/trainingjob/operator/pkg/job/state"
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
	job: bareServedJob, only: []string{rowLarge, rowSmall},
}

func bareServedJob(b *bench, i int, s shape, r recovery) ([]client.Object, error) {
	objects, err := pyTorchJobKind.job(b, i, s, r)
	for _, job := range objects {
		job.SetAnnotations(map[string]string{v1alpha1.AnnotationReplicaServices: "None"})
	}
	return objects, err
}

// pyTorchObjects are the pods and Services of PyTorchJobs, made by hand. They show the cost of the objects without an operator.
var pyTorchObjects = contender{
	name: "PyTorchJob's objects by hand", kinds: []client.Object{&corev1.Pod{}, &corev1.Service{}}, job: objectsOfPyTorchJob, only: []string{rowSmall},
}

func objectsOfPyTorchJob(b *bench, i int, s shape, _ recovery) ([]client.Object, error) {
	job := b.trainingJob("objects", i, s)
	job.UID = types.UID(fmt.Sprintf("bench-%d", i))
	environment := framework.Environment(job)
	var objects []client.Object
	for index := range s.pods {
		slot := state.Slot{Role: v1alpha1.Worker, Index: index}
		pod := build.Pod(job, slot, state.Life{}, environment(slot), nil)
		pod.OwnerReferences = nil
		objects = append(objects, pod, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, Labels: map[string]string{benchLabel: "service"}},
			Spec: corev1.ServiceSpec{
				ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Ports: []corev1.ServicePort{{Port: 23456}},
				Selector: map[string]string{v1alpha1.LabelJobUID: pod.Labels[v1alpha1.LabelJobUID], v1alpha1.LabelIndex: pod.Labels[v1alpha1.LabelIndex]},
			},
		})
	}
	return objects, nil
}

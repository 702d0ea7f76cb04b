package build

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Service returns the headless Service that gives named pods of the job their names in DNS. It selects by a label of its own, so that it
// can stay unchanged when the job changes during a suspension. Names need no ports, but a service mesh encrypts only traffic to the ports
// of a Service.
func Service(job *v1alpha1.TrainingJob, ports []int32) *corev1.Service {
	var own []corev1.ServicePort
	for _, number := range ports { // with a protocol, so that a mesh does not guess one
		own = append(own, corev1.ServicePort{Name: fmt.Sprintf("tcp-%d", number), Port: number, Protocol: corev1.ProtocolTCP, AppProtocol: ptr.To("tcp")})
	}
	return &corev1.Service{
		ObjectMeta: metaOf(job, job.Name),
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone,
			// ranks look each other up before they are ready, so no init container has to wait for DNS
			PublishNotReadyAddresses: true,
			Ports:                    own,
			// a pod on a lost node loses its job-name label, and so its place here
			Selector: map[string]string{v1alpha1.LabelJobUID: string(job.UID), v1alpha1.LabelJobName: job.Name, v1alpha1.LabelNamed: "true"},
		},
	}
}

// DeclaredPorts returns the TCP ports that the job's templates declare.
func DeclaredPorts(job *v1alpha1.TrainingJob) []int32 {
	var ports []int32
	for _, role := range job.Spec.Roles() {
		ports = append(ports, declaredPorts(new(job.Spec.ReplicaSpecs[role].Template.Spec))...)
	}
	return ports
}

func declaredPorts(pod *corev1.PodSpec) (ports []int32) {
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, port := range c.Ports {
			if port.Protocol == "" || port.Protocol == corev1.ProtocolTCP {
				ports = append(ports, port.ContainerPort)
			}
		}
	}
	return ports
}

// Address returns the DNS name of a slot, the same in every life: "<job>-<role>-<index>.<job>.<namespace>.svc", or only its first part if each
// replica has a Service of its own.
func Address(job *v1alpha1.TrainingJob, slot state.Slot) string {
	if state.HasReplicaServices(job) {
		return state.HostName(job.Name, slot)
	}
	return state.HostName(job.Name, slot) + "." + job.Name + "." + job.Namespace + ".svc"
}

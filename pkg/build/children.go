package build

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
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
		ObjectMeta: metav1.ObjectMeta{
			Name: job.Name, Namespace: job.Namespace, Labels: JobLabels(job), OwnerReferences: Owners(job),
		},
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
		template := job.Spec.ReplicaSpecs[role].Template.Spec
		for _, c := range slices.Concat(template.InitContainers, template.Containers) {
			for _, port := range c.Ports {
				if port.Protocol == "" || port.Protocol == corev1.ProtocolTCP {
					ports = append(ports, port.ContainerPort)
				}
			}
		}
	}
	return ports
}

// PortsByRole returns the port of each role, as Port does.
func PortsByRole(job *v1alpha1.TrainingJob, name string, fallback int32) []int32 {
	var ports []int32
	for _, role := range job.Spec.Roles() {
		ports = append(ports, Port(job, role, name, fallback))
	}
	return ports
}

// Group returns the pod group as the present attempt's own.
func Group(job *v1alpha1.TrainingJob, group state.Object) state.Object {
	group.SetName(state.GroupNameOf(job))
	group.SetNamespace(job.Namespace)
	group.SetLabels(JobLabels(job))
	group.SetOwnerReferences(Owners(job))
	return group
}

// Spare returns a role's i-th placeholder pod: the shape and images of a replica, without its work. It ends within a second.
func Spare(job *v1alpha1.TrainingJob, role v1alpha1.Role, i int, avoided []string, priorityClass string) *corev1.Pod {
	pod, spares := podOf(job, state.SpareName(job.Name, role, i), role), job.Spec.ReplicaSpecs[role].Spares
	maps.Copy(pod.Labels, map[string]string{
		v1alpha1.LabelJobUID: string(job.UID),
		v1alpha1.LabelSpare:  strings.ToLower(string(role)),
	})
	pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	pod.Spec.TerminationGracePeriodSeconds = ptr.To[int64](leastGrace)
	pod.Spec.Containers = append(pod.Spec.Containers, sideCars(&pod.Spec)...)
	pod.Spec.InitContainers = nil
	for i := range pod.Spec.Volumes { // it must not hold a volume that a replica needs
		if state.IsClaim(pod.Spec.Volumes[i]) {
			pod.Spec.Volumes[i].VolumeSource = corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
		}
	}
	if class := cmp.Or(spares.PriorityClassName, priorityClass); class != "" {
		pod.Spec.PriorityClassName, pod.Spec.Priority, pod.Spec.PreemptionPolicy = class, nil, nil
	}
	command := spares.Command
	if len(command) == 0 {
		command = []string{"sleep", "infinity"}
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		c.Command, c.Args = command, nil
		c.LivenessProbe, c.ReadinessProbe, c.StartupProbe, c.Lifecycle = nil, nil, nil, nil
	}
	avoid(pod, avoided)
	return pod
}

// sideCars returns the init containers that run as long as the pod: they are part of its shape.
func sideCars(spec *corev1.PodSpec) []corev1.Container {
	var list []corev1.Container
	for _, c := range spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			c.RestartPolicy = nil
			list = append(list, c)
		}
	}
	return list
}

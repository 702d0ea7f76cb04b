package invariant

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// shared are the variables that all replicas of an attempt must agree upon.
var shared = []string{"WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "PET_NNODES", "JAX_NUM_PROCESSES", "JAX_COORDINATOR_ADDRESS", "TF_CONFIG", v1alpha1.EnvLeaderAddress}

// leaders are the variables that say where the leader is.
var leaders = []string{"MASTER_ADDR", "JAX_COORDINATOR_ADDRESS", v1alpha1.EnvLeaderAddress}

// checkRendezvous: all pods of an attempt see the same cluster, and each has a rank of its own.
func (c *Checker) checkRendezvous(h *history, pod *corev1.Pod, job *v1alpha1.TrainingJob, slot state.Slot, life state.Life) {
	rank := pod.Labels[v1alpha1.LabelRank]
	if other, taken := h.ranks[rank]; taken && other != slot {
		c.violate("15 rendezvous: %s has rank %s, as %s has", pod.Name, rank, other)
	}
	h.ranks[rank] = slot
	if job.Spec.Elastic != nil || slot.Role == v1alpha1.Evaluator {
		return
	}
	var seen []string
	for _, v := range pod.Spec.Containers[0].Env {
		if slices.Contains(shared, v.Name) {
			cluster, _, _ := strings.Cut(v.Value, `"task"`) // TF_CONFIG says behind it who the replica is
			seen = append(seen, v.Name+"="+cluster)
		}
		if host := leaderHost(job); slices.Contains(leaders, v.Name) && !strings.HasPrefix(v.Value, host) {
			c.violate("15 rendezvous: %s has %s=%s, the leader is %s", pod.Name, v.Name, v.Value, host)
		}
		if want := strconv.Itoa(worldSize(&job.Spec)); v.Name == "WORLD_SIZE" && v.Value != want {
			c.violate("15 rendezvous: %s has WORLD_SIZE %s, not %s", pod.Name, v.Value, want)
		}
	}
	text := strings.Join(seen, " ")
	if before, known := h.rendezvous[life.Attempt]; known && before != text {
		c.violate("15 rendezvous: %s sees %s, another pod of the attempt %s", pod.Name, text, before)
	}
	h.rendezvous[life.Attempt] = text
}

// checkMeeting: the pods of an attempt that can be restarted in place meet at one port of their leader, which the attempt before had not, unless the
// template says where: then it is that one.
func (c *Checker) checkMeeting(h *history, pod *corev1.Pod, job *v1alpha1.TrainingJob, life state.Life) {
	meets, port := meetsAtPort(&job.Spec), pod.Annotations[v1alpha1.AnnotationLeaderPort]
	if isTold := meets && pod.Annotations[v1alpha1.AnnotationInPlaceRestart] != ""; isTold != (port != "") {
		c.violate("15 rendezvous: %s has the leader's port %q", pod.Name, port)
	}
	if known, has := h.ports[life.Attempt]; has && known != port {
		c.violate("15 rendezvous: %s meets at %q, another pod of the attempt at %q", pod.Name, port, known)
	}
	if ports := pod.Spec.Containers[0].Ports; meets && len(ports) > 0 && !pod.Spec.HostNetwork && port != "" && port != strconv.Itoa(int(ports[0].ContainerPort)) {
		c.violate("15 rendezvous: %s meets at %s and declares %v", pod.Name, port, ports)
	}
	if before, has := h.ports[life.Attempt-1]; has && before == port && port != "" && movesPort(&job.Spec) {
		c.violate("15 rendezvous: %s meets at %s, as the attempt before did", pod.Name, port)
	}
	h.ports[life.Attempt] = port
}

// checkProvenance: a pod is the user's template and the documented injections, nothing else.
func (c *Checker) checkProvenance(pod *corev1.Pod, job *v1alpha1.TrainingJob, slot state.Slot) {
	template := job.Spec.ReplicaSpecs[slot.Role].Template
	got := pod.Spec // a copy of what is changed below only
	if scheduling := job.Spec.Scheduling; scheduling != nil {
		got.SchedulerName = own(got.SchedulerName, template.Spec.SchedulerName, scheduling.SchedulerName)
		got.PriorityClassName = own(got.PriorityClassName, template.Spec.PriorityClassName, scheduling.PriorityClassName)
		got.SchedulingGroup = template.Spec.SchedulingGroup // invariant 17 has looked at it
	}
	got.Hostname, got.Subdomain, got.RestartPolicy = template.Spec.Hostname, template.Spec.Subdomain, template.Spec.RestartPolicy
	if own := template.Spec.TerminationGracePeriodSeconds; own != nil && *own == 0 {
		if *got.TerminationGracePeriodSeconds != 1 {
			c.violate("3 fence: %s has %d s to end: the API server removes it before its node has ended it", pod.Name, *got.TerminationGracePeriodSeconds)
		}
		got.TerminationGracePeriodSeconds = own
	}
	c.takeFilesOff(pod, &got, job, slot)
	c.takeGateOff(pod, &got)
	c.takeStopFileOff(pod, &got, job)
	c.takeNodesNetworkOff(pod, &got, job, slot)
	got.Containers, got.InitContainers = ownEnv(got.Containers, template.Spec.Containers), ownEnv(got.InitContainers, template.Spec.InitContainers)
	// the tolerations that make eviction from a broken node quick stand at the end; nodes that are avoided, unhealthy or silent are in the affinity
	if n := len(template.Spec.Tolerations); len(got.Tolerations) >= n {
		got.Tolerations = got.Tolerations[:n]
	}
	if pod.Annotations[v1alpha1.AnnotationExcludedNodes] != "" || c.mayPrefer(job) {
		got.Affinity = template.Spec.Affinity
	}
	if !equality.Semantic.DeepEqual(&template.Spec, &got) {
		c.violate("16 provenance: %s is not its template", pod.Name)
	}
	for name, value := range pod.Labels {
		ours := strings.HasPrefix(name, v1alpha1.Group+"/") || strings.HasPrefix(name, "training.kubeflow.org/")
		if !ours && template.Labels[name] != value {
			c.violate("16 provenance: %s has the label %s=%s from nowhere", pod.Name, name, value)
		}
	}
}

// takeNodesNetworkOff takes off what only a pod on the network of its node has: names of the cluster, and the ports at which it listens for its peers.
func (c *Checker) takeNodesNetworkOff(pod *corev1.Pod, got *corev1.PodSpec, job *v1alpha1.TrainingJob, slot state.Slot) {
	template := job.Spec.ReplicaSpecs[slot.Role].Template.Spec
	if !template.HostNetwork {
		return
	}
	if template.DNSPolicy == "" && got.DNSPolicy != "ClusterFirstWithHostNet" {
		c.violate("15 rendezvous: %s has hostNetwork and dnsPolicy %q, so it finds no peer", pod.Name, got.DNSPolicy)
	}
	got.DNSPolicy, got.Containers = template.DNSPolicy, slices.Clone(got.Containers)
	all := got.Containers[0].Ports
	if meetsAtPort(&job.Spec) && slot == leader(&job.Spec) {
		port := pod.Annotations[v1alpha1.AnnotationLeaderPort]
		if len(all) == 0 || port != "" && !slices.ContainsFunc(all, func(p corev1.ContainerPort) bool { return strconv.Itoa(int(p.ContainerPort)) == port }) {
			c.violate("15 rendezvous: %s listens at port %q of its node and declares %v", pod.Name, port, all)
		}
	}
	got.Containers[0].Ports = template.Containers[0].Ports
	if own := len(got.Containers[0].Ports); slices.ContainsFunc(all[own:], func(p corev1.ContainerPort) bool { return p.HostPort != p.ContainerPort }) {
		c.violate("15 rendezvous: %s declares %v", pod.Name, all)
	}
}

// mayPrefer reports whether a pod may prefer some nodes: others than those that are avoided, unhealthy or silent, or those of one domain.
func (c *Checker) mayPrefer(job *v1alpha1.TrainingJob) bool {
	prefersDomain := job.Spec.Scheduling != nil && job.Spec.Scheduling.Topology != nil && !requiresDomain(&job.Spec)
	return len(job.Status.AvoidedNodes) > 0 || c.writer.Late || c.knowsUnhealthy() || prefersDomain
}

// own returns the template's word for what is the template's, or else the job's; what is neither stays.
func own(got, template, job string) string {
	if got == cmp.Or(template, job) {
		return template
	}
	return got
}

// ownEnv returns the containers with the variables that the template sets, which stand at the end, and without the policy by which they
// leave last words if the template names none.
func ownEnv(got, template []corev1.Container) []corev1.Container {
	stripped := slices.Clone(got)
	for i := range stripped {
		if n := len(stripped[i].Env); i < len(template) && n >= len(template[i].Env) {
			stripped[i].Env = stripped[i].Env[n-len(template[i].Env):]
		}
		if i < len(template) && template[i].TerminationMessagePolicy == "" && stripped[i].TerminationMessagePolicy == "FallbackToLogsOnError" {
			stripped[i].TerminationMessagePolicy = ""
		}
	}
	return stripped
}

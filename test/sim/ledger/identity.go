package ledger

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Identity returns what does not hold of a pod that was created as that life of the job.
func Identity(job *v1alpha1.TrainingJob, pod *corev1.Pod, is Life) []string {
	var s sentences
	s.owner(job, pod)
	want := map[string]string{
		v1alpha1.LabelJobName: job.Name, v1alpha1.LabelJobUID: string(job.UID),
		v1alpha1.LabelRole: is.Role, v1alpha1.LabelIndex: strconv.Itoa(is.Index), v1alpha1.LabelAttempt: strconv.Itoa(is.Attempt),
		v1alpha1.LabelLife:            fmt.Sprintf("%d-%d", is.Attempt, is.Replacement),
		v1alpha1.KubeflowLabelJobName: job.Name, v1alpha1.KubeflowLabelReplicaType: is.Role, v1alpha1.KubeflowLabelReplicaIndex: strconv.Itoa(is.Index),
	}
	for label, value := range want {
		s.must(pod.Labels[label] == value, "1 identity: label %s of %s is %q, not %q", label, pod.Name, pod.Labels[label], value)
	}
	s.must((pod.Labels[v1alpha1.LabelNamed] == "true") == (AllNamed(job) || is.Slot() == leader(job)), "15 rendezvous: that %s can be found in DNS is %q", pod.Name, pod.Labels[v1alpha1.LabelNamed])
	s.must(pod.Spec.Hostname == job.Name+"-"+is.Slot() && pod.Spec.Subdomain == job.Name, "15 rendezvous: %s is %s.%s in DNS", pod.Name, pod.Spec.Hostname, pod.Spec.Subdomain)
	s.must(pod.Spec.RestartPolicy == corev1.RestartPolicyNever, "1 identity: %s has restartPolicy %s", pod.Name, pod.Spec.RestartPolicy)
	return s.Broken
}

// AllNamed reports whether the job's Service is to name all replicas, and not the leader alone.
func AllNamed(job *v1alpha1.TrainingJob) bool {
	if network := job.Spec.Network; network != nil && network.DNSNames != "" {
		return network.DNSNames == "All"
	}
	return job.Spec.Framework != "JAX" && (job.Spec.Framework != "PyTorch" || job.Spec.Elastic != nil)
}

// leader returns the slot that leads the job, as "master-0".
func leader(job *v1alpha1.TrainingJob) string {
	for role, replicas := range job.Spec.ReplicaSpecs {
		name := strings.ToLower(string(role))
		if slices.Contains([]string{"chief", "master", "launcher"}, name) && (replicas.Replicas == nil || *replicas.Replicas > 0) {
			return name + "-0"
		}
	}
	return "worker-0"
}

func (s *sentences) owner(job *v1alpha1.TrainingJob, pod *corev1.Pod) {
	s.must(HasOwners(pod, job), "1 identity: %s has the owners %v, not those of job %s", pod.Name, pod.OwnerReferences, job.UID)
}

// Meeting returns what does not hold if a pod is created while another one of a job of the same name can act; empty if they may meet.
func Meeting(created, other *corev1.Pod) string {
	ours, theirs := OwnerOf(created), OwnerOf(other)
	is, _ := LifeOf(ours.Name, created.Name)
	was, restarting, named := Present(theirs.Name, other)
	switch {
	case ours.UID != theirs.UID:
		return fmt.Sprintf("3 fence: %s was created while %s of an earlier job could run", created.Name, other.Name)
	case !named:
		return ""
	case was.Slot() == is.Slot():
		return fmt.Sprintf("2 uniqueness: %s was created while %s could run", created.Name, other.Name)
	case was.Attempt < is.Attempt:
		return fmt.Sprintf("3 fence: %s was created while %s of an earlier attempt could run", created.Name, other.Name)
	case restarting && !isAlone(other, is):
		return fmt.Sprintf("3 fence: %s was created while the old process of %s, which restarts in place, could run", created.Name, other.Name)
	}
	return ""
}

// isAlone reports whether the pod, which restarts in place, leaves a life of the same attempt: the other replicas may go on.
func isAlone(restarting *corev1.Pod, other Life) bool {
	var from Life
	from.tell(ToldOf(restarting).From)
	return from.Attempt == other.Attempt
}

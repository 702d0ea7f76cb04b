package state

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// restartsInPlace reports whether the kubelet starts the main or another container, which has ended with that code, again in its pod, as the
// container's own restart policy or rules say. A pod that has ended as a whole starts nothing again.
func restartsInPlace(pod *corev1.Pod, name string, code int32) bool {
	if isEnd(pod.Status.Phase) {
		return false
	}
	if slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.AllContainersRestarting && c.Status == corev1.ConditionTrue
	}) {
		return true
	}
	container := containerOf(pod, name)
	if container == nil {
		return false
	}
	byRule := slices.ContainsFunc(container.RestartPolicyRules, func(rule corev1.ContainerRestartRule) bool { return MatchesExit(&rule, code) })
	policy := ptr.Deref(container.RestartPolicy, corev1.ContainerRestartPolicyNever)
	return byRule || policy == corev1.ContainerRestartPolicyAlways || policy == corev1.ContainerRestartPolicyOnFailure && code != 0
}

// MatchesExit reports whether the rule is about containers that end with this exit code.
func MatchesExit(rule *corev1.ContainerRestartRule, code int32) bool {
	if rule.ExitCodes == nil {
		return false
	}
	in := slices.Contains(rule.ExitCodes.Values, code)
	return in == (rule.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn)
}

// byDigest returns the image of the main container by its digest, "repo@sha256:...", if the container has begun and its node reports a digest
// of that repository: every name with that digest has the same bytes. It is empty without such a digest, for example for an image that
// was loaded without a registry, and if the containers share their processes: others of them may end with the process that they watch.
func byDigest(pod *corev1.Pod, main corev1.ContainerStatus) string {
	c := MainOf(pod)
	if main.State.Running == nil && main.State.Terminated == nil && !waitsWithEnd(pod, &main) || c == nil || ptr.Deref(pod.Spec.ShareProcessNamespace, false) {
		return ""
	}
	runs, err := reference.ParseNormalizedNamed(strings.TrimPrefix(main.ImageID, "docker-pullable://"))
	if err != nil {
		return ""
	}
	asked, err := reference.ParseNormalizedNamed(c.Image)
	digested, isDigested := runs.(reference.Digested)
	if err != nil || !isDigested || asked.Name() != runs.Name() {
		return ""
	}
	return runs.Name() + "@" + digested.Digest().String()
}

// ImageFor returns a name of an image by digest that only this life has. A kubelet restarts a container whose image has changed, at once
// if it has not ended under that name before. The kubelet ignores the tag beside a digest.
func ImageFor(byDigest string, life Life) string {
	repository, digest, _ := strings.Cut(byDigest, "@")
	return repository + ":life-" + life.String() + "@" + digest
}

// KeepsPods reports whether the pods of the present attempt support a restart in place. Their variables and their port depend on it, so
// later changes of the spec count for the next attempt.
func KeepsPods(job *v1alpha1.TrainingJob) bool {
	return cmp.Or(job.Status.Memory.RestartMethod, MethodOf(&job.Spec)) == v1alpha1.RestartInPlace
}

// MethodOf returns how a whole-job restart gives the replicas that are well their next life. Where the job does not say, they go on in their
// pods if old and new ranks cannot meet, as each attempt has a port of its own, and no program is waited for longer than if its pod were
// deleted.
func MethodOf(spec *v1alpha1.TrainingJobSpec) v1alpha1.RestartMethod {
	if method := spec.Recovery.RestartMethod; method != "" {
		return method
	}
	most := int64(ptr.Deref(spec.Recovery.TerminationGraceSeconds, v1alpha1.DefaultTerminationGraceSeconds))
	takesLonger := func(role v1alpha1.Role) bool { return GraceOf(spec, role) > most }
	if !MovesPort(spec) || spec.Elastic != nil || slices.ContainsFunc(spec.Roles(), takesLonger) {
		return v1alpha1.RestartRecreate
	}
	return v1alpha1.RestartInPlace
}

// GraceOf returns how many seconds the pods of the role have to end, by their template.
func GraceOf(spec *v1alpha1.TrainingJobSpec, role v1alpha1.Role) int64 {
	return ptr.Deref(spec.ReplicaSpecs[role].Template.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
}

// restartsWithin is how long after its grace period a container may take to restart in its pod. After that the replica gets a new pod.
const restartsWithin = 15 * time.Second

// RestartsBy returns until when a pod that restarts in place has time to.
func (s *Snapshot) RestartsBy(p *Pod) time.Time {
	return p.Created.Add(time.Duration(GraceOf(&s.Job.Spec, p.Slot.Role))*time.Second + restartsWithin)
}

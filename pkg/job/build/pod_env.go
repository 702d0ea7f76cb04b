package build

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// identity returns the variables that every replica gets, whatever its framework. There are few, as each costs the API
// server time with every write to the pod.
func identity(job *v1alpha1.TrainingJob, slot state.Slot, life state.Life) []corev1.EnvVar {
	env := []corev1.EnvVar{
		ofLife(job, v1alpha1.EnvAttempt, strconv.Itoa(life.Attempt), metadata("labels", v1alpha1.LabelAttempt)),
		ofLife(job, v1alpha1.EnvLife, LifeNumber(job), metadata("annotations", v1alpha1.AnnotationLifeNumber)),
		{Name: v1alpha1.EnvRank, Value: strconv.Itoa(state.Rank(&job.Spec, slot))},
	}
	if state.ReportsByPage(&job.Spec) {
		env = append(env, corev1.EnvVar{Name: v1alpha1.EnvProgressPort, Value: strconv.Itoa(int(job.Spec.Progress.Port))})
	}
	if asks(job) {
		env = append(env, corev1.EnvVar{Name: v1alpha1.EnvCheckpointRequestFile, Value: v1alpha1.StopFile})
	}
	return env
}

// Attempt returns the present attempt as a value for further variables. A container that restarts in its pod reads it again.
func Attempt(job *v1alpha1.TrainingJob) string {
	if state.KeepsPods(job) {
		return "$(" + v1alpha1.EnvAttempt + ")"
	}
	return strconv.Itoa(int(job.Status.Attempt))
}

// ofLife returns a variable of the life that begins. In a pod that can restart in place each start of a container reads it again.
func ofLife(job *v1alpha1.TrainingJob, name, value string, field *corev1.ObjectFieldSelector) corev1.EnvVar {
	if !state.KeepsPods(job) {
		return corev1.EnvVar{Name: name, Value: value}
	}
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: field}}
}

// LifeNumber returns the number of the lives that begin now, as text.
func LifeNumber(job *v1alpha1.TrainingJob) string {
	return strconv.FormatInt(state.LifeNumber(&job.Status), 10)
}

// EnvConflicts returns the names of the variables that the role's template sets although the operator would, sorted. A job that serves a Kubeflow
// job has none: the conversion sets some, and removes the user's where Kubeflow's operator overwrites them.
func EnvConflicts(job *v1alpha1.TrainingJob, slot state.Slot, env []corev1.EnvVar) []string {
	if state.ServedJob(job) != nil {
		return nil
	}
	var conflicts []string
	spec := job.Spec.ReplicaSpecs[slot.Role].Template.Spec
	for _, v := range append(identity(job, slot, state.Life{}), env...) {
		for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
			if state.HasEnv(c.Env, v.Name) {
				conflicts = append(conflicts, v.Name)
			}
		}
	}
	slices.Sort(conflicts)
	return slices.Compact(conflicts)
}

// Port returns the port at which the role's replicas listen: the container port in its template that has the framework's name for it, else the
// framework's default.
func Port(job *v1alpha1.TrainingJob, role v1alpha1.Role) int32 {
	port := state.TraitsOf(job.Spec.Framework).Port
	for _, c := range job.Spec.ReplicaSpecs[role].Template.Spec.Containers {
		for _, p := range c.Ports {
			if p.Name == port.Name {
				return p.ContainerPort
			}
		}
	}
	return port.Default
}

// meetings is how many attempts in a row each meet at a port of their own.
const meetings = 16

// LeaderPort returns the port at which the replicas meet in an attempt; 0 if they do not meet at a port of their leader. If they are restarted in
// place, an old process may still look for its peers when a new leader is there: they do not meet, as each attempt has a port of its own, the first
// or one of the 15 above it. A port that the template declares stays.
func LeaderPort(job *v1alpha1.TrainingJob, attempt int) int32 {
	switch first := leaderPort(job); {
	case !state.TraitsOf(job.Spec.Framework).Meet:
		return 0
	case !state.KeepsPods(job) || !state.MovesPort(&job.Spec):
		return first
	default:
		return first + int32(attempt%meetings)
	}
}

func leaderPort(job *v1alpha1.TrainingJob) int32 { return Port(job, state.Leader(&job.Spec).Role) }

// LeaderPorts returns the ports at which the replicas may meet, in whatever attempt and however it restarts.
func LeaderPorts(job *v1alpha1.TrainingJob) []int32 {
	first := leaderPort(job)
	ports := []int32{first}
	for step := int32(1); step < meetings && state.MovesPort(&job.Spec); step++ {
		ports = append(ports, first+step)
	}
	return ports
}

// Listens returns the TCP ports at which the replica of the slot listens for its peers, in whatever attempt; none for one that only connects, or
// that chooses its ports itself.
func Listens(job *v1alpha1.TrainingJob, slot state.Slot) []int32 {
	switch traits := state.TraitsOf(job.Spec.Framework); {
	case job.Spec.LaunchesBySSH() && slot.Role == v1alpha1.Worker:
		return []int32{SSHPort}
	case traits.Meet && slot == state.Leader(&job.Spec):
		return LeaderPorts(job)
	case traits.Meet, traits.Port.Default == 0, slot.Role == v1alpha1.Evaluator:
		return nil
	default:
		return []int32{Port(job, slot.Role)}
	}
}

// Meeting returns the leader's port as the values of variables have it, and the variables that these refer to.
func Meeting(job *v1alpha1.TrainingJob) (port string, variables []corev1.EnvVar) {
	if !state.KeepsPods(job) {
		return strconv.Itoa(int(leaderPort(job))), nil
	}
	return "$(" + v1alpha1.EnvLeaderPort + ")", []corev1.EnvVar{ofLife(job, v1alpha1.EnvLeaderPort, "", metadata("annotations", v1alpha1.AnnotationLeaderPort))}
}

// TellPort writes the port of the attempt into a pod that can restart in place; 0 for none.
func TellPort(pod *corev1.Pod, port int32) {
	if state.InPlaceRestart(pod) != "" && port != 0 {
		pod.Annotations[v1alpha1.AnnotationLeaderPort] = strconv.Itoa(int(port))
	}
}

func metadata(kind, key string) *corev1.ObjectFieldSelector {
	return &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata." + kind + "['" + key + "']"}
}

// asks reports whether the operator requests a checkpoint from the job's healthy ranks before it stops them.
func asks(job *v1alpha1.TrainingJob) bool {
	return job.Spec.Progress != nil && job.Spec.Progress.CheckpointGraceSeconds > 0
}

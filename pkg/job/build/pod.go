package build

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Pod returns the pod of one life of a slot: the role's template with the injections of the package comment.
// env is what the job's framework wants its launcher to read, avoided the nodes to which it prefers all others.
func Pod(job *v1alpha1.TrainingJob, slot state.Slot, life state.Life, env []corev1.EnvVar, avoided []string) *corev1.Pod {
	pod := podOf(job, state.PodName(job.Name, slot, life), slot.Role)
	maps.Copy(pod.Labels, podLabels(job, slot, life))
	pod.Spec.Hostname = state.HostName(job.Name, slot)
	pod.Spec.Subdomain = job.Name
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	tolerateBriefly(&pod.Spec)
	avoid(pod, avoided)
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1alpha1.AnnotationLifeNumber, LifeNumber(job))
	if state.KeepsPods(job) { // it can restart in place
		pod.Annotations[v1alpha1.AnnotationInPlaceRestart] = state.Told{Life: life}.String()
	}
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, state.AnnotationMain, state.MainContainer(pod))
	env = append(identity(job, slot, life), env...)
	// a side-car that watches the training needs the variables too
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			c := &containers[i]
			// the template's own variables come last, so that they can refer to the others, and win
			injected := slices.DeleteFunc(slices.Clone(env), func(v corev1.EnvVar) bool { return state.HasEnv(c.Env, v.Name) })
			c.Env = append(injected, c.Env...)
			// the CRD has no default for the policy: a template that names File keeps it
			c.TerminationMessagePolicy = cmp.Or(c.TerminationMessagePolicy, corev1.TerminationMessageFallbackToLogsOnError)
		}
	}
	if asks(job) {
		showRequests(&pod.Spec)
	}
	return pod
}

// leastGrace is the shortest time that a pod has to end. The API server removes a pod with none before its node has ended it.
const leastGrace = 1

// podOf returns a pod of a role's template, which has that name and belongs to the job.
func podOf(job *v1alpha1.TrainingJob, name string, role v1alpha1.Role) *corev1.Pod {
	replicas := job.Spec.ReplicaSpecs[role]
	template := replicas.Template.DeepCopy()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: job.Namespace, Labels: template.Labels, Annotations: template.Annotations, OwnerReferences: Owners(job),
		},
		Spec: template.Spec,
	}
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	if grace := pod.Spec.TerminationGracePeriodSeconds; grace != nil && *grace < leastGrace {
		*grace = leastGrace
	}
	return pod
}

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
	port := state.FactsOf(job.Spec.Framework).Port
	for _, c := range job.Spec.ReplicaSpecs[role].Template.Spec.Containers {
		for _, p := range c.Ports {
			if p.Name == port.Name {
				return p.ContainerPort
			}
		}
	}
	return port.Default
}

// stopVolume is the volume of the file of requests to stop.
const stopVolume = "trainingjob-stop"

// asks reports whether the operator requests a checkpoint from the job's healthy ranks before it stops them.
func asks(job *v1alpha1.TrainingJob) bool {
	return job.Spec.Progress != nil && job.Spec.Progress.CheckpointGraceSeconds > 0
}

// showRequests gives every container the file of requests to stop, which the kubelet writes from the pod's annotation. A container that
// has another volume there keeps it.
func showRequests(pod *corev1.PodSpec) {
	folder, file := path.Split(v1alpha1.StopFile)
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: stopVolume, VolumeSource: corev1.VolumeSource{
		DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{{
			Path: file, FieldRef: metadata("annotations", v1alpha1.AnnotationCheckpointRequest)}}}}})
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			c := &containers[i]
			if !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return path.Clean(m.MountPath) == path.Clean(folder) }) {
				c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: stopVolume, MountPath: path.Clean(folder), ReadOnly: true})
			}
		}
	}
}

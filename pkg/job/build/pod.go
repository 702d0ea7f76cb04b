package build

import (
	"cmp"
	"crypto/sha1" //nolint:gosec // as below
	"encoding/hex"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// LeastGrace is the shortest time that a pod has to end. The API server removes a pod with none before its node has ended it.
const LeastGrace = 1

// Pod returns the pod of one life of a slot: the role's template with the injections of the package comment.
// env is what the job's framework wants its launcher to read, avoided the nodes to which it prefers all others.
func Pod(job *v1alpha1.TrainingJob, slot state.Slot, life state.Life, env []corev1.EnvVar, avoided []string) *corev1.Pod {
	replicas := job.Spec.ReplicaSpecs[slot.Role]
	template := replicas.Template.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: metaOf(job, state.PodName(job.Name, slot, life)), Spec: template.Spec}
	pod.Annotations, pod.Labels = template.Annotations, map[string]string{}
	maps.Copy(pod.Labels, template.Labels)
	maps.Copy(pod.Labels, podLabels(job, slot, life))
	pod.Spec.Hostname = state.HostName(job.Name, slot)
	pod.Spec.Subdomain = job.Name
	if _, isIndexed := template.Annotations[batchv1.JobCompletionIndexAnnotation]; isIndexed && state.ServedJob(job) != nil {
		index(pod, template, slot, life)
	}
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	if grace := pod.Spec.TerminationGracePeriodSeconds; grace != nil && *grace < LeastGrace {
		*grace = LeastGrace
	}
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
	if pod.Spec.HostNetwork {
		joinNode(pod, Listens(job, slot))
	}
	return pod
}

// index gives a pod the names of an indexed Job's pod in a JobSet. The annotation of its index in the template is the number of pods of a Job; the host
// name there lacks the two indexes, and the indexes of Jobs are for the first Job. The template has the subdomain and all that the pods have in
// common. Source: pkg/controllers/jobset_controller.go of JobSet 0.12, pkg/controller/job/indexed_job_utils.go of Kubernetes 1.37.
func index(pod *corev1.Pod, template *corev1.PodTemplateSpec, slot state.Slot, life state.Life) {
	const prefix = v1alpha1.JobSetPrefix
	number := func(name string) int { n, _ := strconv.Atoi(template.Annotations[name]); return n }
	pods := max(1, number(batchv1.JobCompletionIndexAnnotation))
	at, name := slot.Index/pods, template.Spec.Hostname+"-"+strconv.Itoa(slot.Index/pods)
	pod.Spec.Hostname, pod.Spec.Subdomain = name+"-"+strconv.Itoa(slot.Index%pods), template.Spec.Subdomain
	key := sha1.Sum([]byte(pod.Namespace + "/" + name)) //nolint:gosec // JobSet's own key of a Job
	for _, texts := range []map[string]string{pod.Labels, pod.Annotations} {
		texts[batchv1.JobCompletionIndexAnnotation], texts[prefix+"restart-attempt"] = strconv.Itoa(slot.Index%pods), strconv.Itoa(life.Attempt)
		texts[prefix+"job-index"], texts[prefix+"job-key"] = strconv.Itoa(at), hex.EncodeToString(key[:])
		for _, first := range []string{prefix + "job-global-index", prefix + "job-group-index"} {
			texts[first] = strconv.Itoa(number(first) + at)
		}
	}
	pod.Labels[batchv1.JobNameLabel], pod.Labels["job-name"] = name, name
}

// joinNode gives a pod on the network of its node the names of the cluster, unless the template has a dnsPolicy, and declares the ports at which it
// listens: the scheduler puts no two pods that declare a port on one node.
func joinNode(pod *corev1.Pod, ports []int32) {
	pod.Spec.DNSPolicy = cmp.Or(pod.Spec.DNSPolicy, corev1.DNSClusterFirstWithHostNet)
	main, declared := state.MainOf(pod), declaredPorts(&pod.Spec)
	for _, port := range ports {
		if main != nil && !slices.Contains(declared, port) {
			main.Ports = append(main.Ports, corev1.ContainerPort{ContainerPort: port, HostPort: port, Protocol: corev1.ProtocolTCP})
		}
	}
}

// gateVolume is the volume that is mounted at the path of the gate. The cluster autoscaler evicts no pod with local volumes, except those that
// disposableVolumes names.
const (
	gateVolume        = "trainingjob-start-gate"
	disposableVolumes = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
)

// neverAgain are the exit codes after which no kubelet starts a container again: success, and the codes of programs that did not begin
// to train. Nearly all of these end before their gate is closed.
var neverAgain = []int32{0, 2, 126, 127, 128}

// Gate gives a pod that can restart in place an open gate, unless the template restarts its main container in its own way: the kubelet then keeps the pod
// when the main container fails, and starts the container again when the gate opens. state.Gate has the facts.
func Gate(pod *corev1.Pod) {
	main := state.MainOf(pod)
	if state.InPlaceRestart(pod) == "" || main == nil || main.RestartPolicy != nil || len(main.RestartPolicyRules) > 0 || state.HasEnv(main.Env, v1alpha1.EnvStartGate) {
		return
	}
	never := corev1.ContainerRestartPolicyNever
	main.RestartPolicy = &never
	main.RestartPolicyRules = []corev1.ContainerRestartRule{{
		Action:    corev1.ContainerRestartRuleActionRestart,
		ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpNotIn, Values: neverAgain},
	}}
	pod.Annotations[v1alpha1.AnnotationStartGate] = v1alpha1.GateOpen
	disposable := strings.FieldsFunc(pod.Annotations[disposableVolumes], func(r rune) bool { return r == ',' })
	pod.Annotations[disposableVolumes] = strings.Join(append(disposable, gateVolume), ",")
	value := &corev1.EnvVarSource{FieldRef: metadata("annotations", v1alpha1.AnnotationStartGate)}
	main.Env = append([]corev1.EnvVar{{Name: v1alpha1.EnvStartGate, ValueFrom: value}}, main.Env...)
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: gateVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: gateVolume, MountPath: "/.trainingjob/start-gate", SubPathExpr: "$(" + v1alpha1.EnvStartGate + ")"})
}

// stopVolume is the volume of the file of requests to stop.
const stopVolume = "trainingjob-stop"

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

// Selector returns the label selector of the pods of one role, as text.
func Selector(job *v1alpha1.TrainingJob, role v1alpha1.Role) string {
	return labels.Set{
		v1alpha1.LabelJobUID: string(job.UID),
		v1alpha1.LabelRole:   strings.ToLower(string(role)),
	}.String()
}

func podLabels(job *v1alpha1.TrainingJob, slot state.Slot, life state.Life) map[string]string {
	own := JobLabels(job)
	role, index := strings.ToLower(string(slot.Role)), strconv.Itoa(slot.Index)
	maps.Copy(own, map[string]string{
		v1alpha1.LabelRole:                 role,
		v1alpha1.LabelIndex:                index,
		v1alpha1.LabelRank:                 strconv.Itoa(state.Rank(&job.Spec, slot)),
		v1alpha1.LabelAttempt:              strconv.Itoa(life.Attempt),
		v1alpha1.LabelLife:                 life.String(),
		v1alpha1.KubeflowLabelReplicaType:  role,
		v1alpha1.KubeflowLabelReplicaIndex: index,
	})
	if slot == state.Leader(&job.Spec) {
		own[v1alpha1.KubeflowLabelJobRole] = "master"
	}
	if served := state.ServedJob(job); served != nil {
		own[v1alpha1.KubeflowLabelOperatorName] = strings.ToLower(served.Kind) + "-controller"
	}
	if state.IsNamed(&job.Spec, slot) {
		own[v1alpha1.LabelNamed] = "true"
	}
	return own
}

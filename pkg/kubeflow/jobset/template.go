package jobset

import (
	"fmt"
	"maps"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// address returns the name in DNS of the first pod of a replicated job. Source: pkg/util/placement of JobSet 0.12.
func (s *JobSet) address(replicated string) string {
	return s.Name + "-" + replicated + "-0-0." + s.subdomain()
}

// common returns what JobSet writes as labels and as annotations on every pod of the replicated job at that place, if its RestartJob gate is off.
// What each pod has of its own comes with it (pkg/job/build): the restart attempt, the completion index, and what names its Job. Source: labelAndAnnotateObject in
// pkg/controllers/jobset_controller.go of JobSet 0.12.
//
//	jobset.sigs.k8s.io/jobset-name                 Trainer's SDK lists pods by it; the selector of JobSet's Service
//	.../jobset-uid, .../replicatedjob-replicas, .../global-replicas, .../job-index, .../job-key
//	                                               JobSet's own; programs read them by the downward API
//	.../replicatedjob-name                         Trainer's SDK takes the step of a pod from it
//	.../job-global-index                           MaxText, and multi-slice TPU jobs, by the downward API
//	.../group-name, .../group-replicas, .../job-group-index
//	                                               the same within a group of replicated jobs
//	.../coordinator                                JAX and others find their coordinator by it
//	batch.kubernetes.io/job-name, job-name         of the Job: kubectl logs -l, Kueue's and users' selectors
func (s *JobSet) common(at int) map[string]string {
	job := &s.Spec.ReplicatedJobs[at]
	var first, all, firstOfGroup, allOfGroup int
	for i := range s.whole {
		other := &s.whole[i]
		if other.Name == job.Name {
			first, firstOfGroup = all, allOfGroup
		}
		all += other.jobs()
		if other.GroupName == job.GroupName {
			allOfGroup += other.jobs()
		}
	}
	texts := map[string]string{
		prefix + "jobset-name":            s.Name,
		prefix + "jobset-uid":             string(s.UID),
		prefix + "replicatedjob-name":     job.Name,
		prefix + "replicatedjob-replicas": strconv.Itoa(job.jobs()),
		prefix + "global-replicas":        strconv.Itoa(all),
		prefix + "job-global-index":       strconv.Itoa(first),
		prefix + "group-name":             job.GroupName,
		prefix + "group-replicas":         strconv.Itoa(allOfGroup),
		prefix + "job-group-index":        strconv.Itoa(firstOfGroup),
	}
	if c := s.Spec.Coordinator; c != nil {
		texts[prefix+"coordinator"] = fmt.Sprintf("%s-%s-%d-%d.%s", s.Name, c.ReplicatedJob, c.JobIndex, c.PodIndex, s.subdomain())
	}
	return texts
}

const prefix = v1alpha1.JobSetPrefix

// envCompletionIndex is the variable that an indexed Job's containers have.
const envCompletionIndex = "JOB_COMPLETION_INDEX"

// template returns the pod template of the replicated job at that place. leader is the address that TRAININGJOB_LEADER_ADDRESS has.
func (s *JobSet) template(at int, leader string) corev1.PodTemplateSpec {
	job := &s.Spec.ReplicatedJobs[at]
	template := job.Template.Spec.Template.DeepCopy()
	common := s.common(at)
	template.ObjectMeta = metav1.ObjectMeta{Labels: merged(template.Labels, common), Annotations: merged(template.Annotations, common)}
	template.Annotations[batchv1.JobCompletionIndexAnnotation] = strconv.Itoa(int(job.pods())) // each pod then gets its own index
	spec := &template.Spec
	spec.RestartPolicy, spec.Hostname, spec.Subdomain = "", s.Name+"-"+job.Name, s.subdomain()
	delete(template.Annotations, exclusiveTopology) // for JobSet's webhook, which would wait for pods with the names of a Job's
	if topology := s.annotation(job, exclusiveTopology); topology != "" {
		placeExclusively(spec, topology)
	}
	s.mountClaims(spec)
	index := corev1.EnvVar{Name: envCompletionIndex, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
		APIVersion: "v1", FieldPath: "metadata.labels['" + batchv1.JobCompletionIndexAnnotation + "']"}}}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			for _, own := range []corev1.EnvVar{index, {Name: v1alpha1.EnvLeaderAddress, Value: leader}} {
				if c := &containers[i]; !state.HasEnv(c.Env, own.Name) {
					c.Env = append(c.Env, own)
				}
			}
		}
	}
	return *template
}

// merged returns the texts with the others.
func merged(texts, others map[string]string) map[string]string {
	all := maps.Clone(others)
	for name, text := range texts {
		if _, isKnown := all[name]; !isKnown {
			all[name] = text
		}
	}
	return all
}

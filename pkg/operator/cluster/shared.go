package cluster

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// shared holds one copy of what trimmed pods have in common.
type shared struct {
	labels     copies[map[string]string]
	containers copies[[]corev1.Container]
}

// labelsOf returns the label that puts a pod into its job's Service. The pods of a job share one copy.
func (s *shared) labelsOf(pod *corev1.Pod) map[string]string {
	labels := only(pod.Labels, v1alpha1.LabelJobName)
	if name := labels[v1alpha1.LabelJobName]; name != "" {
		return s.labels.of(name, labels)
	}
	return labels
}

// containersOf returns the relevant containers of the pod. Pods with the same single container share one copy.
func (s *shared) containersOf(pod *corev1.Pod) []corev1.Container {
	list := relevantContainers(pod)
	if len(list) != 1 || list[0].Image != "" || list[0].RestartPolicy != nil || len(list[0].RestartPolicyRules) > 0 {
		return list
	}
	return s.containers.of(fmt.Sprint(list[0].Name, list[0].Env), list)
}

// maxCopies is how many copies are kept: the jobs and containers of a cluster come and go.
const maxCopies = 4096

// copies keeps one of equal values, by name.
type copies[V any] struct {
	mu    sync.Mutex
	known map[string]V
}

// of returns the value that is kept under the name, or keeps and returns this one.
func (c *copies[V]) of(name string, value V) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	if kept, isKnown := c.known[name]; isKnown {
		return kept
	}
	if c.known == nil || len(c.known) >= maxCopies {
		c.known = map[string]V{} // the users of old copies keep them
	}
	c.known[name] = value
	return value
}

// templates holds one copy of each pod template of the cached jobs. Jobs are many and their templates few: the roles of a job,
// the runs of a sweep, and all versions of one job share them.
type templates struct {
	mu    sync.Mutex
	known map[fingerprint]*sharedTemplate
}

type fingerprint [sha256.Size]byte

// sharedTemplate is a template and the number of cached roles that use it.
type sharedTemplate struct {
	template corev1.PodTemplateSpec
	users    int
}

func newTemplates() *templates { return &templates{known: map[fingerprint]*sharedTemplate{}} }

// trimJob returns a job with only what decisions need. Its templates are shared with other jobs, so code that reads the cache
// without a copy must not change them.
func (t *templates) trimJob(o any) (any, error) {
	job, ok := o.(*v1alpha1.TrainingJob)
	if !ok {
		return o, nil
	}
	trimmed := v1alpha1.TrainingJob{
		TypeMeta: job.TypeMeta, ObjectMeta: identity(job, v1alpha1.AnnotationQueueMessage, v1alpha1.AnnotationAdmittedWorkers, v1alpha1.AnnotationRestart, v1alpha1.AnnotationFirstAttempt,
			v1alpha1.AnnotationReplicaServices, v1alpha1.AnnotationKubeflowSource, v1alpha1.AnnotationTrainJob, v1alpha1.KueuePrebuiltWorkload),
		Spec: job.Spec, Status: job.Status,
	}
	if carried := state.Carried(job); carried != "" { // it is read once, and large
		metav1.SetMetaDataAnnotation(&trimmed.ObjectMeta, v1alpha1.AnnotationCarriedStatus, carried)
	}
	trimmed.Labels = only(job.Labels, v1alpha1.LabelQueue, v1alpha1.LabelMultiKueueOrigin, v1alpha1.KueuePrebuiltWorkload)
	if slices.Contains(job.Finalizers, v1alpha1.FinalizerQuota) {
		trimmed.Finalizers = []string{v1alpha1.FinalizerQuota}
	}
	trimmed.Spec.ReplicaSpecs = maps.Clone(job.Spec.ReplicaSpecs)
	used := make([]fingerprint, 0, len(trimmed.Spec.ReplicaSpecs))
	for role, replicas := range trimmed.Spec.ReplicaSpecs {
		text, err := replicas.Template.Marshal()
		if err != nil {
			return nil, fmt.Errorf("reading the template of %s of job %s/%s: %w", role, job.Namespace, job.Name, err)
		}
		key := fingerprint(sha256.Sum256(text))
		replicas.Template = t.share(key, replicas.Template)
		trimmed.Spec.ReplicaSpecs[role] = replicas
		used = append(used, key)
	}
	runtime.AddCleanup(&trimmed, t.release, used)
	return &trimmed, nil
}

// share returns the kept template with that fingerprint, or keeps and returns this one.
func (t *templates) share(key fingerprint, template corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.known[key]
	if known == nil {
		known = &sharedTemplate{template: template}
		t.known[key] = known
	}
	known.users++
	return known.template
}

// release drops the templates of a job that has left the cache. It keeps templates that other jobs share.
func (t *templates) release(used []fingerprint) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range used {
		if known := t.known[key]; known.users > 1 {
			known.users--
		} else {
			delete(t.known, key)
		}
	}
}

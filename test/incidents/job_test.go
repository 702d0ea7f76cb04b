//go:build nodes

package incidents

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// job is a submitted job.
type job struct {
	name string
	seen *v1alpha1.TrainingJob
}

// change makes a job another one before it is submitted.
type change func(*v1alpha1.TrainingJob)

// collective returns a PyTorch job of that many ranks, a master and workers, spread over the real nodes. It is restarted without end.
func collective(ranks int32) *v1alpha1.TrainingJob {
	return newJob(v1alpha1.PyTorch, map[v1alpha1.Role]int32{v1alpha1.Master: 1, v1alpha1.Worker: ranks - 1})
}

func newJob(framework v1alpha1.Framework, replicas map[v1alpha1.Role]int32) *v1alpha1.TrainingJob {
	made := &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Name: "train", Namespace: namespace},
		Spec: v1alpha1.TrainingJobSpec{
			Framework: framework, ReplicaSpecs: map[v1alpha1.Role]v1alpha1.ReplicaSpec{},
			Recovery: v1alpha1.Recovery{MaxRestarts: ptr.To[int32](100), MaxOOMRestarts: ptr.To[int32](100), NoProgressLimit: ptr.To[int32](0), BackoffSeconds: ptr.To[int32](1), MaxBackoffSeconds: ptr.To[int32](1)},
		},
	}
	for role, n := range replicas {
		made.Spec.ReplicaSpecs[role] = v1alpha1.ReplicaSpec{Replicas: ptr.To(n), Template: template()}
	}
	return made
}

func template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"spread": "yes"}},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{realNode: "true"},
			TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"spread": "yes"}},
			}},
			Containers: []corev1.Container{{
				Name: "main", Image: "lab.local/trainer:1", ImagePullPolicy: corev1.PullNever,
				Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}},
			}},
		},
	}
}

// templates changes the template of every role.
func templates(edit func(*corev1.PodSpec)) change {
	return func(made *v1alpha1.TrainingJob) {
		for role, replicas := range made.Spec.ReplicaSpecs {
			edit(&replicas.Template.Spec)
			made.Spec.ReplicaSpecs[role] = replicas
		}
	}
}

// variable sets a variable of the program.
func variable(name, value string) change {
	return templates(func(pod *corev1.PodSpec) {
		pod.Containers[0].Env = append(pod.Containers[0].Env, corev1.EnvVar{Name: name, Value: value})
	})
}

func submit(ctx context.Context, made *v1alpha1.TrainingJob, changes ...change) *job {
	GinkgoHelper()
	for _, edit := range changes {
		edit(made)
	}
	Expect(kube.Create(ctx, made)).To(Succeed())
	return &job{name: made.Name, seen: made}
}

// becomes waits until what the sentence says is true of the job, and returns how long that took.
func (j *job) becomes(ctx context.Context, sentence string, holds func(*v1alpha1.TrainingJobStatus) bool) time.Duration {
	GinkgoHelper()
	began := time.Now()
	Eventually(func() bool {
		var now v1alpha1.TrainingJob
		if kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: j.name}, &now) != nil {
			return false
		}
		j.seen = &now
		return now.Status.ObservedGeneration >= now.Generation && holds(&now.Status)
	}).WithTimeout(3*time.Minute).Should(BeTrue(), func() string { return fmt.Sprintf("%s; the status is %+v", sentence, j.seen.Status) })
	return time.Since(began)
}

// runs waits until all replicas of the attempt run and are ready.
func (j *job) runs(ctx context.Context, attempt int32) time.Duration {
	GinkgoHelper()
	return j.becomes(ctx, fmt.Sprintf("all replicas run in attempt %d", attempt), func(s *v1alpha1.TrainingJobStatus) bool {
		return s.Attempt == attempt && s.Phase == v1alpha1.PhaseRunning && s.ReadyReplicas == s.Replicas
	})
}

// ends waits until the job is in that phase.
func (j *job) ends(ctx context.Context, phase v1alpha1.Phase) {
	GinkgoHelper()
	j.becomes(ctx, "it is "+string(phase), func(s *v1alpha1.TrainingJobStatus) bool { return s.Phase == phase })
}

// pod returns the pod of that rank which runs and is not going: rank 0 is the leader, the workers follow.
func (j *job) pod(ctx context.Context, rank int) *corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(kube.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{
		v1alpha1.LabelJobName: j.name, v1alpha1.LabelRank: strconv.Itoa(rank),
	})).To(Succeed())
	at := slices.IndexFunc(pods.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning })
	Expect(at).To(BeNumerically(">=", 0), "no pod of rank %d runs", rank)
	return &pods.Items[at]
}

// tell gives the program of a pod a command.
func tell(ctx context.Context, pod *corev1.Pod, words ...string) {
	GinkgoHelper()
	lab(ctx, append([]string{"kubectl", "exec", "-n", namespace, pod.Name, "--", "/program", "do"}, words...)...)
}

// kill ends the main process of a pod from outside.
func kill(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	lab(ctx, "pod", "kill", pod.Name, "-n", namespace)
}

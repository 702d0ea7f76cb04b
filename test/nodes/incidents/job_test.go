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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/testbed"
	"github.com/trainingjob/operator/test/sim/builder"
)

// trainerImage is the program that pods run.
const trainerImage = "lab.local/trainer:1"

// job is a submitted job.
type job struct {
	name string
	seen *v1alpha1.TrainingJob
}

// collective returns a PyTorch job of that many ranks, a master and workers.
func collective(ranks int) *v1alpha1.TrainingJob {
	return newJob(v1alpha1.PyTorch, builder.Leader(v1alpha1.Master), builder.Workers(ranks-1))
}

// lone returns a job of one worker.
func lone() *v1alpha1.TrainingJob { return newJob(v1alpha1.Custom, builder.Workers(1)) }

// newJob returns a job with these roles, spread over the real nodes. It is restarted without end.
func newJob(framework v1alpha1.Framework, roles ...builder.JobOption) *v1alpha1.TrainingJob {
	made := builder.Submitted("train", framework, append(roles, builder.EveryRole(builder.Template(onRealNodes), builder.Limit(corev1.ResourceMemory, 64<<20)),
		builder.MaxRestarts(100), builder.MaxOOMRestarts(100), builder.BackOff(1, 1),
		builder.Recovery(func(r *v1alpha1.Recovery) { r.NoProgressLimit, r.SameCrashLimit = ptr.To[int32](0), ptr.To[int32](0) }))...)
	made.Namespace = namespace
	return made
}

// onRealNodes makes the pods run the trainer, spread over the real nodes.
func onRealNodes(pods *corev1.PodTemplateSpec) {
	pods.Labels = map[string]string{"spread": "yes"}
	pods.Spec.NodeSelector = map[string]string{testbed.RealNode: "true"}
	pods.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector: &metav1.LabelSelector{MatchLabels: pods.Labels},
	}}
	main := &pods.Spec.Containers[0]
	main.Image, main.ImagePullPolicy = trainerImage, corev1.PullNever
}

// everyPod changes the pods of every role.
func everyPod(change func(*corev1.PodSpec)) builder.JobOption {
	return builder.EveryRole(builder.PodSpec(change))
}

// variable sets a variable of the program.
func variable(name, value string) builder.JobOption {
	return builder.EveryRole(builder.Env(name, value))
}

func submit(ctx context.Context, made *v1alpha1.TrainingJob, options ...builder.JobOption) *job {
	GinkgoHelper()
	for _, change := range options {
		change(made)
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
	pod, err := j.tryPod(ctx, rank)
	Expect(err).NotTo(HaveOccurred())
	return pod
}

func (j *job) tryPod(ctx context.Context, rank int) (*corev1.Pod, error) {
	var pods corev1.PodList
	if err := kube.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{
		v1alpha1.LabelJobName: j.name, v1alpha1.LabelRank: strconv.Itoa(rank),
	}); err != nil {
		return nil, err
	}
	at := slices.IndexFunc(pods.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning })
	if at < 0 {
		return nil, fmt.Errorf("no pod of rank %d of %s runs", rank, j.name)
	}
	return &pods.Items[at], nil
}

// tell gives the program of a pod a command.
func tell(ctx context.Context, pod *corev1.Pod, words ...string) {
	GinkgoHelper()
	kubectl(ctx, append([]string{"exec", pod.Name, "--", "/program", "do"}, words...)...)
}

// kill ends the main process of a pod from outside.
func kill(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	lab(ctx, "pod", "kill", pod.Name, "-n", namespace)
}

//go:build nodes

package incidents

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

// alone gives each pod of the job a node for itself.
func alone(pod *corev1.PodSpec) {
	pod.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
		TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"spread": "yes"}},
	}}}}
}

// Two nodes have room for two pods that each want one for themselves.
var _ = Describe("A job for which there is little room", Serial, func() {
	It("runs on without the worker that fits nowhere, if it is elastic", func(ctx SpecContext) {
		train := submit(ctx, newJob(v1alpha1.PyTorch, builder.Workers(3)), everyPod(alone), func(made *v1alpha1.TrainingJob) {
			made.Spec.Elastic = &v1alpha1.Elastic{MinReplicas: 1, MaxReplicas: 3}
		})
		train.becomes(ctx, "a worker waits and the job runs", func(s *v1alpha1.TrainingJobStatus) bool {
			return s.Phase == v1alpha1.PhaseRunning && s.ReadyReplicas == 2
		})
		Expect(train.seen.Status.Restarts).To(BeZero())
	})
})

// A learner leads actors, each of which breaks by itself.
var _ = Describe("A job with a role of its own", func() {
	It("replaces a replica of it alone, and succeeds with its leader", func(ctx SpecContext) {
		const actor v1alpha1.Role = "actor"
		train := submit(ctx, newJob(v1alpha1.Custom, builder.Leader(v1alpha1.Master), builder.Replicas(actor, 2)))
		train.runs(ctx, 0)
		leader, other, broken := train.pod(ctx, 0), train.pod(ctx, 1), train.pod(ctx, 2)
		tell(ctx, broken, "exit", "3", "lost the arena")
		train.becomes(ctx, "it was replaced", func(s *v1alpha1.TrainingJobStatus) bool { return s.Restarts == 1 && s.ReadyReplicas == 3 })
		last := train.seen.Status.LastFailure
		Expect(last.Pod).To(Equal(broken.Name))
		Expect(last.Role).To(Equal(actor))
		Expect(last.Message).To(ContainSubstring("lost the arena"))
		Expect(train.pod(ctx, 0).UID).To(Equal(leader.UID))
		Expect(train.pod(ctx, 1).UID).To(Equal(other.UID))
		tell(ctx, leader, "exit", "0")
		train.ends(ctx, v1alpha1.PhaseSucceeded)
	})
})

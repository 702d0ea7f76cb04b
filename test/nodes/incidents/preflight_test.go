//go:build nodes

package incidents

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

// checked gives each pod a preflight check that the node of that name fails.
func checked(bad string) builder.JobOption {
	return everyPod(func(pod *corev1.PodSpec) {
		check := *pod.Containers[0].DeepCopy()
		check.Name = "preflight-a"
		check.Env = []corev1.EnvVar{
			{Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}},
			{Name: "BAD_NODE", Value: bad},
		}
		pod.InitContainers = []corev1.Container{check}
		pod.TopologySpreadConstraints = nil // with two nodes it outweighs that the job avoids one
	})
}

// inPlace restarts the ranks that are well in their pods.
var inPlace = builder.Recovery(func(r *v1alpha1.Recovery) { r.RestartMethod = v1alpha1.RestartInPlace })

var _ = Describe("A preflight check", Serial, func() {
	It("that a node fails moves that rank alone, and is not charged", func(ctx SpecContext) {
		const bad = "real-0"
		train := submit(ctx, collective(3), checked(bad))
		train.runs(ctx, 0)
		status := &train.seen.Status
		Expect(status.ChargedRestarts).To(BeZero())
		Expect(status.Restarts).To(Equal(int32(len(status.Incidents))))
		Expect(status.Incidents).NotTo(BeEmpty(), "no rank was placed on "+bad)
		for _, incident := range status.Incidents {
			Expect(incident.Failure).To(And(HaveField("Reason", v1alpha1.ReasonPreflightFailed), HaveField("Node", bad)))
			Expect(incident.Scope).To(Equal(v1alpha1.ScopeReplica))
		}
		Expect(status.AvoidedNodes).To(ConsistOf(HaveField("Name", bad)))
		for rank := range 3 {
			Expect(train.pod(ctx, rank).Spec.NodeName).NotTo(Equal(bad))
		}
		Expect(why(train)).To(ContainSubstring("failed a preflight check of its node"))
	})

	It("runs again after an incident that suspects a node, also in a job that restarts in place", func(ctx SpecContext) {
		train := submit(ctx, collective(2), checked("none"), inPlace)
		train.runs(ctx, 0)
		stays := train.pod(ctx, 0)
		lost := train.pod(ctx, 1).Spec.NodeName
		Expect(stays.Spec.NodeName).NotTo(Equal(lost), "the ranks are on different nodes")
		lab(ctx, "node", "kill", lost)
		DeferCleanup(func(ctx SpecContext) {
			lab(ctx, "node", "boot", lost)
			waitForNode(ctx, lost)
		})
		train.becomes(ctx, "it runs again after the loss", func(s *v1alpha1.TrainingJobStatus) bool { // perhaps after the exits that the loss caused
			isLoss := s.LastFailure != nil && isLossOf(s.LastFailure, lost)
			return isLoss && s.Phase == v1alpha1.PhaseRunning && s.ReadyReplicas == s.Replicas
		})
		Expect(train.pod(ctx, 0).UID).NotTo(Equal(stays.UID), "the rank on the healthy node is checked again, in a new pod")
	})
})

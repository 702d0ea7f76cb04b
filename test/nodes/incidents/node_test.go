//go:build nodes

package incidents

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/testbed"
	"github.com/trainingjob/operator/test/sim/builder"
)

// Each fault takes a node that holds some ranks away; the job has to run again on what is left of it, and say whose fault it was.
var _ = Describe("A node that", Serial, func() {
	DescribeTable("takes its ranks along", func(ctx SpecContext, fault, mend string, made func() *v1alpha1.TrainingJob) {
		train := submit(ctx, made())
		train.runs(ctx, 0)
		if train.seen.Spec.Progress != nil {
			train.becomes(ctx, "rank 0 has reported for a while", func(s *v1alpha1.TrainingJobStatus) bool {
				return s.Progress != nil && time.Since(s.RunningTime.Time) > 40*time.Second
			})
		}
		node := train.pod(ctx, 1).Spec.NodeName
		DeferCleanup(func(ctx SpecContext) {
			if mend != "" {
				lab(ctx, "node", mend, node)
			}
			waitForNode(ctx, node)
		})
		began := time.Now()
		lab(ctx, "node", fault, node)
		train.becomes(ctx, "a loss is in the status", func(s *v1alpha1.TrainingJobStatus) bool {
			return s.LastFailure != nil && isLossOf(s.LastFailure, node)
		})
		lost := time.Since(began)
		train.becomes(ctx, "all replicas run on other nodes", func(s *v1alpha1.TrainingJobStatus) bool {
			return s.Phase == v1alpha1.PhaseRunning && s.ReadyReplicas == s.Replicas
		})
		AddReportEntry(CurrentSpecReport().LeafNodeText, fmt.Sprintf("%s told after %s, all run after %s", train.seen.Status.Incidents[0].Reason, lost.Round(100*time.Millisecond), time.Since(began).Round(100*time.Millisecond)))
		for _, incident := range train.seen.Status.Incidents {
			Expect(incident.Charged).To(BeFalse(), "%s: %s", incident.Pod, incident.Message)
		}
		Expect(train.seen.Status.AvoidedNodes).To(HaveLen(1))
		Expect(train.seen.Status.AvoidedNodes[0].Name).To(Equal(node))
	},
		Entry("a collective on a node that dies", "kill", "boot", fourRanks),
		Entry("a collective on a node that is cut off", "cut", "heal", fourRanks),
		Entry("a collective on a node that stands still", "freeze", "thaw", fourRanks),
		Entry("a collective that reports, on a node that dies", "kill", "boot", reportingRanks),
		Entry("a collective that reports, on a node that is cut off", "cut", "heal", reportingRanks),
		Entry("a collective that reports, on a node that stands still", "freeze", "thaw", reportingRanks),
		Entry("a parameter-server job on a node that dies", "kill", "boot", servers),
	)

	It("is back before anybody calls it lost has its ranks started again", func(ctx SpecContext) {
		train := submit(ctx, fourRanks())
		train.runs(ctx, 0)
		node := train.pod(ctx, 1).Spec.NodeName
		DeferCleanup(func(ctx SpecContext) { waitForNode(ctx, node) })
		lab(ctx, "node", "reboot", node)
		train.becomes(ctx, "a later attempt runs", func(s *v1alpha1.TrainingJobStatus) bool {
			return s.Attempt > 0 && s.Phase == v1alpha1.PhaseRunning && s.ReadyReplicas == s.Replicas
		})
	})
})

// isLossOf reports whether the failure is the loss of the node: by Kubernetes' mark, or by silence while a restart waits.
func isLossOf(f *v1alpha1.Failure, node string) bool {
	return (f.Reason == v1alpha1.ReasonNodeLost || f.Reason == v1alpha1.ReasonNodeSilent) && f.Node == node
}

func fourRanks() *v1alpha1.TrainingJob { return collective(4) }

func reportingRanks() *v1alpha1.TrainingJob {
	made := fourRanks()
	made.Spec.Progress = &v1alpha1.Progress{Port: 9637, StallAfterSeconds: 600, Action: v1alpha1.StallRestart}
	return made
}

func servers() *v1alpha1.TrainingJob {
	return newJob(v1alpha1.TensorFlow, builder.Leader(v1alpha1.Chief), builder.Workers(2), builder.PS(1))
}

// waitForNode waits until the node takes pods again.
func waitForNode(ctx context.Context, name string) {
	GinkgoHelper()
	Eventually(func() bool {
		var node corev1.Node
		return kube.Get(ctx, client.ObjectKey{Name: name}, &node) == nil && testbed.TakesPods(&node)
	}).WithTimeout(2*time.Minute).Should(BeTrue(), "%s is ready again", name)
}

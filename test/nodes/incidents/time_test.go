//go:build nodes

package incidents

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

var _ = Describe("The time that a job loses", func() {
	It("is told by what it waited for, and adds up", func(ctx SpecContext) {
		train := submit(ctx, collective(2), variable("TERM_CODE", "ignore"), variable("STEPS", "100"))
		train.runs(ctx, 0)
		tell(ctx, train.pod(ctx, 0), "hang")
		kubectl(ctx, "delete", "pod", "--wait=false", train.pod(ctx, 1).Name)
		train.runs(ctx, 1)
		train.ends(ctx, v1alpha1.PhaseSucceeded)
		status := &train.seen.Status
		lost := status.LostSeconds
		total := int64(status.CompletionTime.Sub(status.StartTime.Time).Seconds())
		sum := status.RunningSeconds + lost.Nodes + lost.Starting + lost.Detection + lost.Restart
		AddReportEntry(CurrentSpecReport().LeafNodeText, fmt.Sprintf("%d s, of which it ran for %d; lost %+v", total, status.RunningSeconds, lost))
		Expect(lost.Restart).To(BeNumerically(">=", v1alpha1.DefaultTerminationGraceSeconds-1), "ranks that ignore SIGTERM take their grace")
		Expect(lost.Queue + lost.Redone).To(BeZero())
		Expect(sum).To(BeNumerically("~", total, 3), "whole seconds are counted at each change")
	})
})

var _ = Describe("A pod that does not end", Serial, func() {
	It("is given up after forceAfterSeconds, although its node is well", func(ctx SpecContext) {
		train := submit(ctx, lone(), func(made *v1alpha1.TrainingJob) {
			made.Spec.Recovery.TerminationGraceSeconds, made.Spec.Recovery.ForceAfterSeconds = ptr.To[int32](1), ptr.To[int32](3)
		})
		train.runs(ctx, 0)
		stuck := train.pod(ctx, 0)
		DeferCleanup(func(ctx SpecContext) {
			lab(ctx, "node", "thaw", stuck.Spec.NodeName)
			waitForNode(ctx, stuck.Spec.NodeName)
		})
		lab(ctx, "node", "freeze", stuck.Spec.NodeName) // it counts as well until it has been silent for long
		began := time.Now()
		kubectl(ctx, "delete", "pod", "--wait=false", "--grace-period=1", stuck.Name)
		Eventually(func() bool {
			return apierrors.IsNotFound(kube.Get(ctx, client.ObjectKeyFromObject(stuck), &corev1.Pod{}))
		}).WithTimeout(30*time.Second).Should(BeTrue(), "its object is deleted by force")
		AddReportEntry(CurrentSpecReport().LeafNodeText, fmt.Sprint("gone after ", time.Since(began).Round(100*time.Millisecond)))
		train.runs(ctx, 0)
		Expect(train.seen.Status.LastFailure.Reason).To(Equal(v1alpha1.ReasonDeleted))
	})
})

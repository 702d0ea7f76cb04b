//go:build nodes

package incidents

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// A kubelet starts containers again in their pods where their own policies say so. Nobody else may restart anything for that.
var _ = Describe("A container that the kubelet starts again in its pod", func() {
	restarts := func(ctx SpecContext, statuses string) func() string {
		return func() string {
			return output(ctx, "get", "pod", "train-worker-0", "-o", "jsonpath={.status."+statuses+"[0].restartCount}")
		}
	}

	It("can be a side-car of Kubernetes' own kind, which ends with the program", func(ctx SpecContext) {
		train := submit(ctx, lone(), variable("STEPS", "60"), everyPod(func(pod *corev1.PodSpec) {
			side := *pod.Containers[0].DeepCopy()
			side.Name, side.RestartPolicy = "side", ptr.To(corev1.ContainerRestartPolicyAlways)
			side.Env = []corev1.EnvVar{{Name: "COMMAND", Value: "exit 1 side-car"}}
			pod.InitContainers = []corev1.Container{side}
		}))
		Eventually(restarts(ctx, "initContainerStatuses")).ShouldNot(BeElementOf("", "0"), "the side-car breaks again and again")
		train.ends(ctx, v1alpha1.PhaseSucceeded)
		Expect(train.seen.Status.Restarts).To(BeZero())
		Expect(train.seen.Status.LastFailure).To(BeNil())
	})

	It("can be the main one, by its own restartPolicyRules", func(ctx SpecContext) {
		train := submit(ctx, lone(), variable("STEPS", "60"), everyPod(func(pod *corev1.PodSpec) {
			pod.Containers[0].RestartPolicy = ptr.To(corev1.ContainerRestartPolicyNever)
			pod.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{
				Action:    corev1.ContainerRestartRuleActionRestart,
				ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}},
			}}
		}))
		train.runs(ctx, 0)
		tell(ctx, train.pod(ctx, 0), "exit", "42")
		Eventually(restarts(ctx, "containerStatuses")).Should(Equal("1"))
		train.ends(ctx, v1alpha1.PhaseSucceeded)
		Expect(train.seen.Status.Restarts).To(BeZero())
		Expect(train.seen.Status.LastFailure).To(BeNil())
	})
})

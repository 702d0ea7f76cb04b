//go:build nodes

package nodes

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/test/api/testbed"
)

const image = "lab.local/trainer:1"

// onNode is a pod that is bound to a node already and trains until it is told something else.
func onNode(name, node string, env ...corev1.EnvVar) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault, Labels: map[string]string{"app": "trainer"}},
		Spec: corev1.PodSpec{
			NodeName:      node,
			Hostname:      name,
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "main", Image: image, ImagePullPolicy: corev1.PullNever, Env: env}},
			// A node that is lost loses its pods soon, not after 5 minutes.
			Tolerations: []corev1.Toleration{
				{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](1)},
				{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](1)},
			},
		},
	}
}

// create creates a pod, which is deleted after the spec.
func create(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	Expect(kube.Create(ctx, pod)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		Expect(client.IgnoreNotFound(kube.Delete(ctx, pod, client.GracePeriodSeconds(0)))).To(Succeed())
	})
}

// run creates a pod and waits until it runs.
func run(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	create(ctx, pod)
	Eventually(phase).WithContext(ctx).WithArguments(pod.Name).Should(Equal(corev1.PodRunning))
}

func get(ctx context.Context, name string) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	return pod, kube.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: name}, pod)
}

func phase(ctx context.Context, name string) (corev1.PodPhase, error) {
	pod, err := get(ctx, name)
	return pod.Status.Phase, err
}

// end is how the container main of a pod has ended: "137 Error"; empty while it has not.
func end(ctx context.Context, name string) (string, error) {
	pod, err := get(ctx, name)
	if err != nil {
		return "", err
	}
	for _, c := range pod.Status.ContainerStatuses {
		if ended := c.State.Terminated; c.Name == "main" && ended != nil {
			return fmt.Sprintf("%d %s", ended.ExitCode, ended.Reason), nil
		}
	}
	return "", nil
}

// log is what the container main has said.
func log(name string) (string, error) {
	return lab.Kubectl(context.Background(), "logs", name, "--container=main")
}

// lastStep is the last step that a log tells of.
func lastStep(name string) (string, error) {
	text, err := log(name)
	return text[strings.LastIndex(text, "step ")+1:], err
}

var _ = Describe("A pod on a real node", func() {
	It("runs, is heard by kubectl logs and obeys by kubectl exec", func(ctx context.Context) {
		run(ctx, onNode("speaks", "real-0"))
		Eventually(log).WithArguments("speaks").Should(ContainSubstring("rank 0 of 1: step 1"))
		lab.do("speaks", "exit", "42", "as", "told")
		Eventually(end).WithContext(ctx).WithArguments("speaks").Should(Equal("42 Error"))
		pod, err := get(ctx, "speaks")
		Expect(err).NotTo(HaveOccurred())
		Expect(pod.Status.ContainerStatuses[0].State.Terminated.Message).To(Equal("as told"))
	})

	It("finds a peer on the other node by its name in a headless Service", func(ctx context.Context) {
		service := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "mesh", Namespace: metav1.NamespaceDefault},
			Spec: corev1.ServiceSpec{
				ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: map[string]string{"app": "trainer"},
			},
		}
		Expect(kube.Create(ctx, service)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, service)).To(Succeed()) })
		for rank, node := range []string{"real-0", "real-1"} {
			pod := onNode(fmt.Sprintf("rank-%d", rank), node,
				corev1.EnvVar{Name: "RANK", Value: fmt.Sprint(rank)}, corev1.EnvVar{Name: "WORLD_SIZE", Value: "2"},
				corev1.EnvVar{Name: "MASTER_ADDR", Value: "rank-0.mesh"}, corev1.EnvVar{Name: "MASTER_PORT", Value: "29500"},
				corev1.EnvVar{Name: "STEPS", Value: "10"})
			pod.Spec.Subdomain = service.Name
			create(ctx, pod)
		}
		for _, name := range []string{"rank-0", "rank-1"} {
			Eventually(end).WithContext(ctx).WithArguments(name).Should(Equal("0 Completed"))
			Expect(log(name)).To(ContainSubstring("of 2: step 10"))
		}
	})

	It("reaches the API server at the address of the Service kubernetes, with its account's token", func(ctx context.Context) {
		run(ctx, onNode("asks", "real-1"))
		Expect(log("asks")).NotTo(BeEmpty())
		lab.do("asks", "api")
		Eventually(log).WithArguments("asks").Should(ContainSubstring("the API server answers 200"))
	})

	It("is killed by the kernel when it takes more memory than its limit", func(ctx context.Context) {
		pod := onNode("hungry", "real-0")
		pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}
		run(ctx, pod)
		lab.do("hungry", "oom")
		Eventually(end).WithContext(ctx).WithArguments("hungry").Should(Equal("137 OOMKilled"))
	})

	It("gets the GPUs that its node claims to have", func(ctx context.Context) {
		pod := onNode("accelerated", "")
		pod.Spec.NodeSelector = map[string]string{testbed.RealNode: "true"}
		pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("4")}
		run(ctx, pod)
	})

	It("ends by lab pod kill as by a crash, and stands still by lab pod stop", func(ctx context.Context) {
		run(ctx, onNode("hit", "real-1", corev1.EnvVar{Name: "STEP_TIME", Value: "10ms"}))
		Eventually(lastStep).WithArguments("hit").ShouldNot(BeEmpty())
		lab.run("pod", "stop", "hit")
		stopped, err := lastStep("hit")
		Expect(err).NotTo(HaveOccurred())
		Consistently(lastStep, "1s").WithArguments("hit").Should(Equal(stopped))
		lab.run("pod", "cont", "hit")
		Eventually(lastStep).WithArguments("hit").ShouldNot(Equal(stopped))
		lab.run("pod", "kill", "hit")
		Eventually(end).WithContext(ctx).WithArguments("hit").Should(Equal("137 Error"))
	})
})

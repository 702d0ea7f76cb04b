//go:build nodes

package nodes

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/test/api/testbed"
	"github.com/trainingjob/operator/test/sim/builder"
)

// tries is how often each fault happens on a real node. A kubelet now and then leaves a version out or writes one more, as its loops meet; the
// fake node has to do what most do.
const tries = 3

// fault is what happens to a pod.
type fault struct {
	name string
	// on makes the pod of a real node such that it happens, and fake are the annotations for that on a fake one, without their prefix.
	on   func(*corev1.Pod)
	fake map[string]string
	// then is done to the pod once its story has so many versions, on both nodes: so the versions before it are compared, too.
	after int
	then  func(context.Context, *corev1.Pod)
	// goes is set if the pod goes in the end. Otherwise its story ends when its phase is that of an end.
	goes bool
}

var faults = []fault{
	{name: "exits with 7 and a message", on: commanded("exit 7 broken"), fake: map[string]string{"exit-code": "7", "exit-message": "broken"}},
	{name: "succeeds", on: commanded("exit 0"), fake: map[string]string{"exit-code": "0"}},
	{name: "exits with 143 of itself", on: commanded("exit 143"), fake: map[string]string{"exit-code": "143"}},
	{name: "runs out of memory", on: both(commanded("oom"), limited), fake: map[string]string{"exit-code": "137", "exit-reason": "OOMKilled"}},
	{name: "is killed", after: 1, then: onReal(killed), fake: map[string]string{"run-for": "2s", "exit-code": "137"}},
	{name: "exits, and is deleted", on: commanded("exit 1"), fake: map[string]string{"exit-code": "1"}, after: 2, then: deleted(30), goes: true},
	{name: "is deleted while it runs", after: 1, then: deleted(30), goes: true},
	{name: "is deleted and leaves after 3 s", on: with("TERM_TIME", "3s"), fake: map[string]string{"terminate-after": "3s"}, after: 1, then: deleted(30), goes: true},
	{name: "is deleted by force", after: 1, then: deleted(0), goes: true},
	{name: "is deleted while its image is missing", on: imageOf("lab.local/missing:1"), fake: map[string]string{"waiting": "ErrImageNeverPull"},
		after: 1, then: deleted(30), goes: true},
	{name: "is deleted while its ConfigMap is missing", on: configured, fake: map[string]string{"waiting": "CreateContainerConfigError"},
		after: 1, then: deleted(30), goes: true},
	{name: "has no such program", on: programOf("/nothing"), fake: map[string]string{"exit-reason": "StartError"}},
	{name: "succeeds beside a side-car", on: both(commanded("exit 0"), accompanied), fake: map[string]string{"exit-code": "0"}},
	{name: "fails beside a side-car", on: both(commanded("exit 3"), accompanied), fake: map[string]string{"exit-code": "3"}},
	{name: "fills its volume", on: both(commanded("fill /scratch/file"), withVolume),
		fake: map[string]string{"exit-code": "143", "evict": `Usage of EmptyDir volume "scratch" exceeds the limit "5Mi". `}},
	{name: "is evicted through the API", after: 1, then: evicted, goes: true},
	{name: "is evicted through the API when it has ended", on: commanded("exit 1"), fake: map[string]string{"exit-code": "1"}, after: 2, then: evicted, goes: true},
	{name: "is rejected by its node", on: demanding, fake: map[string]string{"reject": "OutOfcpu"}},
}

// commanded makes the trainer obey a command after its first step.
func commanded(command string) func(*corev1.Pod) { return with("COMMAND", command) }

func with(name, value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Env = append(pod.Spec.Containers[0].Env, corev1.EnvVar{Name: name, Value: value})
	}
}

func both(first, second func(*corev1.Pod)) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { first(pod); second(pod) }
}

func limited(pod *corev1.Pod) {
	pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}
}

func imageOf(image string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = image }
}

func programOf(path string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Containers[0].Command = []string{path} }
}

func configured(pod *corev1.Pod) {
	pod.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{
		{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "missing"}}},
	}
}

func accompanied(pod *corev1.Pod) {
	pod.Spec.InitContainers = []corev1.Container{{
		Name: "agent", Image: image, ImagePullPolicy: corev1.PullNever, RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways),
		Env: []corev1.EnvVar{{Name: "TERM_CODE", Value: "0"}},
	}}
}

func withVolume(pod *corev1.Pod) {
	limit := resource.MustParse("5Mi")
	pod.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &limit}}}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch"}}
}

// demanding wants more of its node than there is; the pod is bound to it already.
func demanding(pod *corev1.Pod) {
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000")}
}

// gated gives the pod a gate as the operator does: the kubelet starts the container again only while the annotation names a path that it mounts.
func gated(pod *corev1.Pod) {
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1alpha1.AnnotationInPlaceRestart, `{"life":"0-0"}`)
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	build.Gate(pod)
}

// inTurn does one thing after the other to a pod.
func inTurn(all ...func(context.Context, *corev1.Pod)) func(context.Context, *corev1.Pod) {
	return func(ctx context.Context, pod *corev1.Pod) {
		GinkgoHelper()
		for _, do := range all {
			do(ctx, pod)
		}
	}
}

func change(ctx context.Context, pod *corev1.Pod, patch string) {
	GinkgoHelper()
	Expect(kube.Patch(ctx, pod.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, []byte(patch)))).To(Succeed())
}

// closed closes the gate, and waits until a kubelet has read that: of a pod it reports the generation, which a further toleration changes.
func closed(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	tolerations := append(slices.Clone(pod.Spec.Tolerations), corev1.Toleration{Key: "lab", Operator: corev1.TolerationOpExists})
	text, err := json.Marshal(tolerations)
	Expect(err).NotTo(HaveOccurred())
	change(ctx, pod, fmt.Sprintf(`{"metadata": {"annotations": {"trainingjob.dev/start-gate": "../closed"}}, "spec": {"tolerations": %s}}`, text))
	Eventually(func() (bool, error) {
		err := kube.Get(ctx, client.ObjectKeyFromObject(pod), pod)
		return pod.Status.ObservedGeneration == pod.Generation && pod.Generation > 1, err
	}, time.Minute).Should(BeTrue(), "the kubelet of %s has read that its gate is closed", pod.Name)
}

// killedAndSeen kills the process of the pod and waits until its node says so.
func killedAndSeen(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	killed(ctx, pod)
	Eventually(func() (*corev1.ContainerStateTerminated, error) {
		err := kube.Get(ctx, client.ObjectKeyFromObject(pod), pod)
		c := &pod.Status.ContainerStatuses[0]
		return cmp.Or(c.State.Terminated, c.LastTerminationState.Terminated), err // which it is soon after
	}, time.Minute).ShouldNot(BeNil(), "the end of %s", pod.Name)
}

func overdue(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	change(ctx, pod, `{"spec": {"activeDeadlineSeconds": 1}}`)
}

// opened opens the gate, gives the image another name, and waits until the process runs.
func opened(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	id := pod.Status.ContainerStatuses[0].ImageID
	_, digest, isDigested := strings.Cut(id, "@")
	name := "lab.local/trainer:life-1-0"
	if isDigested {
		name += "@" + digest
	}
	change(ctx, pod, fmt.Sprintf(`{"metadata": {"annotations": {"trainingjob.dev/start-gate": "open"}}, "spec": {"containers": [{"name": %q, "image": %q}]}}`, pod.Spec.Containers[0].Name, name))
	Eventually(func() (*corev1.ContainerStateRunning, error) {
		err := kube.Get(ctx, client.ObjectKeyFromObject(pod), pod)
		return pod.Status.ContainerStatuses[0].State.Running, err
	}, time.Minute).ShouldNot(BeNil(), "the next process of %s", pod.Name)
}

func deleted(grace int64) func(context.Context, *corev1.Pod) {
	return func(ctx context.Context, pod *corev1.Pod) {
		GinkgoHelper()
		Expect(kube.Delete(ctx, pod, client.GracePeriodSeconds(grace))).To(Succeed())
	}
}

func evicted(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	Expect(testbed.Evict(ctx, kube, pod)).To(Succeed())
}

// onReal does something to pods of real nodes alone.
func onReal(do func(context.Context, *corev1.Pod)) func(context.Context, *corev1.Pod) {
	return func(ctx context.Context, pod *corev1.Pod) {
		if isReal(pod) {
			do(ctx, pod)
		}
	}
}

func isReal(pod *corev1.Pod) bool { return strings.HasPrefix(pod.Spec.NodeName, "real-") }

func killed(_ context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	lab.run("pod", "kill", pod.Name)
}

// pods are those that the fault happens to: tries on a real node, and the last one on a fake node.
func (f fault) pods(number int) []*corev1.Pod {
	var pods []*corev1.Pod
	for try := range tries {
		pods = append(pods, onNode(fmt.Sprintf("fault-%d-real-%d", number, try), "real-0"))
	}
	pods = append(pods, onNode(fmt.Sprintf("fault-%d-fake", number), "gpu-0"))
	for _, pod := range pods {
		if f.on != nil {
			f.on(pod)
		}
	}
	fake := pods[tries]
	for name, value := range f.fake {
		metav1.SetMetaDataAnnotation(&fake.ObjectMeta, builder.LabPrefix+name, value)
	}
	return pods
}

// happens lets the fault happen to a pod and returns its story.
func (f fault) happens(ctx context.Context, c *chronicle, pod *corev1.Pod) story {
	GinkgoHelper()
	create(ctx, pod)
	if f.then != nil {
		Eventually(c.versions).WithArguments(pod.Name).Should(BeNumerically(">=", f.after), "versions of %s", pod.Name)
		f.then(ctx, pod)
	}
	// The slowest is the kubelet that measures volumes: once a minute.
	Eventually(c.of, 3*time.Minute).WithArguments(pod.Name).Should(Satisfy(func(s story) bool {
		return f.goes && s.gone || !f.goes && !s.closed.IsZero()
	}), "the end of %s", pod.Name)
	return c.of(pod.Name)
}

// happenToAll lets a fault happen to all of the pods at once, and returns their stories.
func (f fault) happenToAll(ctx context.Context, pods []*corev1.Pod) []story {
	c := beginChronicle(ctx)
	stories := make([]story, len(pods))
	var group sync.WaitGroup
	for i, pod := range pods {
		group.Go(func() {
			defer GinkgoRecover()
			stories[i] = f.happens(ctx, c, pod)
		})
	}
	group.Wait()
	return stories
}

var _ = Describe("A fake node tells the story of a pod as a real one does when it", func() {
	for number, f := range faults {
		It(f.name, func(ctx context.Context) {
			stories := f.happenToAll(ctx, f.pods(number))
			agree(stories[:tries], stories[tries])
		})
	}
})

// kept are what a kubelet does with a pod that is kept behind its gate. Fake nodes show the ended container as ended where a kubelet shows one that waits:
// what the operator makes of the latter is tested in pkg/job/state.
var kept = []struct {
	fault
	story []string
}{
	{fault{name: "fails a pod that is active for too long", on: gated, after: 1, then: inTurn(closed, killedAndSeen, overdue)}, []string{
		"Running main=running ready=True",
		"Running main=137:Error ready=False:ContainersNotReady",
		"Running main=waiting:CreateContainerConfigError ready=False:PodFailed",
		"Failed(DeadlineExceeded) main=waiting:CreateContainerConfigError ready=False:PodFailed",
	}},
	{fault{name: "starts the container once the gate opens", on: gated, after: 1, then: inTurn(closed, killedAndSeen, opened, deleted(30)), goes: true}, []string{
		"Running main=running ready=True",
		"Running main=137:Error ready=False:ContainersNotReady",
		"Running main=waiting:CreateContainerConfigError ready=False:ContainersNotReady",
		"Running main=running ready=True",
		"Running deleting 30 main=running ready=True",
		"Failed deleting 30 main=143:Error ready=False:PodFailed",
		"Failed deleting 0 main=143:Error ready=False:PodFailed",
	}},
}

var _ = Describe("A kubelet, while the gate of a pod is closed, starts nothing in it, and", func() {
	for number, f := range kept {
		It(f.name, func(ctx context.Context) {
			told := map[string]int{}
			for _, s := range f.happenToAll(ctx, f.pods(100 + number)[:tries]) {
				told[strings.Join(s.versions, "\n")]++
			}
			Expect(told).To(HaveKeyWithValue(strings.Join(f.story, "\n"), BeNumerically(">", tries/2)))
		})
	}
})

// agree wants most of the stories from a real node to be the one from a fake node.
func agree(real []story, fake story) {
	GinkgoHelper()
	told := map[string]int{}
	for _, s := range real {
		told[strings.Join(s.versions, "\n")]++
	}
	Expect(told).To(HaveKeyWithValue(strings.Join(fake.versions, "\n"), BeNumerically(">", tries/2)),
		"most of the stories from a real node have to be this one, from a fake node:\n%s", strings.Join(fake.versions, "\n"))
	compareTimes(real, fake)
}

// compareTimes wants the fake node to be as quick as the quickest and the slowest real try, give or take what two busy cores do.
func compareTimes(real []story, fake story) {
	GinkgoHelper()
	for _, s := range append(real, fake) {
		if s.stamped.IsZero() {
			continue
		}
		Expect(s.ended.Sub(s.stamped)).To(BeNumerically("~", time.Second, 2*time.Second), "from the second of the end to when it is told")
	}
	Expect(closing(fake)).To(BeNumerically("~", closing(real[0]), 2*time.Second), "from the end of the container to that of the pod")
}

func closing(s story) time.Duration {
	if s.ended.IsZero() || s.closed.IsZero() {
		return 0
	}
	return s.closed.Sub(s.ended)
}

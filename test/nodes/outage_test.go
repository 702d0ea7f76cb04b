//go:build nodes

package nodes

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/testbed"
	"github.com/trainingjob/operator/test/sim/builder"
)

var (
	operatorBinary = flag.String("operator", "../../bin/operator", "the operator's binary, for the spec of an outage")
	outage         = flag.Duration("outage", 5*time.Minute, "how long the API server is dead in the spec of an outage")
)

// operatorImage is the image that the spec makes of the operator's binary.
const operatorImage = "lab.local/operator:1"

var _ = Describe("An outage of the API server", Serial, Label("outage"), func() {
	It("puts no container of the operator into the kubelet's back-off, and a job that broke meanwhile is answered 30 s after it", func(ctx SpecContext) {
		l := startInstalled(ctx)
		job := builder.Submitted("train", v1alpha1.Custom, builder.Workers(2, builder.Template(trains)))
		job.Namespace = metav1.NamespaceDefault
		Expect(l.kube.Create(ctx, job)).To(Succeed())
		Eventually(l.jobState).WithContext(ctx).WithArguments(job).Should(Equal("Running, 2/2 ready, 0 restarts"))
		before := l.operatorRestarts(ctx)

		over := make(chan error, 1)
		go func() {
			_, err := l.Run(ctx, "restart", "--component", "kube-apiserver", "--dead-for", outage.String())
			over <- err
		}()
		Eventually(func() error { return l.kube.Get(ctx, client.ObjectKeyFromObject(job), job) }).WithContext(ctx).ShouldNot(Succeed(), "the API server is killed")
		killProgramOf("train-worker-1")
		l.killComponents("kube-controller-manager", "kube-scheduler") // in a cluster they end with their leases
		Eventually(over).WithTimeout(*outage + 2*time.Minute).Should(Receive(BeNil()))
		back := time.Now()
		for _, component := range []string{"kube-controller-manager", "kube-scheduler"} {
			l.run("restart", "--component", component)
		}

		Eventually(func() int32 { return l.read(ctx, job).Status.Restarts }).WithContext(ctx).WithTimeout(time.Until(back.Add(30*time.Second))).Should(BeNumerically(">=", 1), "the failure is answered")
		progress.Say("the failure is answered %.1f s after the API server's return", time.Since(back).Seconds())
		Eventually(l.jobState).WithContext(ctx).WithArguments(job).Should(HavePrefix("Running, 2/2 ready"))
		progress.Say("all replicas run again %.1f s after the API server's return", time.Since(back).Seconds())
		l.sayWhatPodsWaitedFor(ctx)
		incidents := l.read(ctx, job).Status.Incidents
		for _, i := range incidents {
			progress.Say("incident at %s: %s %s of %s, %s", i.Time.UTC().Format(time.TimeOnly), i.Cause, i.Reason, i.Pod, i.Message)
		}
		Expect(incidents).To(HaveLen(1), "restarts, of which the program that was killed asks for one")
		for name, restarts := range l.operatorRestarts(ctx) {
			progress.Say("%s restarted %d times", name, restarts-before[name])
			if restarts-before[name] > 1 {
				said, err := l.Kubectl(ctx, "--namespace", "trainingjob-system", "logs", "--previous", "--tail=20", name)
				Fail(fmt.Sprintf("each restart of %s lengthens the kubelet's back-off; before its last one it logged (%v):\n%s", name, err, said))
			}
		}
	}, SpecTimeout(20*time.Minute))
})

// installed is a lab of its own whose operator runs as manifests/base installs it: two containers on real nodes.
type installed struct {
	*laboratory
	kube client.Client
}

func startInstalled(ctx context.Context) *installed {
	GinkgoHelper()
	l := &installed{laboratory: newLaboratory()}
	archive := filepath.Join(GinkgoT().TempDir(), "operator.tar")
	Expect(testbed.WriteImage(archive, operatorImage, *operatorBinary)).To(Succeed())
	DeferCleanup(func() { l.end(CurrentSpecReport().Failed()) })
	l.run("up", "--nodes", "0", "--real", "2", "--crds", "../../manifests/crd", "--image", archive)
	var err error
	l.kube, err = testbed.Connect(l.Kubeconfig(), "trainingjob-outage")
	Expect(err).NotTo(HaveOccurred())
	manifests, err := l.Kubectl(ctx, "kustomize", "../../manifests/base")
	Expect(err).NotTo(HaveOccurred())
	Expect(manifests).To(ContainSubstring("registry.invalid/operator:name-your-registry"))
	file := l.File("install.yaml")
	Expect(os.WriteFile(file, []byte(strings.ReplaceAll(manifests, "registry.invalid/operator:name-your-registry", operatorImage)), 0o600)).To(Succeed())
	for _, args := range [][]string{
		{"apply", "--server-side", "--force-conflicts", "-f", file},
		{"--namespace", "trainingjob-system", "rollout", "status", "deployment/trainingjob-operator", "--timeout=3m"},
	} {
		said, err := l.Kubectl(ctx, args...)
		Expect(err).NotTo(HaveOccurred(), said)
	}
	return l
}

// trains makes the pods run the trainer, each by itself.
func trains(pods *corev1.PodTemplateSpec) {
	main := &pods.Spec.Containers[0]
	main.Image, main.ImagePullPolicy = image, corev1.PullNever
}

func (l *installed) read(ctx context.Context, job *v1alpha1.TrainingJob) *v1alpha1.TrainingJob {
	now := &v1alpha1.TrainingJob{}
	if err := l.kube.Get(ctx, client.ObjectKeyFromObject(job), now); err != nil {
		return &v1alpha1.TrainingJob{} // asked again
	}
	return now
}

// sayWhatPodsWaitedFor prints when each pod of the job was created, scheduled, initialized and ready: where the seconds after an outage go.
func (l *installed) sayWhatPodsWaitedFor(ctx context.Context) {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(l.kube.List(ctx, &pods, client.InNamespace(metav1.NamespaceDefault))).To(Succeed())
	for i := range pods.Items {
		pod := &pods.Items[i]
		line := fmt.Sprintf("%s on %s: created %s", pod.Name, pod.Spec.NodeName, pod.CreationTimestamp.UTC().Format(time.TimeOnly))
		for _, c := range pod.Status.Conditions {
			line += fmt.Sprintf(", %s=%s %s", c.Type, c.Status, c.LastTransitionTime.UTC().Format(time.TimeOnly))
		}
		progress.Say("%s", line)
	}
	for _, args := range [][]string{{"get", "events", "-A", "--sort-by=.lastTimestamp"}, {"get", "nodes", "-o", "wide"}} {
		said, err := l.Kubectl(ctx, args...)
		Expect(err).NotTo(HaveOccurred(), said)
		progress.Say("%s", said)
	}
}

func (l *installed) jobState(ctx context.Context, job *v1alpha1.TrainingJob) string {
	s := l.read(ctx, job).Status
	return fmt.Sprintf("%s, %s ready, %d restarts", s.Phase, s.Ready, s.Restarts)
}

// operatorRestarts returns how often the container of each of the operator's pods was restarted.
func (l *installed) operatorRestarts(ctx context.Context) map[string]int32 {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(l.kube.List(ctx, &pods, client.InNamespace("trainingjob-system"))).To(Succeed())
	Expect(pods.Items).To(HaveLen(2))
	restarts := map[string]int32{}
	for i := range pods.Items {
		restarts[pods.Items[i].Name] = pods.Items[i].Status.ContainerStatuses[0].RestartCount
	}
	return restarts
}

// killComponents kills parts of the control plane by their pids, which stay dead.
func (l *installed) killComponents(names ...string) {
	GinkgoHelper()
	var state struct {
		Processes []struct {
			Name string
			PID  int
		}
	}
	Expect(l.ReadState(&state)).To(Succeed())
	for _, p := range state.Processes {
		if slices.Contains(names, p.Name) {
			Expect(syscall.Kill(p.PID, syscall.SIGKILL)).To(Succeed(), p.Name)
		}
	}
}

// killProgramOf kills the trainer of a pod from outside, without the API server, by which lab pod kill finds it.
func killProgramOf(pod string) {
	GinkgoHelper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	Expect(err).NotTo(HaveOccurred())
	for _, file := range files {
		environment, _ := os.ReadFile(file) // it may have ended
		arguments, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if !strings.HasPrefix(string(arguments), "/program") || !strings.Contains("\x00"+string(environment), "\x00HOSTNAME="+pod+"\x00") {
			continue
		}
		var pid int
		_, err := fmt.Sscanf(file, "/proc/%d/environ", &pid)
		Expect(err).NotTo(HaveOccurred())
		Expect(syscall.Kill(pid, syscall.SIGKILL)).To(Succeed())
		return
	}
	Fail("no process of pod " + pod)
}

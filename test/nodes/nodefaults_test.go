//go:build nodes

package nodes

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/test/api/testbed"
)

// nodeFault happens to a node, and so to its pods.
type nodeFault struct {
	name string
	// breaks and mends are commands of lab node.
	breaks, mends string
	// tells is whether the pods' story after the mending is compared, too. What a kubelet finds after a boot no fake node tells.
	tells bool
	// keeps is whether the pods stay on the node however long it is silent.
	keeps bool
}

var nodeFaults = []nodeFault{
	{name: "is killed", breaks: "kill", mends: "boot"},
	{name: "loses its link for a while", breaks: "cut", mends: "heal", tells: true},
	{name: "loses its link, and its pods wait for it", breaks: "cut", mends: "heal", tells: true, keeps: true},
	{name: "stands still for a while", breaks: "freeze", mends: "thaw", tells: true},
}

const (
	realOne = "real-1"
	fakeOne = "gpu-1"
)

func setDead(ctx context.Context, value any) {
	GinkgoHelper()
	Expect(testbed.Tell(ctx, kube, testbed.NodeNamed(fakeOne), testbed.Annotations{"dead": value})).To(Succeed())
}

// tolerant lets a pod stay on a node that is silent.
func tolerant(pod *corev1.Pod) {
	pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
}

// runBeside runs pods on a real node, as many as there are tries, and one on a fake one.
func runBeside(ctx context.Context, name string, change func(*corev1.Pod)) []*corev1.Pod {
	GinkgoHelper()
	var pods []*corev1.Pod
	for try := range tries {
		pods = append(pods, onNode(fmt.Sprintf("%s-real-%d", name, try), realOne))
	}
	pods = append(pods, onNode(name+"-fake", fakeOne))
	for _, pod := range pods {
		change(pod)
		run(ctx, pod)
	}
	return pods
}

// storiesOf waits for something of the story of each pod and returns the stories.
func storiesOf(c *chronicle, pods []*corev1.Pod, until func(story) bool) []story {
	GinkgoHelper()
	var stories []story
	for _, pod := range pods {
		Eventually(c.of).WithArguments(pod.Name).Should(Satisfy(until), "the story of %s", pod.Name)
		stories = append(stories, c.of(pod.Name))
	}
	return stories
}

func isBeingDeleted(s story) bool {
	return len(s.versions) > 0 && strings.Contains(s.versions[len(s.versions)-1], "deleting")
}

func isReadyAgain(s story) bool {
	return len(s.versions) > 1 && strings.HasSuffix(s.versions[len(s.versions)-1], "ready=True")
}

func isMarked(s story) bool {
	return len(s.versions) > 1 && strings.HasSuffix(s.versions[len(s.versions)-1], "ready=False")
}

func isGone(s story) bool { return s.gone }

var _ = Describe("A fake node tells the story of its pods as a real one does when it", Serial, func() {
	BeforeEach(func(ctx context.Context) {
		isHealthy(ctx, realOne)
		isHealthy(ctx, fakeOne)
	})

	for _, f := range nodeFaults {
		It(f.name, func(ctx context.Context) {
			c := beginChronicle(ctx)
			change, broken, mended := func(*corev1.Pod) {}, isBeingDeleted, isGone
			if f.keeps {
				change, broken, mended = tolerant, isMarked, isReadyAgain
			}
			pods := runBeside(ctx, "node-"+f.breaks, change)
			lab.run("node", f.breaks, realOne)
			setDead(ctx, "true")
			stories := storiesOf(c, pods, broken)
			lab.run("node", f.mends, realOne)
			setDead(ctx, nil)
			if f.tells {
				stories = storiesOf(c, pods, mended)
			}
			agree(stories[:tries], stories[tries])
			isHealthy(ctx, realOne)
			isHealthy(ctx, fakeOne)
		})
	}

	It("is rebooted before anybody misses it", func(ctx context.Context) {
		c := beginChronicle(ctx)
		pods := runBeside(ctx, "node-reboot", func(*corev1.Pod) {})
		lab.run("node", "reboot", realOne)
		Expect(testbed.Tell(ctx, kube, pods[tries], testbed.Annotations{"exit-code": "255", "exit-reason": "Unknown"})).To(Succeed())
		stories := storiesOf(c, pods, func(s story) bool { return !s.closed.IsZero() })
		for i := range stories[:tries] {
			// After a boot the end bears the second in which containerd found it, which is not that of the end.
			stories[i].stamped = time.Time{}
		}
		agree(stories[:tries], stories[tries])
	})
})

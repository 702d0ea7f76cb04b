//go:build frameworks

package frameworks

import (
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// ports are where an example's processes find the port at which they meet.
var ports = map[string]string{"pytorch-ddp": "MASTER_PORT", "jax": "JAX_COORDINATOR_ADDRESS", "xgboost": "DMLC_TRACKER_PORT"}

var _ = Describe("In place,", Label("in-place"), func() {
	for _, e := range examplesHere {
		if ports[e.name] == "" {
			continue
		}
		Describe(e.name, Ordered, Label(e.name), func() {
			BeforeAll(func() {
				e.bringImage()
			})
			BeforeEach(nodesAreWell)

			for _, f := range faults {
				if f.label != "kill" {
					continue
				}
				It(fmt.Sprintf("resumes from its checkpoint, at a port of the attempt, each time when %s (%s)", f.name, e.victim), Label(f.label), func(ctx SpecContext) {
					r := begin(ctx, e, e.victim, fault{prepare: func(r *run) { r.restartsInPlace(f) }})
					r.untilSaved()
					sum := &goneOn{}
					for round := range int32(*rounds) {
						r.breaksInPlace(f, round+1, sum)
					}
					AddReportEntry(e.name+", "+f.label, sum.String())
				}, NodeTimeout(time.Hour))
			}
		})
	}
})

// goneOn counts the ranks other than the one that was broken.
type goneOn struct {
	inPlace, others int
	took            []time.Duration
}

func (g *goneOn) String() string {
	slices.Sort(g.took)
	return fmt.Sprintf("%d of %d other ranks still ran and went on in their pods; seconds from the fault to the next step %.1f (%.1f to %.1f)",
		g.inPlace, g.others, g.took[len(g.took)/2].Seconds(), g.took[0].Seconds(), g.took[len(g.took)-1].Seconds())
}

// restartsInPlace makes a job that trains without end and restarts in place. Its ranks have 2 s to end: one that hangs needs all of it.
func (r *run) restartsInPlace(f fault) {
	if f.prepare != nil {
		f.prepare(r)
	}
	r.spec.Spec.Recovery.RestartMethod = v1alpha1.RestartInPlace
	r.spec.Spec.Recovery.MaxRestarts, r.spec.Spec.Recovery.MaxHangRestarts = ptr.To[int32](100), ptr.To[int32](100)
	r.spec.Spec.Recovery.BackoffSeconds, r.spec.Spec.Recovery.MaxBackoffSeconds = ptr.To[int32](1), ptr.To[int32](1)
	r.spec.Spec.Recovery.NoProgressLimit, r.spec.Spec.Recovery.SameCrashLimit, r.spec.Spec.Recovery.AvoidNodesSeconds = ptr.To[int32](0), ptr.To[int32](0), ptr.To[int32](0)
	r.eachPod(func(pod *corev1.PodSpec) { pod.TerminationGracePeriodSeconds = ptr.To[int64](2) })
	r.eachContainer(func(c *corev1.Container) {
		for i := range c.Env {
			if c.Env[i].Name == "STEPS" {
				c.Env[i].Value = "1000000"
			}
		}
	})
}

// breaksInPlace breaks the job and holds that it goes on in the attempt from its newest checkpoint.
func (r *run) breaksInPlace(f fault, attempt int32, sum *goneOn) {
	GinkgoHelper()
	before, saved := r.ranks(), r.newestSaved()
	r.broken = time.Now()
	f.do(r)
	Eventually(func(g Gomega) {
		status := r.job().Status
		g.Expect(status.Attempt).To(Equal(attempt), status.Message)
		g.Expect(status.ReadyReplicas).To(Equal(status.Replicas), status.Message)
		g.Expect(r.tape.find(r.isStepOf(attempt))).NotTo(BeEmpty(), "a step in attempt %d", attempt)
	}).WithTimeout(4 * time.Minute).Should(Succeed())
	first := r.tape.find(r.isStepOf(attempt))[0]
	sum.took = append(sum.took, first.at.Sub(r.broken))
	Expect(first.value("step")).To(BeNumerically(">", saved), "%q: the newest checkpoint before the fault was of step %v", first.text, saved)
	loads := r.tape.find(func(l line) bool { return l.isLoad() && l.value("attempt") == float64(attempt) })
	Expect(loads).NotTo(BeEmpty(), "a checkpoint is loaded in attempt %d", attempt)
	after := r.ranks()
	for rank, pod := range after {
		Expect(r.portOf(pod)).To(Equal(pod.Annotations[v1alpha1.AnnotationLeaderPort]), "%s meets at the port of attempt %d", rank, attempt)
		if rank == r.hit.String() {
			continue
		}
		sum.others++
		if before[rank].UID == pod.UID {
			sum.inPlace++
			Expect(containerOf(pod)).NotTo(Equal(containerOf(before[rank])), "%s has another process", rank)
		}
	}
	Expect(portToldTo(after, r.hit)).NotTo(Equal(portToldTo(before, r.hit)), "each attempt has a port of its own")
	r.untilSavedIn(attempt)
}

// ranks returns the pods that run, by replica.
func (r *run) ranks() map[string]corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(kube.List(r.ctx, &pods, client.InNamespace(r.namespace))).To(Succeed())
	found := map[string]corev1.Pod{}
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
			rank := strings.ToLower(pod.Labels[v1alpha1.LabelRole]) + "-" + pod.Labels[v1alpha1.LabelIndex]
			Expect(found).NotTo(HaveKey(rank), "two pods of %s run", rank)
			found[rank] = pod
		}
	}
	return found
}

func portToldTo(ranks map[string]corev1.Pod, v victim) string {
	return ranks[v.String()].Annotations[v1alpha1.AnnotationLeaderPort]
}

func containerOf(pod corev1.Pod) string { return pod.Status.ContainerStatuses[0].ContainerID }

// portOf returns the port at which the pod's process meets the others, as its environment has it.
func (r *run) portOf(pod corev1.Pod) string {
	GinkgoHelper()
	name := ports[r.name]
	said := lab(r.forKubectl([]string{"exec", pod.Name, "--", "sh", "-c", "tr '\\0' '\\n' < /proc/1/environ | grep ^" + name + "="})...)
	_, value, _ := strings.Cut(strings.TrimSpace(said), "=")
	return value[strings.LastIndex(value, ":")+1:]
}

func (r *run) isStepOf(attempt int32) func(line) bool {
	return func(l line) bool { return l.isStep() && l.value("attempt") == float64(attempt) }
}

func (r *run) newestSaved() float64 {
	newest := 0.0
	for _, l := range r.tape.find(line.isSaved) {
		newest = max(newest, l.value("step"))
	}
	return newest
}

// untilSavedIn waits for a checkpoint of the attempt.
func (r *run) untilSavedIn(attempt int32) {
	GinkgoHelper()
	Eventually(func() []line {
		return r.tape.find(func(l line) bool { return l.isSaved() && l.value("attempt") == float64(attempt) })
	}).WithTimeout(4*time.Minute).ShouldNot(BeEmpty(), "a checkpoint of attempt %d", attempt)
}

//go:build frameworks

package frameworks

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

var rounds = flag.Int("rounds", 3, "how often each fault is made of which the right rank must be named")

// A way for one of four ranks to end, the cause that the status must give, and words that its log must have.
type way struct {
	name  string
	end   func(*run, *corev1.Pod)
	cause v1alpha1.Cause
	words string
}

// exception is how most programs fail. The other ranks end with the same code in the same second or two.
const exception = "ValueError: batch 17 is empty"

var (
	raises    = way{"exit 1, Python exception", does("raise ValueError('batch 17 is empty')"), v1alpha1.CauseRetryable, exception}
	exits     = way{"exit 42", does("os._exit(42)"), v1alpha1.CauseRetryable, "step="}
	fills     = way{"out of memory", func(r *run, pod *corev1.Pod) { r.fillMemory(pod) }, v1alpha1.CauseOOM, "step="}
	kills     = way{"kill -9", signals("kill"), v1alpha1.CauseRetryable, "step="}
	segfaults = way{"SIGSEGV", does("import ctypes; ctypes.string_at(0)"), v1alpha1.CauseRetryable, "step="}
	hangs     = way{"a hang", signals("stop"), v1alpha1.CauseHang, "step="}
)

// signals sends the rank's process SIGKILL or SIGSTOP, from outside: the verb is the lab's.
func signals(verb string) func(*run, *corev1.Pod) {
	return func(r *run, pod *corev1.Pod) { lab("pod", verb, pod.Name, "-n", r.namespace, "--dir", labDir) }
}

// does has the rank's main thread run a line of Python between two steps.
func does(python string) func(*run, *corev1.Pod) {
	return func(r *run, pod *corev1.Pod) {
		r.kubectl("exec", pod.Name, "--", "sh", "-c", fmt.Sprintf("echo %q > /tmp/new && mv /tmp/new /tmp/do", python))
	}
}

// When one rank of a collective is gone, the connections of the others break, and all of them end with 1 a moment later, or abort. The status
// is to name the one that went first, with its log.
var _ = Describe("who was first", Label("attribution"), func() {
	for _, e := range []example{{name: "pytorch-ddp", victim: worker1}, {name: "jax", victim: worker1}} {
		Describe("of four ranks of "+e.name, Ordered, ContinueOnFailure, Label(e.name), func() {
			BeforeAll(e.bringImage)
			BeforeEach(nodesAreWell)

			DescribeTable("one of which ends by", func(ctx SpecContext, how way) {
				blame(ctx, e, how, *rounds, fourRanks)
			}, each(raises), each(exits), each(fills), each(kills), each(segfaults))

			It("is rank 0, which reports for all, when a rank hangs", func(ctx SpecContext) {
				blame(ctx, e, hangs, max(1, *rounds/4), func(r *run) {
					fourRanks(r)
					r.reportProgress(30)
				})
			}, NodeTimeout(time.Hour))
		})
	}
})

// blame ends ranks of the example so many times, and holds that all but one in twenty are named.
func blame(ctx SpecContext, e example, how way, times int, prepare func(*run)) {
	GinkgoHelper()
	r := begin(ctx, e, e.victim, fault{prepare: prepare})
	sum := &tally{of: e.name, how: how}
	DeferCleanup(func() { figures.attribution(sum) })
	for round := range times {
		r.blames(sum, round)
	}
	Expect(len(sum.wrong)).To(BeNumerically("<=", times/20), strings.Join(sum.wrong, "\n"))
	Expect(len(sum.silent)).To(BeNumerically("<=", times/20), strings.Join(sum.silent, "\n"))
}

func each(how way) TableEntry { return Entry(nil, NodeTimeout(time.Hour), how) }

func (w way) String() string { return w.name }

// A tally counts what the status said of a fault that was made again and again.
type tally struct {
	of             string
	how            way
	wrong, silent  []string
	decided, again []float64 // seconds from the fault until the restart was in the status, and until all ranks ran again
}

func (t *tally) row() string {
	n := len(t.again)
	of := func(bad []string) string { return fmt.Sprintf("%d of %d", n-len(bad), n) }
	log := of(t.silent)
	if t.how.cause == v1alpha1.CauseHang { // the log of a pod that is killed goes with it
		log = "-"
	}
	return markdown([]string{t.of, t.how.name, of(t.wrong), log, spread(t.decided), spread(t.again)})
}

// spread returns the median, the smallest and the largest.
func spread(of []float64) string {
	if len(of) == 0 {
		return "-"
	}
	sorted := slices.Sorted(slices.Values(of))
	return fmt.Sprintf("%.1f (%.1f to %.1f)", sorted[len(sorted)/2], sorted[0], sorted[len(sorted)-1])
}

// fourRanks makes the job one of four ranks that train until they are ended, and are started again without end.
func fourRanks(r *run) {
	r.limitMemory("1Gi")
	spec := &r.spec.Spec
	workers := spec.ReplicaSpecs[v1alpha1.Worker]
	workers.Replicas = ptr.To[int32](4)
	if state.Leader(spec).Role == v1alpha1.Master {
		workers.Replicas = ptr.To[int32](3)
	}
	spec.ReplicaSpecs[v1alpha1.Worker] = workers
	spec.Recovery = v1alpha1.Recovery{MaxRestarts: ptr.To[int32](100), MaxOOMRestarts: ptr.To[int32](100), NoProgressLimit: ptr.To[int32](0),
		BackoffSeconds: ptr.To[int32](1), MaxBackoffSeconds: ptr.To[int32](1)}
	r.eachContainer(func(c *corev1.Container) {
		c.Command = []string{"python3", "-c", doesWhatItIsTold}
		c.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
		c.Env = append(slices.DeleteFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "STEPS" }), corev1.EnvVar{Name: "STEPS", Value: "1000000"})
	})
}

// doesWhatItIsTold runs the example as it is. In the pause after a step it runs the Python that it finds in a file.
const doesWhatItIsTold = `
import os, runpy, time

def pause(seconds, really=time.sleep):
    if os.path.exists("/tmp/do"):
        exec(open("/tmp/do").read())
    really(seconds)

time.sleep = pause
runpy.run_path("/app/train.py", run_name="__main__")
`

// victims returns the job's ranks, in their order.
func (r *run) victims() []victim {
	leader := state.Leader(&r.spec.Spec)
	all := []victim{{role: leader.Role}}
	for index := range *r.spec.Spec.ReplicaSpecs[v1alpha1.Worker].Replicas {
		if worker := (victim{role: v1alpha1.Worker, index: index}); worker != all[0] {
			all = append(all, worker)
		}
	}
	return all
}

// blames ends one rank, another one each round, waits until all run again, and counts what the status says of it. Rank 0 does not raise
// exceptions: it is named if nothing tells the ranks apart.
func (r *run) blames(sum *tally, round int) {
	GinkgoHelper()
	victims := r.victims()
	rank := round % len(victims)
	if sum.how.words == exception {
		rank = 1 + rand.IntN(len(victims)-1)
	}
	r.hit = victims[rank]
	r.runs(int32(round))
	guilty := r.pod()
	Eventually(func() []line { return r.tape.find(func(l line) bool { return l.pod == guilty.Name && l.isStep() }) }).
		WithTimeout(2*time.Minute).ShouldNot(BeEmpty(), "%s steps with the others", guilty.Name)
	began := time.Now()
	sum.how.end(r, guilty)
	r.runs(int32(round) + 1)
	sum.again = append(sum.again, time.Since(began).Seconds())
	r.tape.Lock()
	sum.decided = append(sum.decided, r.tape.restarts[round].Sub(began).Seconds())
	r.tape.Unlock()
	r.judge(sum, round, guilty.Name)
	for _, how := range [][]string{{"--previous"}, {"--attempt", fmt.Sprint(round)}} {
		said := r.plugin(append([]string{"logs", r.name, "--rank", fmt.Sprint(rank)}, how...)...)
		if sum.how.cause != v1alpha1.CauseHang && !strings.Contains(said, sum.how.words) {
			sum.silent = append(sum.silent, fmt.Sprintf("round %d: the log of %s, by %s: %s", round, guilty.Name, how[0], said))
			break
		}
	}
}

// judge counts a round as wrong if the status gives another rank or cause. Of a hang it knows rank 0 alone, which reports for all.
func (r *run) judge(sum *tally, round int, guilty string) {
	last := r.job().Status.LastFailure
	if last == nil {
		last = &v1alpha1.Failure{}
	}
	if last.Cause != sum.how.cause || last.Pod != guilty && last.Cause != v1alpha1.CauseHang {
		sum.wrong = append(sum.wrong, fmt.Sprintf("round %d: %s broke, lastFailure is %s, %s (%s)", round, guilty, last.Pod, last.Cause, last.Message))
	}
}

// runs waits until all replicas of the attempt run.
func (r *run) runs(attempt int32) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		status := r.job().Status
		g.Expect(status.Attempt).To(Equal(attempt))
		g.Expect(status.Phase).To(Equal(v1alpha1.PhaseRunning), status.Message)
		g.Expect(status.ReadyReplicas).To(Equal(status.Replicas))
	}).WithContext(r.ctx).WithTimeout(4*time.Minute).Should(Succeed(), "all replicas run in attempt %d", attempt)
}

// plugin returns what kubectl tj says.
func (r *run) plugin(args ...string) string {
	cmd := exec.Command(filepath.Join(root, "bin/kubectl-tj"), append(args, "--kubeconfig", filepath.Join(labDir, "kubeconfig"), "-n", r.namespace)...)
	said, _ := cmd.CombinedOutput() // a refusal is an answer too
	return string(said)
}

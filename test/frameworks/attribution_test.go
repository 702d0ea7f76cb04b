//go:build frameworks

package frameworks

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

var rounds = flag.Int("rounds", 3, "how often each fault is made of which the right rank must be named")

// A way for one of four ranks to end, and the cause that the status must give.
type way struct {
	name  string
	end   func(*run, *corev1.Pod)
	cause v1alpha1.Cause
}

var (
	exits = way{"exit 42", func(r *run, pod *corev1.Pod) { r.kubectl("exec", pod.Name, "--", "touch", "/tmp/exit") }, v1alpha1.CauseRetryable}
	fills = way{"out of memory", func(r *run, pod *corev1.Pod) { r.fillMemory(pod) }, v1alpha1.CauseOOM}
	kills = way{"kill -9", func(r *run, pod *corev1.Pod) { lab("pod", "kill", pod.Name, "-n", r.namespace, "--dir", labDir) }, v1alpha1.CauseRetryable}
)

// When one rank of a collective is gone, the connections of the others break, and all of them end with 1 a moment later. The status is
// to name the one that went first, with its log.
var _ = Describe("who was first", Ordered, ContinueOnFailure, Label("attribution"), func() {
	ddp := example{name: "pytorch-ddp", victim: worker1}
	BeforeAll(ddp.bringImage)
	BeforeEach(nodesAreWell)

	DescribeTable("of four ranks of PyTorch's DistributedDataParallel", func(ctx SpecContext, how way) {
		r := begin(ctx, ddp, ddp.victim, fault{prepare: fourRanks})
		sum := &tally{how: how}
		DeferCleanup(func() { figures.attribution(sum) })
		for round := range *rounds {
			r.blames(sum, round)
		}
		Expect(len(sum.wrong)).To(BeNumerically("<=", *rounds/20), strings.Join(sum.wrong, "\n"))
		Expect(len(sum.silent)).To(BeNumerically("<=", *rounds/20), strings.Join(sum.silent, "\n"))
	}, Entry(nil, NodeTimeout(time.Hour), exits), Entry(nil, NodeTimeout(time.Hour), fills), Entry(nil, NodeTimeout(time.Hour), kills))
})

func (w way) String() string { return w.name }

// A tally counts what the status said of a fault that was made again and again.
type tally struct {
	how            way
	wrong, silent  []string
	decided, again []float64 // seconds from the fault until the restart was in the status, and until all ranks ran again
}

func (t *tally) row() string {
	n := len(t.again)
	of := func(bad []string) string { return fmt.Sprintf("%d of %d", n-len(bad), n) }
	return markdown([]string{t.how.name, of(t.wrong), of(t.silent), spread(t.decided), spread(t.again)})
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
	workers.Replicas = ptr.To[int32](3)
	spec.ReplicaSpecs[v1alpha1.Worker] = workers
	spec.Recovery = v1alpha1.Recovery{MaxRestarts: ptr.To[int32](100), MaxOOMRestarts: ptr.To[int32](100), NoProgressLimit: ptr.To[int32](0),
		BackoffSeconds: ptr.To[int32](1), MaxBackoffSeconds: ptr.To[int32](1)}
	r.eachContainer(func(c *corev1.Container) {
		c.Command = []string{"python3", "-c", exitsWhenTold}
		c.Env = append(slices.DeleteFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "STEPS" }), corev1.EnvVar{Name: "STEPS", Value: "1000000"})
	})
}

// exitsWhenTold runs the example as it is, beside a thread that exits with 42 once there is a file.
const exitsWhenTold = `
import os, runpy, threading, time

def watch():
    while not os.path.exists("/tmp/exit"):
        time.sleep(0.1)
    os._exit(42)

threading.Thread(target=watch, daemon=True).start()
runpy.run_path("/app/train.py", run_name="__main__")
`

// blames ends one rank, another one each round, waits until all run again, and counts what the status says of it.
func (r *run) blames(sum *tally, round int) {
	GinkgoHelper()
	r.hit = []victim{{role: v1alpha1.Master}, {role: v1alpha1.Worker}, {role: v1alpha1.Worker, index: 1}, {role: v1alpha1.Worker, index: 2}}[round%4]
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
}

func (r *run) judge(sum *tally, round int, guilty string) {
	last := r.job().Status.LastFailure
	if last == nil {
		last = &v1alpha1.Failure{}
	}
	if last.Pod != guilty || last.Cause != sum.how.cause {
		sum.wrong = append(sum.wrong, fmt.Sprintf("round %d: %s broke, lastFailure is %s, %s (%s)", round, guilty, last.Pod, last.Cause, last.Message))
	}
	if log := r.log(last.Pod); !strings.Contains(log, "step=") {
		sum.silent = append(sum.silent, fmt.Sprintf("round %d: the log of %s: %s", round, last.Pod, log))
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

// log returns what the API server still gives of a pod's log, or why it does not.
func (r *run) log(pod string) string {
	ctx, cancel := context.WithTimeout(r.ctx, 10*time.Second)
	defer cancel()
	stream, err := logs.CoreV1().Pods(r.namespace).GetLogs(pod, &corev1.PodLogOptions{}).Stream(ctx)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = stream.Close() }()
	text, err := io.ReadAll(stream)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

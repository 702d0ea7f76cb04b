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
	"github.com/trainingjob/operator/pkg/job/state"
)

var rounds = flag.Int("rounds", 3, "how often each fault is made of which the right rank must be named")

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

			It("is a rank on the node that dies", Label("node"), func(ctx SpecContext) {
				blameNode(ctx, e, *rounds)
			}, NodeTimeout(2*time.Hour))

			It("is the rank whose device breaks", Label("device"), func(ctx SpecContext) {
				startDevices(ctx)
				blame(ctx, e, ofDevice, *rounds, func(r *run) {
					fourRanks(r)
					r.eachRankHasADevice()
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
	spec.Recovery = v1alpha1.Recovery{MaxRestarts: ptr.To[int32](100), MaxOOMRestarts: ptr.To[int32](100), NoProgressLimit: ptr.To[int32](0), SameCrashLimit: ptr.To[int32](0),
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
	if sum.how.mend != nil {
		Eventually(func() int32 { return r.job().Status.Attempt }).WithTimeout(4*time.Minute).Should(BeNumerically(">", round), "a restart is decided")
		sum.how.mend(r, guilty)
	}
	r.runs(int32(round) + 1)
	sum.rounds++
	sum.again = append(sum.again, time.Since(began).Seconds())
	r.tape.Lock()
	sum.decided = append(sum.decided, r.tape.restarts[round].Sub(began).Seconds())
	r.tape.Unlock()
	r.judge(sum, round, guilty.Name)
	for _, how := range [][]string{{"--previous"}, {"--attempt", fmt.Sprint(round)}} {
		if sum.how.words == "" {
			break
		}
		said := r.plugin(append([]string{"logs", r.name, "--rank", fmt.Sprint(rank)}, how...)...)
		if !strings.Contains(said, sum.how.words) {
			sum.silent = append(sum.silent, fmt.Sprintf("round %d: the log of %s, by %s: %s", round, guilty.Name, how[0], said))
			break
		}
	}
}

// judge counts a round as wrong if the status gives another rank or cause.
func (r *run) judge(sum *tally, round int, guilty string) {
	last := r.job().Status.LastFailure
	if last == nil {
		last = &v1alpha1.Failure{}
	}
	isNamed := last.Pod == guilty
	if !isNamed || last.Cause != sum.how.cause || sum.how.reason != "" && last.Reason != sum.how.reason {
		sum.wrong = append(sum.wrong, fmt.Sprintf("round %d: %s broke, lastFailure is %s, %s %s (%s)", round, guilty, last.Pod, last.Cause, last.Reason, last.Message))
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

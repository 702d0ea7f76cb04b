//go:build chaos

package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/testbed"
)

// place is a namespace of one spec, what happens in it and what the spec does to it.
type place struct {
	namespace string
	tape      *tape
	harm      *harm
	plays     map[string]*play
	// dead are the nodes that the spec has killed.
	dead map[string]bool
	// excused says which broken invariants an earlier version of the operator is excused of; nil: none.
	excused func(violation string) bool
}

// newPlace makes a namespace in which pods can be created, and records all that happens there.
func newPlace() *place {
	GinkgoHelper()
	namespace, err := testbed.NewNamespace(context.Background(), kube, "chaos-")
	Expect(err).NotTo(HaveOccurred())
	p := &place{namespace: namespace, plays: map[string]*play{}, dead: map[string]bool{}}
	p.tape = record(p.namespace)
	p.harm = newHarm(p)
	DeferCleanup(p.clear)
	return p
}

// clear ends all jobs of the place at once. The operators are dead by now.
func (p *place) clear() {
	ctx := context.Background()
	for _, kind := range []client.Object{&v1alpha1.TrainingJob{}, &corev1.Pod{}} {
		Expect(kube.DeleteAllOf(ctx, kind, client.InNamespace(p.namespace), client.GracePeriodSeconds(0))).To(Succeed())
	}
	Expect(client.IgnoreNotFound(kube.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}}))).To(Succeed())
}

// submit submits the plays.
func (p *place) submit(plays ...*play) {
	GinkgoHelper()
	for _, play := range plays {
		p.add(play)
	}
	for _, play := range plays {
		Expect(kube.Create(context.Background(), play.job)).To(Succeed())
	}
}

// add makes the play known, to the tape's readers too.
func (p *place) add(play *play) {
	p.tape.mu.Lock()
	defer p.tape.mu.Unlock()
	play.job.Namespace = p.namespace
	p.plays[play.job.Name] = play
}

// conclude ends what is broken at random, lets every job come to its end and judges all of them.
func (p *place) conclude(within time.Duration) {
	GinkgoHelper()
	p.harm.stop()
	p.tape.catchUp() // or a leader is told to succeed while a pod that was told to fail still runs by the tape
	say("%s; now the jobs are let go to their ends", p.harm)
	Eventually(p.curtain).WithTimeout(within).Should(BeEmpty(), func() string { return "jobs that do not reach their verdict:\n" + p.unfinished() })
	p.judge()
}

// curtain tells the leaders of the jobs that have recovered to succeed, and returns the names of those that have no verdict yet.
func (p *place) curtain() []string {
	var ready []*corev1.Pod
	var waiting []string
	p.tape.each(func(a *account) {
		if play := p.plays[a.job.Name]; !a.finished {
			waiting = append(waiting, a.job.Name)
			if leader := play.settled(a); leader != nil {
				ready = append(ready, leader)
			}
		}
	})
	for _, leader := range ready {
		p.harm.exit(leader, 0)
	}
	return waiting
}

// judge holds what the statuses say against what happened.
func (p *place) judge() {
	GinkgoHelper()
	var wrong []string
	stillRunning := func() (names []string) {
		p.tape.each(func(a *account) { names = append(names, a.stillThere()...) })
		return names
	}
	Eventually(stillRunning).Should(BeEmpty(), "pods of finished jobs that are left running")
	p.tape.catchUp()
	restarts, pods := int32(0), 0
	p.tape.each(func(a *account) {
		restarts, pods = restarts+a.job.Status.Restarts, pods+len(a.pods)
		if faults := p.plays[a.job.Name].faults(a, p.wasLost); len(faults) > 0 {
			wrong = append(wrong, strings.Join(faults, "\n")+"\n"+a.String()+p.harm.on(a.job.Name))
		}
	})
	if len(wrong) > 0 {
		Fail(fmt.Sprintf("%d jobs are wrong:\n%s", len(wrong), strings.Join(wrong, "\n")))
	}
	Expect(p.broken()).To(BeEmpty(), "invariants that were broken")
	say("%d jobs, %d pods, %d restarts: every count is exact", len(p.plays), pods, restarts)
}

// broken returns the broken invariants that nobody is excused of.
func (p *place) broken() []string {
	return slices.DeleteFunc(slices.Clone(p.tape.broken()), func(violation string) bool { return p.excused != nil && p.excused(violation) })
}

// wasLost reports whether the pod was taken from its job: deleted by hand, or its node was killed.
func (p *place) wasLost(pod *corev1.Pod) bool {
	return p.harm.wasDeleted(pod.UID) || p.dead[pod.Spec.NodeName]
}

// unfinished tells the stories of the jobs without a verdict, of ten at most.
func (p *place) unfinished() string {
	stories := []string{p.tape.gaps()}
	p.tape.each(func(a *account) {
		if !a.finished && len(stories) < 10 {
			stories = append(stories, a.String()+p.harm.on(a.job.Name))
		}
	})
	return strings.Join(stories, "")
}

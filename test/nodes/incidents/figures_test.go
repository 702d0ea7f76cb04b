//go:build nodes

package incidents

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

// Two jobs, which differ in nothing but how they restart, take turns with somebody who deletes all pods and creates them again: the load of
// the machine changes all the time. Nothing is asserted of the figures.
var _ = Describe("How long a whole restart takes", Serial, Label("figures"), func() {
	ways := []v1alpha1.RestartMethod{v1alpha1.RestartInPlace, v1alpha1.RestartRecreate}
	DescribeTable("in place, with new pods, and by hand", func(ctx SpecContext, ranks int) {
		jobs, took := map[v1alpha1.RestartMethod]*timed{}, map[string][]time.Duration{}
		for _, way := range ways {
			made := apart(ranks)
			made.Name = names[way]
			made.Spec.Recovery.RestartMethod = way
			jobs[way] = &timed{job: submit(ctx, made, builder.BackOff(0, 1))}
			jobs[way].runs(ctx, 0)
		}
		manual := podsLike(ctx, jobs[v1alpha1.RestartRecreate].job, ranks)
		for range *rounds {
			took["by hand"] = append(took["by hand"], manual.restart(ctx))
			for _, way := range ways {
				j := jobs[way]
				took["by request, "+string(way)] = append(took["by request, "+string(way)], j.restarts(ctx, ranks, func() { j.asksForRestart(ctx, time.Now().String()) }))
				took["by a kill, "+string(way)] = append(took["by a kill, "+string(way)], j.restarts(ctx, ranks, func() { kill(ctx, j.pod(ctx, ranks/2)) }))
			}
		}
		for _, how := range []string{"by request, ", "by a kill, "} {
			kept, made := took[how+string(v1alpha1.RestartInPlace)], took[how+string(v1alpha1.RestartRecreate)]
			AddReportEntry(fmt.Sprintf("%d ranks, %sin place %s, with new pods %s, ratio %.2f; by hand %s", ranks, how, spread(kept), spread(made),
				middle(kept).Seconds()/middle(made).Seconds(), spread(took["by hand"])))
		}
		for _, way := range ways {
			AddReportEntry(fmt.Sprintf("%d ranks, %s: %d of %d were on the node on which they had been", ranks, way, jobs[way].stayed, jobs[way].moved+jobs[way].stayed))
		}
	},
		Entry("8 ranks", 8),
		Entry("40 ranks", 40),
	)

	// The operator keeps the pods of ranks that have ended, or gives all of them new ones.
	DescribeTable("after all ranks of a collective have ended, and by hand", func(ctx SpecContext, ranks int) {
		jobs, took := map[v1alpha1.RestartMethod]*timed{}, map[string][]time.Duration{}
		for _, way := range ways {
			made := withPage(collective(ranks))
			made.Name = names[way]
			made.Spec.Recovery.RestartMethod, made.Spec.Recovery.AvoidNodesSeconds = way, ptr.To[int32](0)
			jobs[way] = &timed{job: submit(ctx, made, builder.BackOff(0, 1))}
			jobs[way].runs(ctx, 0)
		}
		manual := podsLike(ctx, jobs[v1alpha1.RestartRecreate].job, ranks)
		breaks := []struct {
			how string
			do  func(context.Context, *corev1.Pod)
		}{
			{"an exit", func(ctx context.Context, pod *corev1.Pod) { tell(ctx, pod, "exit", "1") }},
			{"a kill", kill},
			{"out of memory", func(ctx context.Context, pod *corev1.Pod) { tell(ctx, pod, "oom") }},
			{"a hang", func(ctx context.Context, pod *corev1.Pod) { tell(ctx, pod, "hang") }}, // of which stallAfterSeconds are 10
		}
		for range *rounds {
			took["by hand"] = append(took["by hand"], manual.restart(ctx))
			for _, way := range ways {
				for _, b := range breaks {
					j := jobs[way]
					took[b.how+string(way)] = append(took[b.how+string(way)], j.restarts(ctx, ranks, func() { b.do(ctx, j.pod(ctx, ranks/2)) }))
				}
			}
		}
		for _, b := range breaks {
			kept, made := took[b.how+string(v1alpha1.RestartInPlace)], took[b.how+string(v1alpha1.RestartRecreate)]
			AddReportEntry(fmt.Sprintf("%d ranks, after %s: kept %s, with new pods %s, ratio %.2f; by hand %s", ranks, b.how, spread(kept), spread(made),
				middle(kept).Seconds()/middle(made).Seconds(), spread(took["by hand"])))
		}
	},
		Entry("8 ranks", 8),
		Entry("40 ranks", 40),
	)

	It("of one replica that restarts alone", func(ctx SpecContext) {
		took := map[v1alpha1.RestartMethod][]time.Duration{}
		jobs := map[v1alpha1.RestartMethod]*job{}
		for _, way := range ways {
			made := newJob(v1alpha1.Custom, builder.Workers(4, builder.Scope(v1alpha1.ScopeReplica)))
			made.Name = names[way]
			made.Spec.Recovery.RestartMethod, made.Spec.Recovery.AvoidNodesSeconds = way, ptr.To[int32](0)
			jobs[way] = submit(ctx, made, builder.BackOff(0, 1))
			jobs[way].runs(ctx, 0)
		}
		for range *rounds {
			for _, way := range ways {
				j, next := jobs[way], jobs[way].seen.Status.Restarts+1
				tell(ctx, j.pod(ctx, 1), "exit", "1")
				took[way] = append(took[way], j.becomes(ctx, "the replica runs again", func(s *v1alpha1.TrainingJobStatus) bool {
					return s.Restarts == next && s.ReadyReplicas == s.Replicas
				}))
			}
		}
		AddReportEntry(fmt.Sprintf("one replica alone: kept %s, with a new pod %s", spread(took[v1alpha1.RestartInPlace]), spread(took[v1alpha1.RestartRecreate])))
	})
})

// names are what the jobs are called that differ in how they restart.
var names = map[v1alpha1.RestartMethod]string{v1alpha1.RestartInPlace: "kept", v1alpha1.RestartRecreate: "made"}

// timed is a job whose restarts are timed. stayed and moved are how many ranks were after a restart on the node on which they had been, and on another.
type timed struct {
	*job
	stayed, moved int
}

// restarts returns how long it takes from a restart's cause until all ranks run in the next attempt.
func (j *timed) restarts(ctx context.Context, ranks int, begin func()) time.Duration {
	GinkgoHelper()
	nodes := make([]string, ranks)
	for rank := range nodes {
		nodes[rank] = j.pod(ctx, rank).Spec.NodeName
	}
	next := j.seen.Status.Attempt + 1
	begin()
	took := j.runs(ctx, next)
	for rank, was := range nodes {
		if j.pod(ctx, rank).Spec.NodeName == was {
			j.stayed++
		} else {
			j.moved++
		}
	}
	return took
}

// manual is pods that no controller owns.
type manual []*corev1.Pod

// podsLike creates pods like those of a job, and waits until they run.
func podsLike(ctx context.Context, j *job, ranks int) manual {
	GinkgoHelper()
	var m manual
	for rank := range ranks {
		like := j.pod(ctx, rank)
		like.Spec.NodeName, like.Spec.Hostname, like.Spec.Subdomain = "", "", ""
		m = append(m, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("manual-%d", rank), Namespace: namespace, Annotations: like.Annotations, Labels: map[string]string{"spread": "yes"}},
			Spec:       like.Spec,
		})
	}
	m.begin(ctx)
	DeferCleanup(func(ctx SpecContext) { m.end(ctx) })
	return m
}

// restart deletes all pods, waits until they are gone, creates them again, and returns how long that took until all ran.
func (m manual) restart(ctx context.Context) time.Duration {
	GinkgoHelper()
	began := time.Now()
	m.end(ctx)
	m.begin(ctx)
	return time.Since(began)
}

func (m manual) end(ctx context.Context) {
	GinkgoHelper()
	Expect(m.each(func(pod *corev1.Pod) error {
		return client.IgnoreNotFound(kube.Delete(ctx, pod, client.GracePeriodSeconds(v1alpha1.DefaultTerminationGraceSeconds)))
	})).To(Succeed())
	Eventually(func() error {
		return m.each(func(pod *corev1.Pod) error {
			err := kube.Get(ctx, client.ObjectKeyFromObject(pod), &corev1.Pod{})
			if err == nil {
				return fmt.Errorf("%s is there", pod.Name)
			}
			return client.IgnoreNotFound(err)
		})
	}).WithTimeout(3 * time.Minute).Should(Succeed())
}

func (m manual) begin(ctx context.Context) {
	GinkgoHelper()
	Expect(m.each(func(pod *corev1.Pod) error { return kube.Create(ctx, pod.DeepCopy()) })).To(Succeed())
	Eventually(func() error {
		return m.each(func(pod *corev1.Pod) error {
			var now corev1.Pod
			if err := kube.Get(ctx, client.ObjectKeyFromObject(pod), &now); err != nil {
				return err
			}
			if !slices.ContainsFunc(now.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }) {
				return fmt.Errorf("%s is not ready", pod.Name)
			}
			return nil
		})
	}).WithTimeout(3 * time.Minute).Should(Succeed())
}

// each does something with every pod, 32 at a time, and returns the first error.
func (m manual) each(do func(*corev1.Pod) error) error {
	var group errgroup.Group
	group.SetLimit(32)
	for _, pod := range m {
		group.Go(func() error { return do(pod) })
	}
	return group.Wait()
}

func middle(times []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(times))[len(times)/2]
}

//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/ledger"
)

// becomes waits until what the sentence says holds of the job. A status that does not know the last change yet does not count.
func (j *submitted) becomes(sentence string, holds func(*view) bool) *view {
	GinkgoHelper()
	return j.becomesWithin(longest, sentence, holds)
}

func (j *submitted) becomesWithin(limit time.Duration, sentence string, holds func(*view) bool) *view {
	GinkgoHelper()
	var v *view
	Eventually(func() bool {
		v = j.look()
		return v.job != nil && v.job.Status.ObservedGeneration >= j.generation && holds(v)
	}).WithTimeout(limit).Should(BeTrue(), func() string {
		return fmt.Sprintf("within %s, for %s: %s\n%s", limit, j.name, sentence, v)
	})
	return v
}

// stays fails if what the sentence says does not hold of the job for a while.
func (j *submitted) stays(sentence string, holds func(*view) bool) {
	GinkgoHelper()
	var v *view
	Consistently(func() bool {
		v = j.look()
		return holds(v)
	}).Should(BeTrue(), func() string { return fmt.Sprintf("all the time, for %s: %s\n%s", j.name, sentence, v) })
}

// is fails if what the sentence says does not hold of the view.
func (v *view) is(sentence string, holds bool) {
	GinkgoHelper()
	Expect(holds).To(BeTrue(), func() string { return sentence + "\n" + v.String() })
}

// runs waits until the job is Running in the attempt, with the number of restarts given, and a pod of every replica runs.
// It looks at the pods themselves: the status counts them with some delay.
func (j *submitted) runs(attempt, restarts int32) *view {
	GinkgoHelper()
	return j.runsWithin(longest, attempt, restarts)
}

func (j *submitted) runsWithin(limit time.Duration, attempt, restarts int32) *view {
	GinkgoHelper()
	return j.becomesWithin(limit, fmt.Sprintf("all replicas run, attempt %d, %d restarts", attempt, restarts), func(v *view) bool {
		s := &v.job.Status
		return s.Phase == v1alpha1.PhaseRunning && s.Attempt == attempt && s.Restarts == restarts && v.allRun()
	})
}

// waitsOutIncident waits until the latest incident is older than the 10 s within which docs/recovery.md joins ends, so that the next end begins
// another incident.
func (j *submitted) waitsOutIncident() {
	GinkgoHelper()
	j.becomes("its latest incident is over", func(v *view) bool {
		incidents := v.job.Status.Incidents
		return len(incidents) == 0 || time.Since(incidents[0].RestartTime.Time) > 12*time.Second
	})
}

// allRun reports whether every replica has a pod that runs and nobody deletes.
func (v *view) allRun() bool {
	var wanted, run int32
	for role := range v.job.Spec.ReplicaSpecs {
		wanted += v.job.Spec.Replicas(role)
	}
	for i := range v.pods {
		p := &v.pods[i]
		switch {
		case !metav1.IsControlledBy(p, v.job) || !ledger.CanRun(p) || isGivenUp(p):
		case p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil || ledger.HasEnded(p) || v.hasBroken(p):
			return false
		default:
			run++
		}
	}
	return run == wanted
}

// hasBroken reports whether the status says that the pod began a restart in its present life: on a lost node it seems to run until it is deleted.
func (v *view) hasBroken(pod *corev1.Pod) bool {
	return slices.ContainsFunc(v.job.Status.Incidents, func(i v1alpha1.Incident) bool {
		return i.Pod == pod.Name && pod.Labels[v1alpha1.LabelLife] == fmt.Sprintf("%d-%d", i.Attempt, i.Replacement)
	})
}

func (j *submitted) reaches(phase v1alpha1.Phase) *view {
	GinkgoHelper()
	return j.becomes("phase "+string(phase), func(v *view) bool { return v.job.Status.Phase == phase })
}

// succeeds waits for the job's end and fails if it is not success.
func (j *submitted) succeeds() *view {
	GinkgoHelper()
	v := j.finishes()
	v.is("it has succeeded", v.isTrue(v1alpha1.ConditionSucceeded) && v.job.Status.Phase == v1alpha1.PhaseSucceeded)
	v.is("success is no stall", !v.isTrue(v1alpha1.ConditionStalled))
	return v
}

// fails waits for the job's end and fails if it is not failure for that reason.
func (j *submitted) fails(reason string) *view {
	GinkgoHelper()
	v := j.finishes()
	v.is("it has failed with "+reason, v.isTrue(v1alpha1.ConditionFailed) && v.job.Status.Phase == v1alpha1.PhaseFailed && v.job.Status.Reason == reason)
	v.is("a failed job is stalled, so that kstatus reads it right", v.isTrue(v1alpha1.ConditionStalled))
	return v
}

func (j *submitted) finishes() *view {
	GinkgoHelper()
	v := j.becomes("it has finished", func(v *view) bool { return v.isTrue(v1alpha1.ConditionFinished) })
	v.is("a finished job has a completion time", v.job.Status.CompletionTime != nil)
	return v
}

// tells waits for an Event of that reason with all the words in its message.
func (j *submitted) tells(reason string, words ...string) {
	GinkgoHelper()
	var messages []string
	Eventually(func() bool {
		messages = j.events(reason)
		for _, message := range messages {
			if containsAll(message, words) {
				return true
			}
		}
		return false
	}).Should(BeTrue(), func() string {
		return fmt.Sprintf("an Event %s with %q; there are %q\n%s", reason, words, messages, j.look())
	})
}

// told waits until there are exactly so many Events of that reason, as many as when the spec ends.
func (j *submitted) told(reason string, times int) {
	GinkgoHelper()
	here.holds("Events "+reason+" of "+j.name, times, func() []string { return j.events(reason) })
}

func containsAll(text string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// leaves waits until exactly these pods are left, and stay: leaves("worker-1 Failed").
func (j *submitted) leaves(pods ...string) {
	GinkgoHelper()
	left := func(v *view) []string {
		found := []string{}
		for i := range v.pods {
			is, _ := ledger.LifeOf(j.name, v.pods[i].Name)
			found = append(found, is.Slot()+" "+string(v.pods[i].Status.Phase))
		}
		slices.Sort(found)
		return found
	}
	j.becomes(fmt.Sprintf("the pods left are %q", pods), func(v *view) bool { return slices.Equal(left(v), pods) })
	j.stays(fmt.Sprintf("the pods left are %q", pods), func(v *view) bool { return slices.Equal(left(v), pods) })
}

//go:build e2e

package e2e

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// A struck job is one that loses a node, and what it was like before.
type struck struct {
	*submitted
	before *view
}

// strike submits the job and waits until it runs.
func strike(job *v1alpha1.TrainingJob) struck {
	GinkgoHelper()
	j := submit(job)
	return struck{j, j.runs(0, 0)}
}

// isLostWith fails if the latest incident is not the loss of that node.
func isLostWith(j struck, v *view, node string) {
	GinkgoHelper()
	i := nodeLoss(v)
	v.is("it names the node and the pod", i.Node == node && i.Pod == j.before.pod("worker-0").Name)
	notCharged(v)
}

// lostAt returns when the node of the latest incident had been silent for as long as it takes to be lost.
func lostAt(v *view) time.Time { return v.job.Status.Incidents[0].Time.Add(15 * time.Second) }

func hasPod(v *view, pod *corev1.Pod) bool {
	for i := range v.pods {
		if v.pods[i].UID == pod.UID {
			return true
		}
	}
	return false
}

// leavesOnly waits until so many pods are left.
func (j struck) leavesOnly(n int) {
	GinkgoHelper()
	j.becomesWithin(patience, fmt.Sprintf("%d pods are left", n), func(v *view) bool { return len(v.pods) == n })
}

// losesByForce waits until the lost pod's object is gone, and fails if that was too early.
func (j struck) losesByForce(lost *corev1.Pod) {
	GinkgoHelper()
	j.becomesWithin(patience, lost.Name+" is gone", func(v *view) bool { return !hasPod(v, lost) })
	asked, gone := here.history.ending(lost.UID)
	Expect(gone.Sub(asked)).To(BeNumerically(">=", 30*time.Second), "from the deletion of %s to its end", lost.Name)
}

// budget returns how much of a budget is used up.
func (v *view) budget(name v1alpha1.BudgetName) (used, limit int32) {
	for _, b := range v.job.Status.Budgets {
		if b.Name == name {
			return b.Used, b.Limit
		}
	}
	return 0, 0
}

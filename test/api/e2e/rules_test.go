//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// runsOutOfMemory makes the slot's latest pod end as the kernel ends it then.
func (j *submitted) runsOutOfMemory(slot string) {
	GinkgoHelper()
	j.does(map[string]any{"exit-code": "137", "exit-reason": "OOMKilled"}, slot)
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

var _ = Describe("A replica that runs out of memory", func() {
	It("is charged to a budget of its own, which is 3, and then fails the job", func() {
		j := submit(custom("c", maxRestarts(0), workers(1)))
		j.runs(0, 0)
		for restarts := int32(1); restarts <= 3; restarts++ {
			j.runsOutOfMemory("worker-0")
			v := j.runs(0, restarts)
			incident(v, v1alpha1.CauseOOM, "OOMKilled")
			used, limit := v.budget(v1alpha1.BudgetOOMRestarts)
			v.is("it is charged to maxOOMRestarts", used == restarts && limit == 3)
		}
		j.runsOutOfMemory("worker-0")
		v := j.fails(v1alpha1.ReasonMaxRestartsExceeded)
		v.is("it says which budget is used up", containsAll(v.job.Status.Message, []string{"OOMKilled", "recovery.maxOOMRestarts (3)"}))
		used, _ := v.budget(v1alpha1.BudgetRestarts)
		v.is("nothing is charged to maxRestarts", used == 0)
	})
})

var _ = Describe("A rule", func() {
	It("fails the job at an exit code that no restart can mend", promise, func() {
		j := submit(pytorch("p", master(), workers(1), rules(v1alpha1.RecoveryRule{ExitCodes: []int32{42}, Cause: v1alpha1.CauseFatal})))
		j.runs(0, 0)
		j.exits(42, "worker-0")
		v := j.fails(v1alpha1.ReasonFailJobRule)
		v.is("it says which rule", containsAll(v.job.Status.Message, []string{"worker-0", "code 42", "recovery.rules[0]"}))
		v.is("nothing was restarted", v.job.Status.Restarts == 0)
	})

	It("calls an exit code Infrastructure, which is not charged", func() {
		j := submit(pytorch("p", maxRestarts(0), workers(2), rules(v1alpha1.RecoveryRule{ExitCodes: []int32{99}, Cause: v1alpha1.CauseInfrastructure})))
		j.runs(0, 0)
		j.exits(99, "worker-1")
		v := j.runs(1, 1)
		notCharged(v)
		Expect(*v.job.Status.LastFailure.ExitCode).To(BeEquivalentTo(99))
	})

	It("narrows the scope of a restart", func() {
		j := submit(pytorch("p", master(), workers(2), rules(v1alpha1.RecoveryRule{Signals: []int32{10}, Scope: v1alpha1.ScopeReplica})))
		before := j.runs(0, 0)
		j.exits(138, "worker-1")
		onlyReplaced("worker-1", before, j.runs(0, 1))
		j.exits(137, "worker-1")
		j.runs(1, 2)
	})

	It("of several is the first that matches: by role, reason and pod condition", func() {
		j := submit(custom("c", master(), ps(1), workers(1), rules(
			v1alpha1.RecoveryRule{Roles: []v1alpha1.Role{v1alpha1.PS}, Reasons: []string{"OOMKilled"}, Scope: v1alpha1.ScopeReplica},
			v1alpha1.RecoveryRule{Reasons: []string{"OOMKilled"}, Scope: v1alpha1.ScopeJob},
			v1alpha1.RecoveryRule{Conditions: []string{string(corev1.DisruptionTarget)}, Cause: v1alpha1.CauseFatal},
		)))
		before := j.runs(0, 0)
		j.runsOutOfMemory("ps-0")
		onlyReplaced("ps-0", before, j.runs(0, 1))
		j.runsOutOfMemory("worker-0")
		j.runs(1, 2)
		j.does(map[string]any{"terminate-after": "1s"}, "worker-0")
		j.evict("worker-0")
		v := j.fails(v1alpha1.ReasonFailJobRule)
		v.is("it says which rule", containsAll(v.job.Status.Message, []string{"EvictionByEvictionAPI", "recovery.rules[2]"}))
	})
})

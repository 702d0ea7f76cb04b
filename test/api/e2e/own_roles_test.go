//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

const (
	actor   v1alpha1.Role = "actor"
	learner v1alpha1.Role = "learner"
)

func actors(n int, options ...replicaOption) jobOption { return builder.Replicas(actor, n, options...) }

func learners(n int, options ...replicaOption) jobOption {
	return builder.Replicas(learner, n, options...)
}

var _ = Describe("A Custom job with roles of its own", func() {
	It("runs, replaces a broken actor alone under the same name and rank, and succeeds with its leader", func() {
		j := submit(custom("rl", master(), actors(3), learners(1)))
		before := j.runs(0, 0)
		Expect(before.pod("actor-1").Spec.Hostname).To(Equal("rl-actor-1"))
		Expect(before.job.Status.Replicas).To(BeEquivalentTo(5))
		j.exits(137, "actor-1")
		after := j.runs(0, 1)
		onlyReplaced("actor-1", before, after)
		j.tells(v1alpha1.EventReplicaRestarting, "actor-1", "137")
		Expect(after.job.Status.LastFailure.Role).To(Equal(actor))
		Expect(after.job.Status.ReplicaStatuses[actor].Restarts).To(BeEquivalentTo(1))
		j.exits(0, "master-0")
		j.succeeds()
		j.leaves("actor-1 Failed", "master-0 Succeeded")
	})

	It("restarts as far as the role's restartScope says: the role, or the whole job", func() {
		j := submit(custom("rl", master(), actors(2, scope(v1alpha1.ScopeRole)), learners(1, scope(v1alpha1.ScopeJob))))
		before := j.runs(0, 0)
		j.exits(1, "actor-0")
		after := j.runs(0, 1)
		for _, slot := range []string{"master-0", "learner-0"} {
			after.is(slot+" goes on", before.uids()[slot] == after.uids()[slot])
		}
		for _, slot := range []string{"actor-0", "actor-1"} {
			after.is(slot+" has another pod", before.uids()[slot] != after.uids()[slot])
		}
		j.exits(1, "learner-0")
		allReplaced(after, j.runs(1, 2))
	})
})

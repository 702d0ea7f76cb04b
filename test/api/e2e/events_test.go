//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

var _ = Describe("Events", func() {
	It("tell each transition once, with replica, node and exit code", promise, func() {
		j := submit(everyRole())
		j.runs(0, 0)
		worker := j.pod("worker-1")
		j.exits(137, "worker-1")
		j.runs(0, 1)
		server := j.pod("ps-1")
		j.exits(1, "ps-1")
		j.runs(1, 2)
		j.exits(0, "chief-0")
		j.succeeds()
		j.tells(v1alpha1.EventReplicaRestarting, "worker-1", worker.Spec.NodeName, "137", "only this replica is replaced")
		j.tells(v1alpha1.EventRestarting, "ps-1", server.Spec.NodeName, "code 1", "attempt 1")
		j.told(v1alpha1.EventReplicaRestarting, 1)
		j.told(v1alpha1.EventRestarting, 1)
		j.told(v1alpha1.ConditionSucceeded, 1)
		j.told(v1alpha1.ConditionFailed, 0)
		j.told(v1alpha1.ConditionStalled, 0)
	})
})

//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// isHeld reports whether the job says that the restart of one waits for another.
func isHeld(v *view, failed, starting string) bool {
	running := v.condition(v1alpha1.ConditionRunning)
	return v.job.Status.Restarts == 0 && v.job.Status.Reason == v1alpha1.ReasonRestartHeld && running.Reason == v1alpha1.ReasonRestartHeld &&
		containsAll(v.job.Status.Message, []string{failed, "the restart waits for " + starting})
}

// lws#725: peers restarted again and again while one member was still pulling its image, so that it never came to run.
var _ = Describe("A restart while a member is still starting lws#725", func() {
	It("is held, says for whom, and happens when that one runs", func() {
		j := submit(pytorch("p", master(doing("waiting", "ImagePullBackOff")), workers(2)))
		j.becomes("the workers run, the master has a node", func(v *view) bool {
			return v.slots("Running") == "worker-0 worker-1" && v.pod("master-0") != nil && v.pod("master-0").Spec.NodeName != ""
		})
		j.exits(1, "worker-1")
		v := j.becomes("the restart is held", func(v *view) bool { return isHeld(v, "worker-1", "master-0") })
		v.is("it says what the master waits for", containsAll(v.job.Status.Message, []string{"ImagePullBackOff"}))
		j.stays("it is held", func(v *view) bool { return isHeld(v, "worker-1", "master-0") })
		j.does(map[string]any{"waiting": nil}, "master-0")
		j.becomes("it restarts", func(v *view) bool {
			return v.job.Status.Attempt == 1 && v.job.Status.ChargedRestarts == 1 && v.pod("master-0") != nil
		})
		j.becomes("the new attempt waits for its image too", func(v *view) bool {
			return v.slots("Running") == "worker-0 worker-1" && v.slots("Pending") == "master-0"
		})
		j.does(map[string]any{"waiting": nil}, "master-0")
		j.runs(1, 1)
		j.told(v1alpha1.EventRestarting, 1)
	})

	It("is held no longer once a user asks for a restart", func() {
		j := submit(pytorch("p", master(doing("waiting", "ImagePullBackOff")), workers(1)))
		j.becomes("the worker runs, the master has a node", func(v *view) bool {
			return v.slots("Running") == "worker-0" && v.pod("master-0") != nil && v.pod("master-0").Spec.NodeName != ""
		})
		j.exits(1, "worker-0")
		j.becomes("the restart is held", func(v *view) bool { return isHeld(v, "worker-0", "master-0") })
		j.asksForRestart("why does it wait?")
		v := j.becomes("it restarts", func(v *view) bool { return v.job.Status.Attempt == 1 })
		v.is("because of the worker", v.job.Status.LastFailure.Role == v1alpha1.Worker)
		j.stays("the request is answered with it", func(v *view) bool { return v.job.Status.Attempt == 1 })
	})

	It("is held no longer than the startup deadline", func() {
		j := submit(pytorch("p", startupDeadline(15), maxRestarts(1), master(doing("waiting", "ImagePullBackOff")), workers(1)))
		j.becomes("the worker runs, the master has a node", func(v *view) bool {
			return v.slots("Running") == "worker-0" && v.pod("master-0") != nil && v.pod("master-0").Spec.NodeName != ""
		})
		j.exits(1, "worker-0")
		j.becomes("the restart is held", func(v *view) bool { return isHeld(v, "worker-0", "master-0") })
		v := j.becomes("it restarts", func(v *view) bool { return v.job.Status.Attempt == 1 })
		v.is("because of the worker", v.job.Status.LastFailure.Role == v1alpha1.Worker)
	})

	It("is not held in a job whose replicas are replaced one by one", func() {
		j := submit(custom("c", master(doing("waiting", "ImagePullBackOff")), workers(1)))
		j.becomes("the worker runs", func(v *view) bool { return v.slots("Running") == "worker-0" })
		j.exits(1, "worker-0")
		j.becomes("the worker is replaced", func(v *view) bool { return v.job.Status.Restarts == 1 && v.slots("Running") == "worker-0" })
		j.does(map[string]any{"waiting": nil}, "master-0")
		j.runs(0, 1)
	})
})

//go:build e2e

package e2e

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

var _ = Describe("restartPolicy", func() {
	under := func(policy v1alpha1.RestartPolicy) *submitted {
		return submit(pytorch("p", workers(2, restarting(policy))))
	}
	says := func(policy v1alpha1.RestartPolicy, code int) string {
		return fmt.Sprintf("%s, exit code %d", policy, code)
	}

	// #2300: exit 139 or 255 restarted for ever under ExitCode, against the documentation.
	DescribeTable("fails the job at once #2300", func(policy v1alpha1.RestartPolicy, code int) {
		j := under(policy)
		j.runs(0, 0)
		j.exits(code, "worker-1")
		v := j.fails(v1alpha1.ReasonFatalExit)
		v.is("it restarted nothing", v.job.Status.Restarts == 0 && v.job.Status.Attempt == 0)
		v.is("it names the replica and the exit code", containsAll(v.job.Status.Message, []string{"worker-1", fmt.Sprint(code), string(policy)}))
		Expect(v.job.Status.LastFailure.ExitCode).To(HaveValue(BeEquivalentTo(code)))
		Expect(v.job.Status.LastFailure.Cause).To(Equal(v1alpha1.CauseFatal))
	},
		Entry(says, v1alpha1.RestartExitCode, 1), Entry(says, promise, v1alpha1.RestartExitCode, 2),
		Entry(says, v1alpha1.RestartExitCode, 126), Entry(says, v1alpha1.RestartExitCode, 127),
		Entry(says, v1alpha1.RestartExitCode, 128), Entry(says, v1alpha1.RestartExitCode, 139),
		Entry(says, v1alpha1.RestartExitCode, 255),
		Entry(says, v1alpha1.RestartNever, 1), Entry(says, v1alpha1.RestartNever, 137),
		Entry(says, v1alpha1.RestartOnFailure, 127),
	)

	DescribeTable("restarts", func(policy v1alpha1.RestartPolicy, code int) {
		j := under(policy)
		j.runs(0, 0)
		j.exits(code, "worker-1")
		v := j.runs(1, 1)
		v.is("the restart is charged", v.job.Status.ChargedRestarts == 1)
		Expect(v.job.Status.LastFailure.Cause).To(Equal(v1alpha1.CauseRetryable))
	},
		Entry(says, v1alpha1.RestartExitCode, 130), Entry(says, promise, v1alpha1.RestartExitCode, 137),
		Entry(says, v1alpha1.RestartExitCode, 138), Entry(says, v1alpha1.RestartExitCode, 143),
		Entry(says, v1alpha1.RestartOnFailure, 1), Entry(says, v1alpha1.RestartAlways, 255),
	)

	It("Always runs a parameter server again that exits with code 0: alone, and it is no failure", func() {
		j := submit(tensorflow("t", maxRestarts(0), chief(), ps(1, restarting(v1alpha1.RestartAlways)), workers(1)))
		before := j.runs(0, 0)
		j.exits(0, "ps-0")
		v := j.runs(0, 1)
		onlyReplaced("ps-0", before, v)
		v.is("nothing failed, and nothing is charged", v.job.Status.LastFailure == nil && v.job.Status.ChargedRestarts == 0)
	})

	It("Always takes the exit code 0 of a collective's rank for its success", func() {
		j := submit(pytorch("p", workers(3, restarting(v1alpha1.RestartAlways))))
		j.runs(0, 0)
		j.exits(0, "worker-1")
		j.becomes("worker 1 has succeeded", func(v *view) bool { return v.job.Status.Memory.Roles[v1alpha1.Worker].Succeeded == "1" })
		j.stays("nothing restarts", func(v *view) bool { return v.job.Status.Restarts == 0 && v.job.Status.Phase == v1alpha1.PhaseRunning })
	})

	It("Always takes the leader's exit code 0 for success", func() {
		j := submit(tensorflow("t", chief(restarting(v1alpha1.RestartAlways)), workers(1)))
		j.runs(0, 0)
		j.exits(0, "chief-0")
		j.succeeds()
	})

	It("OnFailure leaves a worker in peace that exits with code 0", func() {
		j := submit(tensorflow("t", chief(), ps(1), workers(2)))
		j.runs(0, 0)
		j.exits(0, "worker-1")
		j.becomes("worker 1 has succeeded", func(v *view) bool { return v.job.Status.Memory.Roles[v1alpha1.Worker].Succeeded == "1" })
		j.stays("nothing restarts", func(v *view) bool { return v.job.Status.Restarts == 0 && v.job.Status.Phase == v1alpha1.PhaseRunning })
	})
})

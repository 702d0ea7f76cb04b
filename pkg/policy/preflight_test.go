package policy_test

import (
	"testing"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/policy"
	"github.com/trainingjob/operator/test/sim/builder"
)

// A node that fails a preflight check costs the job nothing, and no other rank: none of its program has run.
func TestAPreflightCheckIsTheNodesFault(t *testing.T) {
	for _, restartPolicy := range []v1alpha1.RestartPolicy{v1alpha1.RestartNever, v1alpha1.RestartOnFailure, v1alpha1.RestartAlways, v1alpha1.RestartExitCode} {
		job := builder.Job("j", pytorch, builder.Workers(2, builder.Policy(restartPolicy)))
		end := func(container string, code int32) []builder.SnapshotOption {
			return seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.FailedInit(container, code)))
		}
		t.Run(string(restartPolicy), func(t *testing.T) {
			check(t, []judgeCase{
				{"failed", job, end("preflight-dcgm-diag", 1), lost(0, "worker-1 Infrastructure Replica free")},
			})
			if restartPolicy == v1alpha1.RestartNever {
				check(t, []judgeCase{
					{"misconfigured", job, end("preflight-dcgm-diag", 2), fatal},
					{"another init container", job, end("setup", 1), fatal},
				})
				return
			}
			v := policy.Judge(builder.Snapshot(job, end("preflight-dcgm-diag", 2)...))
			if v.Failure == nil || v.Failure.Cause != v1alpha1.CauseStartup {
				t.Errorf("misconfigured: %+v", v.Failure)
			}
		})
	}
	v := policy.Judge(builder.Snapshot(builder.Job("j", pytorch, builder.Workers(2)), builder.Failed("worker", 1, builder.FailedInit("preflight-a", 2))))
	want := "worker-1 on node-worker-1 failed because its container preflight-a exited with code 2: the check is misconfigured (Error): " +
		"the whole job restarts as attempt 1, 1 more follow, restart 1 of 10."
	if v.Message != want {
		t.Errorf("message %q, want %q", v.Message, want)
	}
}

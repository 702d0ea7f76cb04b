package failure_test

import (
	"testing"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/test/sim/builder"
)

// A command that is not in the image, or not executable, is as permanent as the exit codes 126 and 127 of a shell.
func TestACommandThatIsNotThereIsPermanent(t *testing.T) {
	for words, want := range map[string]v1alpha1.Cause{
		builder.NoProgram: v1alpha1.CauseFatal,
		`OCI runtime create failed: runc create failed: unable to start container process: error during container init: exec: "nosuch": executable file not found in $PATH: unknown`: v1alpha1.CauseFatal,
		`OCI runtime create failed: runc create failed: unable to start container process: error during container init: exec: "/data/train.py": permission denied: unknown`:          v1alpha1.CauseFatal,
		`OCI runtime create failed: runc create failed: unable to start container process: exec: "/etc": is a directory: unknown`:                                                    v1alpha1.CauseFatal,
		`OCI runtime create failed: container_linux.go:380: starting container process caused: exec: \"nosuch\": executable file not found in $PATH: unknown`:                        v1alpha1.CauseFatal,
		"crun: executable file `nosuch` not found in $PATH: No such file or directory: OCI runtime attempted to invoke a command that was not found":                                 v1alpha1.CauseFatal,
		`crun: open executable: Permission denied: OCI permission denied`:                                                                                                            v1alpha1.CauseFatal,
		`OCI runtime create failed: runc create failed: unable to start container process: error mounting "/host/data" to rootfs at "/data": no such file or directory: unknown`:     v1alpha1.CauseStartup,
		`OCI runtime create failed: runc create failed: unable to start container process: unable to apply cgroup configuration: no space left on device: unknown`:                   v1alpha1.CauseStartup,
		`OCI runtime create failed: runc create failed: unable to start container process: exec /train: exec format error`:                                                           v1alpha1.CauseStartup,
		`nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file: no such file or directory: unknown`:                     v1alpha1.CauseStartup,
		`OCI runtime create failed: runc create failed: unable to start container process: chdir to cwd ("/work") set in config.json failed: no such file or directory: unknown`:     v1alpha1.CauseStartup,
		`context deadline exceeded`: v1alpha1.CauseStartup,
	} {
		s := builder.Snapshot(builder.Job("j", builder.Workers(1)), builder.Failed("worker", 0, builder.ExitSaying(128, "StartError", words)))
		found := failure.Find(s)
		if len(found) != 1 || found[0].Cause != want {
			t.Errorf("%s: %+v, want cause %s", words, found, want)
		}
	}
}

// Only a program has last words. The kubelet, the runtime and users speak for themselves.
func TestOnlyProgramsHaveLastWords(t *testing.T) {
	for name, c := range map[string]struct {
		seen builder.SnapshotOption
		want string
	}{
		"an exit":               {builder.Failed("worker", 0, builder.ExitSaying(1, "Error", "no data")), "no data"},
		"out of memory":         {builder.Failed("worker", 0, builder.ExitSaying(137, "OOMKilled", "step 7")), "step 7"},
		"no such program":       {builder.Failed("worker", 0, builder.ExitSaying(128, "StartError", builder.NoProgram)), ""},
		"its own deadline":      {builder.Failed("worker", 0, builder.Exit(143), builder.Rejected("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")), ""},
		"evicted":               {builder.Failed("worker", 0, builder.Exit(143), builder.Rejected("Evicted", "Usage of EmptyDir volume exceeds the limit")), ""},
		"turned away":           {builder.Failed("worker", 0, builder.Rejected("OutOfcpu", "no room")), ""},
		"drained, and it spoke": {builder.Failed("worker", 0, builder.ExitSaying(143, "Error", "saved"), builder.Disrupted("EvictionByEvictionAPI", 0)), ""},
	} {
		found := failure.Find(builder.Snapshot(builder.Job("j", builder.Workers(1)), c.seen))
		if len(found) != 1 || failure.LastWords(&found[0].Failure) != c.want {
			t.Errorf("%s: %+v, want the words %q", name, found, c.want)
		}
	}
	asked := v1alpha1.Failure{Cause: v1alpha1.CauseRequested, Reason: v1alpha1.ReasonRestartRequested, Message: "root with kubectl tj: new data"}
	if words := failure.LastWords(&asked); words != "" {
		t.Errorf("of a restart that was asked for: %q", words)
	}
}

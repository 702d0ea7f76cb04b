package failure

import (
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/state"
)

// The kubelet ends a container by SIGTERM, and SIGKILL after its grace period, when a liveness or startup probe or a postStart hook
// fails. It reports this only in the pod's Events, which the operator does not read. The exit code looks like the program's own.

// MayBeKubelets reports whether the kubelet may have ended the container: by SIGTERM without a deletion, or by SIGKILL if its template
// has a probe or a hook that may fail. Such an end is no evidence about the node.
func MayBeKubelets(spec *v1alpha1.TrainingJobSpec, f *v1alpha1.Failure) bool {
	if !IsOfProgram(f) || f.Reason != "Error" || f.Container != "" {
		return false
	}
	return exitCode(f) == 128+15 || exitCode(f) == 128+9 && state.HasMain(spec, f.Role, func(c *corev1.Container) bool {
		return c.LivenessProbe != nil || c.StartupProbe != nil || c.Lifecycle != nil && c.Lifecycle.PostStart != nil
	})
}

// failedToStart reports whether the kubelet ended the pod's main container because its startup probe failed: it has one, and was never ready.
func failedToStart(s *state.Snapshot, p *state.Pod) bool {
	wasTold := p.Exit != nil && p.Exit.Main && p.Exit.Reason == "Error" && (p.Exit.Code == 128+15 || p.Exit.Code == 128+9)
	return wasTold && p.Exit.NeverReady && state.HasMain(&s.Job.Spec, p.Slot.Role, func(c *corev1.Container) bool { return c.StartupProbe != nil })
}

// Hint returns a sentence about where to look if the kubelet may have ended the container; otherwise it is empty.
func Hint(spec *v1alpha1.TrainingJobSpec, f *v1alpha1.Failure) string {
	if !MayBeKubelets(spec, f) {
		return ""
	}
	return " The kubelet ends a container so when a probe or a postStart hook fails: kubectl describe pod " + f.Pod + "."
}

// cannotStart are the reasons of containers that ended before their process began. The message comes from the container runtime.
var cannotStart = []string{"StartError", "ContainerCannotRun", "CreateContainerError", "RunContainerError"}

// noProgram matches the reports of runc and crun that the command is not in the image, or is not executable.
// Source: os/exec.Error, which runc wraps, and crun's src/libcrun/linux.c and utils.c.
var noProgram = regexp.MustCompile(`(?i)exec: \\?"[^"]*": (stat [^:]*: no such file or directory|executable file not found|permission denied|is a directory)` +
	`|executable file [^:]* not found|open executable: permission denied`)

// lacksProgram reports whether a container could not be started because its command is not there or not executable. No node mends that, as it
// does not mend the exit codes 126 and 127 of a shell.
func lacksProgram(reason, message string) bool {
	return slices.Contains(cannotStart, reason) && noProgram.MatchString(message)
}

// LacksProgram reports whether the failure is that the command is not there or not executable. Such an end is no evidence about the node.
func LacksProgram(f *v1alpha1.Failure) bool { return lacksProgram(f.Reason, f.Message) }

// LastWords returns the end of the output of the program; empty if the message comes from the kubelet, the runtime or a user.
func LastWords(f *v1alpha1.Failure) string {
	if !IsOfProgram(f) || !IsFailure(f.Cause) || slices.Contains(cannotStart, f.Reason) || f.Reason == evicted || f.Reason == pastDeadline {
		return ""
	}
	return f.Message
}

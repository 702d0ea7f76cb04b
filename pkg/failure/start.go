package failure

import (
	"regexp"
	"slices"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

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

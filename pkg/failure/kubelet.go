package failure

import (
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
	return exitCode(f) == 128+15 || exitCode(f) == 128+9 && hasMain(spec, f.Role, isWatched)
}

// isWatched reports whether the kubelet may end the container while it runs.
func isWatched(c *corev1.Container) bool {
	return c.LivenessProbe != nil || c.StartupProbe != nil || c.Lifecycle != nil && c.Lifecycle.PostStart != nil
}

// hasMain reports whether the main container of the role's template is so.
func hasMain(spec *v1alpha1.TrainingJobSpec, role v1alpha1.Role, is func(*corev1.Container) bool) bool {
	template := spec.ReplicaSpecs[role].Template
	main := state.MainContainer(&corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec})
	return slices.ContainsFunc(template.Spec.Containers, func(c corev1.Container) bool { return c.Name == main && is(&c) })
}

// failedToStart reports whether the kubelet ended the pod's main container because its startup probe failed: it has one, and was never ready.
func failedToStart(s *state.Snapshot, p *state.Pod) bool {
	wasTold := p.Exit != nil && p.Exit.Main && p.Exit.Reason == "Error" && (p.Exit.Code == 128+15 || p.Exit.Code == 128+9)
	return wasTold && p.Exit.NeverReady && hasMain(&s.Job.Spec, p.Slot.Role, func(c *corev1.Container) bool { return c.StartupProbe != nil })
}

// Hint returns a sentence about where to look if the kubelet may have ended the container; otherwise it is empty.
func Hint(spec *v1alpha1.TrainingJobSpec, f *v1alpha1.Failure) string {
	if !MayBeKubelets(spec, f) {
		return ""
	}
	return " The kubelet ends a container so when a probe or a postStart hook fails: kubectl describe pod " + f.Pod + "."
}

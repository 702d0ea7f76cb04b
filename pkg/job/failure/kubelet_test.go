package failure_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/test/sim/builder"
)

// probed gives the workers' container probes and hooks.
func probed(change func(*corev1.Container)) builder.ReplicaOption { return builder.Main(change) }

var (
	liveness  = probed(func(c *corev1.Container) { c.LivenessProbe = &corev1.Probe{} })
	startup   = probed(func(c *corev1.Container) { c.StartupProbe = &corev1.Probe{} })
	postStart = probed(func(c *corev1.Container) { c.Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{}} })
)

// readySince says since when the pod is not ready, and that its container began at 10 s.
func readySince(at int) builder.PodOption {
	return builder.Edit(func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses[0].State.Terminated.StartedAt = builder.Time(10 * second)
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "PodFailed", LastTransitionTime: builder.Time(time.Duration(at) * second)})
	})
}

func TestWhatTheKubeletKills(t *testing.T) {
	for name, c := range map[string]struct {
		template builder.ReplicaOption
		pod      []builder.PodOption
		cause    v1alpha1.Cause
		hint     bool
	}{
		"SIGTERM without a probe":                {nil, []builder.PodOption{builder.Exit(143)}, v1alpha1.CauseRetryable, true},
		"SIGKILL without a probe":                {nil, []builder.PodOption{builder.Exit(137)}, v1alpha1.CauseRetryable, false},
		"SIGKILL after a liveness probe":         {liveness, []builder.PodOption{builder.Exit(137)}, v1alpha1.CauseRetryable, true},
		"SIGKILL after a hook":                   {postStart, []builder.PodOption{builder.Exit(137)}, v1alpha1.CauseRetryable, true},
		"a code of its own":                      {liveness, []builder.PodOption{builder.Exit(1)}, v1alpha1.CauseRetryable, false},
		"out of memory":                          {liveness, []builder.PodOption{builder.ExitSaying(137, "OOMKilled", "")}, v1alpha1.CauseOOM, false},
		"evicted":                                {liveness, []builder.PodOption{builder.Exit(143), builder.Rejected("Evicted", "")}, v1alpha1.CauseRetryable, false},
		"a startup probe, never ready":           {startup, []builder.PodOption{builder.Exit(143), builder.At(30 * second), readySince(5)}, v1alpha1.CauseStartup, true},
		"a startup probe, was ready":             {startup, []builder.PodOption{builder.Exit(143), builder.At(30 * second), readySince(30)}, v1alpha1.CauseRetryable, true},
		"no startup probe, never ready":          {liveness, []builder.PodOption{builder.Exit(143), builder.At(30 * second), readySince(5)}, v1alpha1.CauseRetryable, true},
		"a startup probe, a code of the program": {startup, []builder.PodOption{builder.Exit(1), builder.At(30 * second), readySince(5)}, v1alpha1.CauseRetryable, false},
	} {
		options := []builder.ReplicaOption{}
		if c.template != nil {
			options = append(options, c.template)
		}
		job := builder.Job("j", builder.Workers(2, options...))
		s := builder.Snapshot(job, builder.Running("worker", 0), builder.Failed("worker", 1, c.pod...))
		found := failure.Find(s)
		if len(found) != 1 || found[0].Cause != c.cause || (failure.Hint(s, &found[0].Failure) != "") != c.hint {
			t.Errorf("%s: %+v, hint %q; want cause %s, a hint %t", name, found, failure.Hint(s, &found[0].Failure), c.cause, c.hint)
		}
		if s.IsLocal = true; failure.Hint(s, &found[0].Failure) != "" {
			t.Errorf("%s: a local run has no kubectl, and gets %q", name, failure.Hint(s, &found[0].Failure))
		}
	}
}

package failure_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

func TestAFailureShowsWhichReplicaWhereAndHow(t *testing.T) {
	killed := int32(137)
	for text, c := range map[string]struct {
		seen builder.SnapshotOption
		want v1alpha1.Failure
	}{
		"worker-1 on gpu-3 exited with code 137 (OOMKilled)": {
			builder.Failed("worker", 1, builder.ExitSaying(137, "OOMKilled", "killed"), builder.On("gpu-3")),
			v1alpha1.Failure{Role: v1alpha1.Worker, Index: 1, Cause: v1alpha1.CauseOOM, Pod: "j-worker-1", Node: "gpu-3",
				ExitCode: &killed, Reason: "OOMKilled", Message: "killed", Time: builder.Time(30 * second)}},
		"worker-0 was lost (Vanished: its pod is gone without a trace)": {
			builder.Gone("worker", 0),
			v1alpha1.Failure{Role: v1alpha1.Worker, Cause: v1alpha1.CauseInfrastructure, Pod: "j-worker-0", Reason: "Vanished",
				Message: "its pod is gone without a trace", Time: builder.Time(60 * second)}},
	} {
		got := first(t, c.seen)
		if diff := cmp.Diff(&c.want, got); diff != "" {
			t.Errorf("failure (-want +got):\n%s", diff)
		}
		if got := failure.Describe(got); got != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
}

func TestAContainerBesidesTheProgramIsNamed(t *testing.T) {
	want := "worker-1 on node-worker-1 failed because its container preflight-a exited with code 2: the check is misconfigured (Error)"
	if got := failure.Describe(first(t, builder.Failed("worker", 1, builder.FailedInit("preflight-a", 2)))); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A pod that can restart in place keeps the name of an earlier attempt. A pod that was never observed is not named.
func TestAVanishedPodIsNamedWhereItsNameIsKnown(t *testing.T) {
	for _, c := range []struct {
		life     state.Life
		replaced string
		restart  v1alpha1.RestartMethod
		want     string
	}{
		{state.Life{Attempt: 1}, "", v1alpha1.RestartRecreate, "j-worker-0-a1r0"},
		{state.Life{}, "", v1alpha1.RestartInPlace, "j-worker-0"},
		{state.Life{Attempt: 1}, "", v1alpha1.RestartInPlace, ""},
		{state.Life{Attempt: 1, Replacement: 1}, "0:1", v1alpha1.RestartInPlace, "j-worker-0-a1r1"},
	} {
		job := builder.Job("j", builder.Workers(2), builder.StartedAt(0), builder.Attempt(int32(c.life.Attempt)), builder.Recovery(func(r *v1alpha1.Recovery) { r.RestartMethod = c.restart }),
			builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Started: "0-1", Replacements: c.replaced}))
		s := builder.Snapshot(job, builder.Running("worker", 1, builder.Life(c.life.Attempt, 0)))
		if found := failure.Find(s); len(found) != 1 || found[0].Pod != c.want {
			t.Errorf("%v, %s: %+v, want pod %q", c.life, c.restart, found, c.want)
		}
	}
}

func TestALongTerminationMessageKeepsItsEndAndWholeCharacters(t *testing.T) {
	for _, filler := range []string{"x", "é", "世", "🙂"} {
		got := first(t, builder.Failed("worker", 1, builder.ExitSaying(1, "Error", strings.Repeat(filler, 4000)+"the end")))
		if len(got.Message) > 1024 || len(got.Message) < 1020 || !utf8.ValidString(got.Message) || !strings.HasSuffix(got.Message, "the end") {
			t.Errorf("a message of %q became %d bytes, valid: %t, ending in %q",
				filler, len(got.Message), utf8.ValidString(got.Message), got.Message[len(got.Message)-7:])
		}
	}
}

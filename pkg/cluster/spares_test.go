package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/plan"
	"github.com/trainingjob/operator/pkg/state"
	"github.com/trainingjob/operator/test/builder"
)

// noSpares is a server that refuses spares with that message, "" for none.
func noSpares(sentence *string) *webhooks {
	return &webhooks{answer: func(_ context.Context, o client.Object) error {
		if strings.Contains(o.GetName(), "-spare-") && *sentence != "" {
			return apierrors.NewForbidden(pods, o.GetName(), errors.New(*sentence))
		}
		return nil
	}}
}

func TestARefusedSpareBlocksNoReplica(t *testing.T) {
	sentence := "exceeded quota: team-a"
	server, clock := noSpares(&sentence), testclock.NewFakePassiveClock(builder.Epoch)
	c := New(server, nil, nil, clock, Options{Parallel: 1})
	job := builder.Job("j", builder.Workers(1, builder.Spares(2)))
	var steps []plan.Step
	for i := range 2 {
		steps = append(steps, plan.CreatePod{Slot: state.Slot{Role: v1alpha1.Worker, Index: i}, Stage: plan.Spares, Placement: &plan.Placement{}})
	}
	if err := c.Act(t.Context(), job, append(steps, createWorker)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"team-a/j-worker-0", "team-a/j-worker-spare-0", "team-a/j-worker-spare-1"}, server.created); diff != "" {
		t.Errorf("requested (-want +got):\n%s", diff)
	}
	if known := c.memo(job, nil); known.replicas.refusal != nil || known.spares.refusal == nil {
		t.Errorf("noted of replicas %v, of spares %v", known.replicas.refusal, known.spares.refusal)
	}
	if got := c.Retry(job); !got.Equal(builder.Epoch.Add(time.Second)) {
		t.Errorf("the spare is tried again at %v", got)
	}
}

func TestARefusedSpareIsTriedAgainAfterWaitsThatGrow(t *testing.T) {
	c, clock := refusing()
	job := builder.Job("j", builder.Workers(1))
	var waits []time.Duration
	for range 12 {
		_ = c.handleSpareRefusal(job, apierrors.NewForbidden(pods, "j", errors.New("no")))
		retry := c.Retry(job)
		waits = append(waits, retry.Sub(clock.Now())/time.Second)
		clock.SetTime(retry)
	}
	if diff := cmp.Diff([]time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600}, waits); diff != "" {
		t.Errorf("seconds between the tries (-want +got):\n%s", diff)
	}
}

func TestTheRefusalOfASpareIsToldOnceForEachReason(t *testing.T) {
	c, _ := refusing()
	c.events = events.NewFakeRecorder(10)
	job := builder.Job("j", builder.Workers(1))
	quota := apierrors.NewForbidden(pods, "j", errors.New("exceeded quota: team-a"))
	policy := apierrors.NewForbidden(pods, "j", errors.New("violates PodSecurity"))
	isReported := func() bool { return c.memo(job, nil).spares.refusal.Told }
	for i, step := range []struct {
		err    error
		before bool
	}{{quota, false}, {quota, true}, {policy, false}, {policy, true}, {quota, false}} {
		_ = c.handleSpareRefusal(job, step.err)
		if isReported() != step.before {
			t.Errorf("refusal %d counts as reported: %t", i, isReported())
		}
		p := &plan.Plan{Status: job.Status, Events: []plan.Event{{Type: corev1.EventTypeWarning, Reason: v1alpha1.EventSpareRefused}}}
		if err := c.Record(t.Context(), job, p); err != nil || !isReported() {
			t.Errorf("refusal %d: error %v, reported %t", i, err, isReported())
		}
	}
}

// failed returns spares of these UIDs that a node rejected.
func failed(uids ...types.UID) []state.Pod {
	var spares []state.Pod
	for _, uid := range uids {
		spares = append(spares, state.Pod{UID: uid, Phase: corev1.PodFailed})
	}
	return spares
}

// A node that rejects every spare got new ones as fast as the API server could create them.
func TestASpareThatFailsAgainAndAgainIsMadeAnewEverLater(t *testing.T) {
	_, clock := refusing()
	var remembered failedSpares
	next := func(uids ...types.UID) time.Duration {
		remembered = remembered.after(failed(uids...), clock.Now())
		return remembered.until.Sub(clock.Now()) / time.Second
	}
	var waits []time.Duration
	for i := range 9 {
		waits = append(waits, next(types.UID(fmt.Sprint(i))))
		clock.SetTime(clock.Now().Add(waits[i]*time.Second + 100*time.Millisecond))
	}
	if diff := cmp.Diff([]time.Duration{5, 10, 20, 40, 80, 160, 300, 300, 300}, waits); diff != "" {
		t.Errorf("seconds between the spares (-want +got):\n%s", diff)
	}
	if next(); remembered.seen != nil {
		t.Error("spares that are gone are remembered")
	}
	clock.SetTime(clock.Now().Add(time.Hour))
	if wait := next("later"); wait != 5 {
		t.Errorf("after an hour the wait is %d s, want 5", wait)
	}
}

func TestWhichSparesHaveFailed(t *testing.T) {
	running := state.Pod{UID: "runs", Phase: corev1.PodRunning}
	ended := state.Pod{UID: "ended", Phase: corev1.PodFailed, Deleted: builder.Epoch}
	rejected := state.Pod{UID: "rejected", Phase: corev1.PodFailed}
	second := state.Pod{UID: "second", Phase: corev1.PodFailed}
	for name, c := range map[string]struct {
		spares []state.Pod
		times  int
	}{
		"none that runs":              {[]state.Pod{running}, 0},
		"none that was deleted":       {[]state.Pod{ended}, 0},
		"one that a node turned away": {[]state.Pod{running, rejected}, 1},
		"two at once count as one":    {[]state.Pod{rejected, second}, 1},
	} {
		first := failedSpares{}.after(c.spares, builder.Epoch)
		again := first.after(c.spares, builder.Epoch.Add(time.Minute))
		if first.times != c.times || again.times != c.times {
			t.Errorf("%s: counted %d times, and %d when it is seen again; want %d", name, first.times, again.times, c.times)
		}
	}
}

package cluster

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// refusingSome is a server that refuses the pods for which refuses is true, because of a quota.
func refusingSome(refuses func(name string) bool) *webhooks {
	return &webhooks{answer: func(_ context.Context, o client.Object) error {
		if refuses(o.GetName()) {
			return apierrors.NewForbidden(pods, o.GetName(), errors.New("exceeded quota: team-a, requested: count/pods=1"))
		}
		o.(*corev1.Pod).UID = "made"
		return nil
	}}
}

// A quota that refuses one replica does not stop the others: they are created in the same reconcile.
func TestARefusedReplicaDelaysNoOther(t *testing.T) {
	server := refusingSome(func(name string) bool { return name == "j-worker-1" })
	clock := testclock.NewFakePassiveClock(builder.Epoch)
	c := New(server, nil, nil, clock, Options{Parallel: 1})
	job, steps := jobIn("a", 20)
	if err := c.Act(t.Context(), job, steps); err != nil {
		t.Fatal(err)
	}
	if n := len(server.created); n != 20 {
		t.Errorf("%d pods were requested, want 20", n)
	}
	first := c.memo(job, nil).refused.refusal
	if first == nil || !first.Delays("j-worker-1", clock.Now()) || first.Delays("j-worker-2", clock.Now()) {
		t.Fatalf("the refusal is %+v", first)
	}
	server.answer = refusingSome(func(name string) bool { return name == "j-worker-7" }).answer
	if err := c.Act(t.Context(), job, steps[7:8]); err != nil { // worker-7 is lost meanwhile
		t.Fatal(err)
	}
	then := c.memo(job, nil).refused.refusal
	if diff := cmp.Diff([]string{"j-worker-1", "j-worker-7"}, slices.Sorted(maps.Keys(then.Pods))); diff != "" || !then.Retry.Equal(first.Retry) {
		t.Errorf("tried again at %v, then at %v: pods (-want +got):\n%s", first.Retry, then.Retry, diff)
	}
	clock.SetTime(then.Retry)
	server.answer = refusingSome(func(string) bool { return false }).answer
	if err := c.Act(t.Context(), job, steps[:8]); err != nil || c.memo(job, nil).refused.refusal != nil {
		t.Errorf("error %v, the refusal is %+v", err, c.memo(job, nil).refused.refusal)
	}
}

// For a large job that a quota refuses, a few pods are requested, not each.
func TestAQuotaIsNotAskedForEveryReplica(t *testing.T) {
	server := refusingSome(func(name string) bool { return strings.Contains(name, "worker") })
	clock := testclock.NewFakePassiveClock(builder.Epoch)
	c := New(server, nil, nil, clock, Options{Parallel: 1})
	job, steps := jobIn("a", 1000)
	if err := c.Act(t.Context(), job, steps); err != nil {
		t.Fatal(err)
	}
	refusal := c.memo(job, nil).refused.refusal
	if n := len(server.created); n > 2*refusalsOfRole || refusal == nil || len(refusal.Pods) != 1000 {
		t.Errorf("%d pods were requested, %d wait", n, len(refusal.Pods))
	}
	if wait := refusal.Retry.Sub(clock.Now()); wait != time.Second {
		t.Errorf("they are tried again after %v", wait)
	}
}

// A job with an invalid pod cannot run as it is: pods of its other roles would hold their nodes for nothing. The first pod of each role shows it.
func TestAnInvalidPodKeepsTheOthersFromBeingCreated(t *testing.T) {
	server := &webhooks{answer: func(_ context.Context, o client.Object) error {
		if strings.Contains(o.GetName(), "worker") {
			return apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, o.GetName(), nil)
		}
		o.(*corev1.Pod).UID = "made"
		return nil
	}}
	clock := testclock.NewFakePassiveClock(builder.Epoch)
	c := New(server, nil, nil, clock, Options{Parallel: 1})
	job, steps := jobIn("a", 20)
	for i := range 20 {
		slot := state.Slot{Role: v1alpha1.PS, Index: i}
		steps = append(steps, plan.CreatePod{Name: state.PodName(job.Name, slot, state.Life{}), Slot: slot, Placement: &plan.Placement{}})
	}
	job.Spec.ReplicaSpecs[v1alpha1.PS] = job.Spec.ReplicaSpecs[v1alpha1.Worker]
	if err := c.Act(t.Context(), job, steps); err != nil {
		t.Fatal(err)
	}
	refusal := c.memo(job, nil).refused.refusal
	if refusal == nil || refusal.Reason != v1alpha1.ReasonInvalid || len(refusal.Pods) < 39 {
		t.Fatalf("the refusal is %+v", refusal)
	}
	if n := len(server.created); n > 2 {
		t.Errorf("%d pods were requested, want one of each role", n)
	}
	clock.SetTime(refusal.Retry)
	server.answer = refusingSome(func(string) bool { return false }).answer
	if err := c.Act(t.Context(), job, steps); err != nil || len(server.created) != 41 || c.memo(job, nil).refused.refusal != nil {
		t.Errorf("error %v, %d pods were requested, the refusal is %+v", err, len(server.created), c.memo(job, nil).refused.refusal)
	}
}

// A finalizer brings the pod back each time.
func TestAPodIsDeletedByForceAgainAfterAMinuteThenTwo(t *testing.T) {
	c, clock := refusing()
	c.client = deleter{}
	job := builder.Job("j", builder.Workers(1))
	kept := builder.Snapshot(job, builder.Failed("worker", 0, builder.Exit(1))).Observed
	next := func() (wait time.Duration) {
		c.memo(job, func(m *jobMemo) { m.addForced(kept.Pods, kept.Former) })
		return kept.Pods[0].ForceNext.Sub(clock.Now())
	}
	for _, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
		step := plan.DeletePod{Name: kept.Pods[0].Name, UID: kept.Pods[0].UID, Force: true}
		if err := c.Act(t.Context(), job, []plan.Step{step}); err != nil {
			t.Fatal(err)
		}
		if got := next(); got != want {
			t.Errorf("deleted by force again after %v, want %v", got, want)
		}
	}
	c.memo(job, func(m *jobMemo) { m.addForced(nil) })
	if n := len(c.memo(job, nil).forced); n > 0 {
		t.Errorf("%d pods are remembered that are gone", n)
	}
}

// A quota of count/pods counts the pods that other jobs keep for their logs: these jobs are reconciled, and keep none for a while.
func TestAQuotaThatCountsEndedPodsConcernsTheWholeNamespace(t *testing.T) {
	clock := testclock.NewFakePassiveClock(builder.Epoch)
	var woken []client.ObjectKey
	c := New(refusingSome(func(string) bool { return true }), nil, nil, clock, Options{Parallel: 1, Wake: func(job client.ObjectKey) { woken = append(woken, job) }})
	job, steps := jobIn("a", 2)
	for _, key := range []client.ObjectKey{client.ObjectKeyFromObject(job), {Namespace: "a", Name: "other"}, {Namespace: "b", Name: "another"}} {
		other := job.DeepCopy()
		other.Namespace, other.Name = key.Namespace, key.Name
		c.memo(other, func(*jobMemo) {})
	}
	for range 2 {
		if err := c.Act(t.Context(), job, steps); err != nil {
			t.Fatal(err)
		}
	}
	if want := []client.ObjectKey{{Namespace: "a", Name: "other"}}; !slices.Equal(woken, want) || !c.isCrowded("a") || c.isCrowded("b") {
		t.Errorf("woken %v, want %v; crowded %v", woken, want, c.crowded)
	}
	clock.SetTime(builder.Epoch.Add(crowdedFor + time.Second))
	if c.isCrowded("a") {
		t.Error("the namespace stays crowded")
	}
}

package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/builder"
)

// A pod that changed since it was read may show how it ended: it stays until that is read. The other pods do not wait.
func TestOnlyPodsThatHaveNotChangedAreEnded(t *testing.T) {
	job, api := builder.Job("j", builder.Workers(3)), server.New(clock.RealClock{}).Client("test")
	var steps []plan.Step
	for i := range 3 {
		pod := builder.Pod(job, state.Slot{Role: "worker", Index: i}, state.Life{}, corev1.PodRunning)
		if err := api.Create(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, plan.DeletePod{Name: pod.Name, UID: pod.UID, Version: pod.ResourceVersion, Why: plan.WhyPastLife})
		if i == 0 {
			pod.Status.Phase = corev1.PodFailed
			if err := api.Status().Update(t.Context(), pod); err != nil {
				t.Fatal(err)
			}
		}
	}
	err := New(api, api, nil, clock.RealClock{}, Options{Parallel: 1}).Act(t.Context(), job, steps)
	if !apierrors.IsConflict(err) {
		t.Errorf("error %v, want a conflict", err)
	}
	var left corev1.PodList
	if err := api.List(t.Context(), &left, client.InNamespace(job.Namespace)); err != nil {
		t.Fatal(err)
	}
	for i := range left.Items {
		pod := &left.Items[i]
		if isChanged, isEnded := pod.Name == "j-worker-0", pod.DeletionTimestamp != nil; isChanged == isEnded {
			t.Errorf("%s, %s: deleted %t", pod.Name, pod.Status.Phase, isEnded)
		}
	}
}

// A suspension, change or deletion of a job takes effect before all its many pods are created.
func TestAPassEndsWhenTheJobChanges(t *testing.T) {
	job, api := builder.Job("j", builder.Workers(1000)), server.New(clock.RealClock{}).Client("test")
	if err := api.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	var steps []plan.Step
	for i := range 1000 {
		steps = append(steps, plan.CreatePod{Slot: state.Slot{Role: "worker", Index: i}, Placement: &plan.Placement{}})
	}
	created, send := 0, api.Send
	user := *api
	api.Send = func(r *server.Request, waits bool) (client.Object, error) {
		if created++; created == 150 {
			now := job.DeepCopy()
			now.Spec.Suspend = ptr.To(true)
			user.Send = send
			if err := user.Update(t.Context(), now); err != nil {
				t.Error(err)
			}
		}
		return send(r, waits)
	}
	err := New(api, api, nil, clock.RealClock{}, Options{Parallel: 1}).Act(t.Context(), job.DeepCopy(), steps)
	if !apierrors.IsConflict(err) || created > 250 {
		t.Errorf("%d pods were created, with the error %v; the job was suspended after 150", created, err)
	}
}

// A checkpoint request is written to the pods that were read, not to others of their names, and removed again.
func TestPodsAreAskedForACheckpoint(t *testing.T) {
	job, api := builder.Job("j", builder.Workers(2)), server.New(clock.RealClock{}).Client("test")
	var pods []*corev1.Pod
	for i := range 2 {
		pod := builder.Pod(job, state.Slot{Role: "worker", Index: i}, state.Life{}, corev1.PodRunning)
		pod.Annotations = map[string]string{"note": "mine"}
		if err := api.Create(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		pods = append(pods, pod)
	}
	cluster := New(api, api, nil, clock.RealClock{}, Options{Parallel: 1})
	for _, text := range []string{"0-1 SuspendedBySpec 2026-01-05T12:00:25Z", ""} {
		err := cluster.Act(t.Context(), job, []plan.Step{
			plan.AskPod{Name: "j-worker-0", UID: pods[0].UID, Text: text},
			plan.AskPod{Name: "j-worker-1", UID: "another's", Text: text},
			plan.AskPod{Name: "j-worker-2", UID: "gone", Text: text},
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []map[string]string{{"note": "mine", "trainingjob.dev/checkpoint-request": text}, {"note": "mine"}}
		if text == "" {
			delete(want[0], "trainingjob.dev/checkpoint-request")
		}
		for i, pod := range pods {
			if err := api.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want[i], pod.Annotations); diff != "" {
				t.Errorf("request %q: annotations of %s (-want +got):\n%s", text, pod.Name, diff)
			}
		}
	}
}

package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/gang/native"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/builder"
)

// createWorker creates the pod of worker 0 of job j.
var createWorker = plan.CreatePod{Name: "j-worker-0", Slot: state.Slot{Role: v1alpha1.Worker}, Placement: &plan.Placement{}}

func TestAGroupOfTheJobThatTheCacheDoesNotShowIsAConflict(t *testing.T) {
	job, api := builder.Job("j", builder.Workers(2)), server.New(clock.RealClock{}).Client("test")
	group := func(minimum int32) state.Object {
		return build.Group(job, native.Provider{}.Group(state.GangTerms{Minimum: minimum}))
	}
	if err := api.Create(t.Context(), group(2)); err != nil {
		t.Fatal(err)
	}
	err := New(api, api, nil, clock.RealClock{}, Options{Parallel: 1}).Act(t.Context(), job, []plan.Step{plan.CreateGroup{Group: group(1)}, createWorker})
	if gone := api.Get(t.Context(), types.NamespacedName{Namespace: job.Namespace, Name: createWorker.Name}, &corev1.Pod{}); !apierrors.IsConflict(err) || !apierrors.IsNotFound(gone) {
		t.Errorf("error %v, reading the pod: %v; want a conflict and no pod", err, gone)
	}
}

// No pod may be created for a group that was deleted or replaced since it was read.
func TestResizingAGroupThatIsNotTheOneSeenIsAConflict(t *testing.T) {
	job := builder.Job("j", builder.Workers(2))
	for name, c := range map[string]struct {
		before func(client.Client, *schedulingv1beta1.PodGroup)
		ok     bool
	}{
		"the one that was seen": {func(client.Client, *schedulingv1beta1.PodGroup) {}, true},
		"gone": {func(c client.Client, g *schedulingv1beta1.PodGroup) {
			g.Finalizers = nil
			_ = c.Update(t.Context(), g)
			_ = c.Delete(t.Context(), g)
		}, false},
		"going":   {func(c client.Client, g *schedulingv1beta1.PodGroup) { _ = c.Delete(t.Context(), g) }, false},
		"another": {func(_ client.Client, g *schedulingv1beta1.PodGroup) { g.UID = "other" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			api := server.New(clock.RealClock{}).Client("test")
			group := native.Provider{}.Group(state.GangTerms{Minimum: 2}).(*schedulingv1beta1.PodGroup)
			group.Name, group.Namespace = "j-0", job.Namespace
			if err := api.Create(t.Context(), group); err != nil {
				t.Fatal(err)
			}
			c.before(api, group)
			steps := []plan.Step{
				createWorker,
				plan.ResizeGroup{Empty: &schedulingv1beta1.PodGroup{}, Name: "j-0", UID: group.UID, Spec: native.Provider{}.Resize(1)},
			}
			err := New(api, api, nil, clock.RealClock{}, Options{Parallel: 1}).Act(t.Context(), job, steps)
			created := api.Get(t.Context(), types.NamespacedName{Namespace: job.Namespace, Name: createWorker.Name}, &corev1.Pod{}) == nil
			if created != c.ok || c.ok != (err == nil) || !c.ok && !apierrors.IsConflict(err) {
				t.Errorf("error %v, pod created %t", err, created)
			}
		})
	}
}

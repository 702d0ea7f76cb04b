package cluster

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/builder"
)

// Garbage collection needs a moment to remove the Service of a job that was deleted and created again.
func TestWhoHoldsTheNameOfTheService(t *testing.T) {
	job := builder.Job("j", builder.Workers(1))
	former := job.DeepCopy()
	former.UID = "former"
	other := former.DeepCopy()
	other.Name = "other"
	of := func(owner *v1alpha1.TrainingJob) *corev1.Service {
		service := build.Service(owner, nil)
		service.Name = job.Name
		return service
	}
	foreign := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: job.Name, Namespace: job.Namespace}}
	foreignGoing := foreign.DeepCopy()
	foreignGoing.Finalizers = []string{"example.test/wait"}
	for name, c := range map[string]struct {
		there  *corev1.Service
		delete bool
		reason string
	}{
		"a former job of that name": {of(former), false, ""},
		"an owner in deletion":      {foreignGoing, true, ""},
		"another job":               {of(other), false, v1alpha1.ReasonNameConflict},
		"another owner":             {foreign, false, v1alpha1.ReasonNameConflict},
	} {
		t.Run(name, func(t *testing.T) {
			clock := testclock.NewFakePassiveClock(builder.Epoch)
			api := server.New(clock).Client("test")
			there := c.there.DeepCopy()
			if err := api.Create(t.Context(), there); err != nil {
				t.Fatal(err)
			}
			if c.delete {
				if err := api.Delete(t.Context(), there); err != nil {
					t.Fatal(err)
				}
			}
			operator := New(api, api, nil, clock, Options{Parallel: 1})
			steps := []plan.Step{plan.CreateService{Service: build.Service(job, nil)}, createWorker}
			for range 5 {
				if err := operator.Act(t.Context(), job, steps); err != nil {
					t.Fatal(err)
				}
			}
			refusal := operator.memo(job, nil).refused.refusal
			if refusal == nil || refusal.Reason != c.reason {
				t.Fatalf("refusal %v, want the reason %q", refusal, c.reason)
			}
			if wait := refusal.Retry.Sub(clock.Now()); c.reason == "" && wait != time.Second {
				t.Errorf("tries again after %v, want 1 s each time", wait)
			}
			if err := api.Get(t.Context(), client.ObjectKey{Namespace: job.Namespace, Name: createWorker.Name}, &corev1.Pod{}); err == nil {
				t.Error("a pod was created without the Service")
			}
		})
	}
}

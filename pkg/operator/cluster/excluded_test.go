package cluster

import (
	"context"
	"testing"
	"time"

	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

// oneJob is a client of a cluster with one job. It fails at any other request.
type oneJob struct {
	client.Client
	job *v1alpha1.TrainingJob
}

func (c oneJob) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	c.job.DeepCopyInto(o.(*v1alpha1.TrainingJob))
	return nil
}

func TestAJobInAnExcludedNamespaceGetsOneEventAndNothingElse(t *testing.T) {
	job := builder.Job("j", builder.Workers(1))
	recorder := events.NewFakeRecorder(10)
	c := New(oneJob{job: job}, nil, recorder, testclock.NewFakePassiveClock(time.Time{}), Options{Parallel: 1, Excluded: []string{"x", job.Namespace}})
	for range 3 {
		if s, err := c.Observe(t.Context(), client.ObjectKeyFromObject(job)); s != nil || err != nil {
			t.Fatalf("snapshot %v, error %v", s, err)
		}
	}
	want := "Warning NamespaceExcluded The operator runs no jobs in namespace " + job.Namespace + " (--exclude-namespaces): create the job in another namespace."
	if len(recorder.Events) != 1 {
		t.Fatalf("%d Events", len(recorder.Events))
	}
	if got := <-recorder.Events; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAnExcludedJobOfAnotherControllerGetsNoEvent(t *testing.T) {
	job := builder.Job("j", builder.Workers(1))
	job.Spec.ManagedBy = "example.com/another"
	recorder := events.NewFakeRecorder(10)
	c := New(oneJob{job: job}, nil, recorder, testclock.NewFakePassiveClock(time.Time{}), Options{Parallel: 1, Excluded: []string{job.Namespace}})
	if _, err := c.Observe(t.Context(), client.ObjectKeyFromObject(job)); err != nil || len(recorder.Events) > 0 {
		t.Errorf("%d Events, error %v", len(recorder.Events), err)
	}
}

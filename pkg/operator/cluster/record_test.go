package cluster

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"

	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/test/sim/builder"
)

// A user who describes a PyTorchJob sees what stops it.
func TestAWarningIsAlsoAnEventOfTheServedKubeflowJob(t *testing.T) {
	recorder := events.NewFakeRecorder(10)
	recorder.Verbose = true
	c, _ := refusing()
	c.events = recorder
	job := builder.Job("j", builder.Workers(1), builder.Served())
	p := &plan.Plan{Status: job.Status, Events: []plan.Event{
		{Type: corev1.EventTypeWarning, Reason: "QuotaExceeded", Action: "Stalled", Message: "exceeded quota: team-a"},
		{Type: corev1.EventTypeNormal, Reason: "Running", Action: "Running", Message: "All replicas run."},
	}}
	if err := c.Record(t.Context(), job, p); err != nil {
		t.Fatal(err)
	}
	if len(recorder.Events) != 3 {
		t.Fatalf("%d Events, want the warning twice", len(recorder.Events))
	}
	for _, want := range [][]string{{"exceeded quota: team-a"}, {"exceeded quota: team-a", "PyTorchJob"}, {"All replicas run."}} {
		event := <-recorder.Events
		for _, part := range want {
			if !strings.Contains(event, part) {
				t.Errorf("emitted %s, want %s", event, part)
			}
		}
	}
}

package cluster

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// So does the user of a JobSet, and of the TrainJob that made it. What is normal is there if it stops, restarts or charges.
func TestWhatStopsAJobIsAnEventOfItsJobSetAndTrainJob(t *testing.T) {
	for reason, isTold := range map[string]bool{
		"Restarting": true, "ReplicaRestarting": true, "CheckpointRequested": true, "CheckpointSaved": true, "CheckpointMissed": true, "ReplicaGivenUp": true,
		"IncidentExplained": true, "NodeAvoided": true, "EnvConflict": true, "DeletionRefused": true, "Stalled": true, "Unschedulable": true, "ProgressStalled": true,
		"Running": false, "Succeeded": false, "Resumed": false, "Suspended": false,
	} {
		recorder := events.NewFakeRecorder(10)
		recorder.Verbose = true
		c, _ := refusing()
		c.events = recorder
		job := builder.Job("j", builder.Workers(1))
		yes := true
		job.OwnerReferences = []metav1.OwnerReference{{APIVersion: "jobset.x-k8s.io/v1alpha2", Kind: "JobSet", Name: "j", UID: "set", Controller: &yes}}
		job.Annotations = map[string]string{"trainingjob.dev/trainjob": "tj/train"}
		job.Status.Conditions = []metav1.Condition{{Type: "Restarting", Status: metav1.ConditionTrue}} // so the JobSet does not show it by a condition that is new
		kind := corev1.EventTypeWarning
		if slices.Contains([]string{"ReplicaRestarting", "CheckpointRequested", "CheckpointSaved", "IncidentExplained", "Running", "Succeeded", "Resumed", "Suspended"}, reason) {
			kind = corev1.EventTypeNormal // ReplicaRestarting after the loss of a pod
		}
		p := &plan.Plan{Status: job.Status, Events: []plan.Event{{Type: kind, Reason: reason, Action: "a", Message: "m"}}}
		if err := c.Record(t.Context(), job, p); err != nil {
			t.Fatal(err)
		}
		var emitted []string
		for len(recorder.Events) > 0 {
			emitted = append(emitted, <-recorder.Events)
		}
		all := strings.Join(emitted, "\n")
		if isTold != (len(emitted) == 3 && strings.Contains(all, "kind=JobSet") && strings.Contains(all, "kind=TrainJob")) || !isTold && len(emitted) != 1 {
			t.Errorf("%s: %d Events:\n%s", reason, len(emitted), all)
		}
	}
}

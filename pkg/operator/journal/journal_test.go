package journal_test

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/history"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/operator/journal"
	"github.com/trainingjob/operator/test/sim/builder"
)

const second = time.Second

func incident(attempt, index int32, cause v1alpha1.Cause, at time.Duration) v1alpha1.Incident {
	return v1alpha1.Incident{
		Failure: v1alpha1.Failure{
			Role: v1alpha1.Worker, Index: index, Attempt: attempt, Cause: cause, Reason: "Error", Pod: "j-worker-1", Node: "gpu-7",
			ExitCode: ptr.To[int32](3), Message: "no data", Time: builder.Time(at),
		},
		Scope: v1alpha1.ScopeJob, Followers: 1, Charged: true, RestartTime: builder.Time(at + 2*second),
	}
}

// after returns the plan whose status is the job's with a change.
func after(job *v1alpha1.TrainingJob, change func(*v1alpha1.TrainingJobStatus), restarts ...v1alpha1.Incident) *plan.Plan {
	p := &plan.Plan{Status: *job.Status.DeepCopy()}
	change(&p.Status)
	for _, i := range restarts {
		p.Restarts = append(p.Restarts, failure.Restart{Incident: i})
	}
	return p
}

func linesOf(job *v1alpha1.TrainingJob, p *plan.Plan) []journal.Line {
	return journal.Lines(history.Between(job, &p.Status, p.Restarts))
}

// written returns the lines as the operator's log has them, without the times.
func written(job *v1alpha1.TrainingJob, p *plan.Plan) string {
	var text bytes.Buffer
	noTime := func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey && a.Value.Kind() == slog.KindTime {
			return slog.Attr{}
		}
		return a
	}
	log := logr.FromSlogHandler(slog.NewJSONHandler(&text, &slog.HandlerOptions{ReplaceAttr: noTime}))
	for _, line := range linesOf(job, p) {
		log.Info(line.Message, line.Fields()...)
	}
	return text.String()
}

// The lines were written by hand from the package's comment: they are what stores of logs and other programs rely on.
func TestLines(t *testing.T) {
	first, next := incident(0, 1, v1alpha1.CauseRetryable, 10*second), incident(1, 0, v1alpha1.CauseRetryable, 60*second)
	explained := first
	explained.Cause, explained.Reason, explained.Charged, explained.Explained, explained.ExitCode = v1alpha1.CauseInfrastructure, "NodeLost", false, true, nil
	job := builder.Job("j", builder.Workers(2), builder.StartedAt(0), builder.Attempt(1), builder.Incidents(first),
		builder.Status(func(s *v1alpha1.TrainingJobStatus) { s.Restarts = 1 }))
	job.Namespace, job.UID = "team", "u-1"
	cases := []struct {
		name string
		plan *plan.Plan
	}{
		{"nothing has happened", after(job, func(s *v1alpha1.TrainingJobStatus) { s.ReadyReplicas++ })},
		{"a restart", after(job, func(s *v1alpha1.TrainingJobStatus) {
			s.Restarts, s.Attempt, s.Incidents = 2, 2, []v1alpha1.Incident{next, first}
		}, next)},
		{"an incident is explained while another begins", after(job, func(s *v1alpha1.TrainingJobStatus) {
			s.Restarts, s.Attempt, s.Incidents = 2, 2, []v1alpha1.Incident{next, explained}
		}, next)},
		{"the job runs again", after(job, func(s *v1alpha1.TrainingJobStatus) {
			s.Conditions = builder.Job("", builder.Condition(v1alpha1.ConditionRunning, true, v1alpha1.ReasonAllReplicasRunning, 25*second)).Status.Conditions
		})},
		{"the job has failed", after(job, func(s *v1alpha1.TrainingJobStatus) {
			s.Phase, s.Reason, s.CompletionTime, s.Memory.Shape = v1alpha1.PhaseFailed, "FatalExit", builder.TimePtr(90*second), "secret of the operator"
			s.LostSeconds = v1alpha1.LostSeconds{Restart: 7}
		})},
	}
	var all strings.Builder
	for _, c := range cases {
		all.WriteString("# " + c.name + "\n" + written(job, c.plan))
	}
	want, err := os.ReadFile("testdata/lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), all.String()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// With more restarts in one pass than a status keeps, each still has its line and its number.
func TestEachOfManyRestartsHasItsLine(t *testing.T) {
	job := builder.Job("j", builder.Workers(12))
	var all []v1alpha1.Incident
	for i := range int32(12) {
		all = append(all, incident(0, i, v1alpha1.CauseRetryable, second))
	}
	lines := linesOf(job, after(job, func(s *v1alpha1.TrainingJobStatus) { s.Restarts, s.Incidents = 12, all[:10] }, all...))
	if len(lines) != 12 {
		t.Fatalf("%d lines, want 12", len(lines))
	}
	for i := range lines {
		if lines[i].Number != int32(i)+1 || lines[i].Incident.Index != int32(i) {
			t.Errorf("line %d: incident %d of worker-%d", i, lines[i].Number, lines[i].Incident.Index)
		}
	}
}

// In a log of text each field is JSON.
func TestALineOfTextHasJSONInEachField(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), builder.StartedAt(0))
	p := after(job, func(s *v1alpha1.TrainingJobStatus) { s.Restarts = 1 }, incident(0, 1, v1alpha1.CauseOOM, second))
	var text bytes.Buffer
	line := linesOf(job, p)[0]
	logr.FromSlogHandler(slog.NewTextHandler(&text, nil)).Info(line.Message, line.Fields()...)
	if !strings.Contains(text.String(), `incident="{\"role\":\"Worker\",\"index\":1`) {
		t.Errorf("as text: %s", text.String())
	}
}

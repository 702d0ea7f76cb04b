package plan_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/api/schema"
	"github.com/trainingjob/operator/test/sim/builder"
)

// FuzzForeignWords uses any text for every message that the operator repeats: from kubelets, the scheduler, node monitors, the
// training, queues and annotations of the job. The API server must accept each status and Event, and a terminal must show it
// unchanged.
func FuzzForeignWords(f *testing.F) {
	for _, words := range []string{
		"no room", "", "\x1b[2J\x1b[31mgone\nSucceeded", "\u202etxt.exe", "\xff\xfe", "a\x00b", "pulling image 20%", "{{.}}%s%d", "\u0085\u2028next line",
	} {
		f.Add(words, words, uint8(0))
		f.Add("Error", words, uint8(255))
	}
	f.Fuzz(func(t *testing.T, reason, message string, which uint8) {
		for _, s := range listeners(reason, message, which) {
			p := plan.Make(s)
			checkForeign(t, s, &p)
			// The written status is read back, and its messages are used again.
			next := s.Job.DeepCopy()
			next.Status = p.Status
			again := plan.Make(builder.Snapshot(next, builder.Now(90*second)))
			checkForeign(t, s, &again)
		}
	})
}

// listeners returns snapshots of jobs with these messages from all sources.
func listeners(reason, message string, which uint8) []*state.Snapshot {
	reported := func(o *state.Observed) {
		report := state.Report{Step: 7, Checkpoint: state.Printable(state.Cut(message, state.MaxWords)), SavedFor: state.Cut(reason, state.MaxWords)}
		o.Progress = state.Progress{Report: report, Renewed: builder.Epoch}
	}
	annotated := func(job *v1alpha1.TrainingJob) {
		job.Annotations = map[string]string{v1alpha1.AnnotationQueueMessage: message, v1alpha1.AnnotationRestart: reason}
	}
	queued := func(job *v1alpha1.TrainingJob) {
		job.Labels = map[string]string{v1alpha1.LabelQueue: "team"}
	}
	on := builder.On("n")
	kubelet := []builder.PodOption{
		builder.Waiting(reason, message), builder.Rejected(reason, message), builder.ExitSaying(int32(which), reason, message),
		builder.Unschedulable(message), builder.Disrupted(reason, 0), builder.Unhealthy(reason, message), builder.Flagged(reason),
		builder.Asked(message), builder.Edit(func(pod *corev1.Pod) { pod.Annotations = map[string]string{v1alpha1.AnnotationInPlaceRestart: message} }),
	}
	job := builder.Job("j", builder.Workers(2), annotated, builder.Progress(60, v1alpha1.StallRestart))
	all := []*state.Snapshot{
		builder.Snapshot(builder.Job("j", builder.Workers(2), annotated, queued, builder.Suspended()), reported),
		builder.Snapshot(job, builder.Running("worker", 0, on), builder.Running("worker", 1, on), builder.NodeUnhealthy("n", reason, message, 0), reported),
	}
	for _, option := range kubelet {
		all = append(all,
			builder.Snapshot(job, builder.Running("worker", 0), builder.Pending("worker", 1, on, option), reported),
			builder.Snapshot(job, builder.Running("worker", 0), builder.Failed("worker", 1, on, option), reported))
	}
	return all
}

// checkForeign: the API server accepts the status and the Events, and no text moves a terminal's cursor or reverses a line.
func checkForeign(t *testing.T, s *state.Snapshot, p *plan.Plan) {
	t.Helper()
	if err := schema.CheckStatus(&p.Status); err != nil {
		t.Errorf("the API server would refuse the status: %v", err)
	}
	text, err := json.Marshal(p.Status)
	if err != nil {
		t.Fatal(err)
	}
	var status any
	if err := json.Unmarshal(text, &status); err != nil {
		t.Fatal(err)
	}
	checkText(t, "status", status)
	for _, e := range p.Events {
		if len(e.Message) > 1024 || len(e.Reason) > 128 || len(e.Action) > 128 || e.Reason == "" || e.Action == "" {
			t.Errorf("the API server would refuse the Event %+v of %s", e, s.Job.Status.Phase)
		}
		checkText(t, "Event", []any{e.Reason, e.Action, e.Message})
	}
	checkText(t, "log", p.String())
}

// checkText checks every text of a JSON value.
func checkText(t *testing.T, where string, value any) {
	t.Helper()
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			checkText(t, where+"."+key, item)
		}
	case []any:
		for _, item := range v {
			checkText(t, where, item)
		}
	case string:
		for _, r := range v {
			if strings.HasSuffix(where, ".message") && r == '\n' && !strings.Contains(where, ".conditions") {
				continue // the last words of a program are lines
			}
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Fatalf("%s holds the character %U: %q", where, r, v)
			}
		}
		if !utf8.ValidString(v) {
			t.Errorf("%s is no text: %q", where, v)
		}
	}
}

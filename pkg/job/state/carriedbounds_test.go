package state_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/api/schema"
	"github.com/trainingjob/operator/test/sim/builder"
)

// hostile draws the parts of a status, also such as no operator writes.
type hostile struct{ *rapid.T }

func (h hostile) text(what string) string {
	return rapid.OneOf(rapid.SampledFrom([]string{"", "lost", "\x1b]0;owned\x07", "a \u2028\"<>&", "\xff\xfe", " x ", strings.Repeat("\"", 3000), strings.Repeat("é\n", 1000)}),
		rapid.String()).Draw(h.T, what)
}

func (h hostile) number(what string) int32 {
	return rapid.OneOf(rapid.SampledFrom([]int32{0, 1, -1, math.MaxInt32, math.MinInt32, 999_999, 1_000_000}), rapid.Int32()).Draw(h.T, what)
}

func (h hostile) seconds(what string) int64 {
	return rapid.OneOf(rapid.SampledFrom([]int64{0, 1, -1_000_000, math.MaxInt64, math.MinInt64}), rapid.Int64()).Draw(h.T, what)
}

func (h hostile) time(what string) metav1.Time {
	at := rapid.SampledFrom([]time.Time{{}, builder.Epoch, builder.Epoch.Add(1234567 * time.Nanosecond), builder.Epoch.Add(time.Hour), builder.Epoch.AddDate(9000, 0, 0), time.Unix(0, 0)})
	return metav1.NewTime(at.Draw(h.T, what))
}

func (h hostile) pointer(what string) *metav1.Time {
	if at := h.time(what); rapid.Bool().Draw(h.T, what+" is set") {
		return &at
	}
	return nil
}

func (h hostile) role() v1alpha1.Role {
	return v1alpha1.Role(rapid.SampledFrom([]string{"Worker", "Master", "actor", "", "My Role", "\x1b[2J"}).Draw(h.T, "role"))
}

func (h hostile) budget() v1alpha1.BudgetName {
	return v1alpha1.BudgetName(rapid.SampledFrom([]string{"maxRestarts", "maxOOMRestarts", "ruleMadeLosses", "0-0 my text", ""}).Draw(h.T, "budget"))
}

func (h hostile) failure() v1alpha1.Failure {
	return v1alpha1.Failure{
		Role: h.role(), Index: h.number("index"), Attempt: h.number("attempt of failure"), Pod: h.text("pod"), Node: "gpu-0", Container: h.text("container"),
		Cause:  v1alpha1.Cause(rapid.SampledFrom([]string{"Infrastructure", "Retryable", "Hang", "", "mine"}).Draw(h.T, "cause")),
		Reason: h.text("reason"), Message: h.text("message"), Alike: h.number("alike"), Time: h.time("time of failure"),
	}
}

func (h hostile) status() *v1alpha1.TrainingJobStatus {
	s := &v1alpha1.TrainingJobStatus{
		Phase: "Mine", Attempt: h.number("attempt"), Restarts: h.number("restarts"), ChargedRestarts: h.number("charged"),
		StartTime: &metav1.Time{Time: builder.Epoch}, RunningTime: h.pointer("runningTime"), RunningSeconds: h.seconds("ran"), SuspendedSeconds: h.seconds("suspended"),
		LostSeconds:     v1alpha1.LostSeconds{Queue: h.seconds("queue"), Restart: h.seconds("restart")},
		ReplicaStatuses: map[v1alpha1.Role]v1alpha1.ReplicaStatus{}, AvoidedNodes: []v1alpha1.AvoidedNode{{Name: "gpu-0"}},
		Memory: v1alpha1.Memory{RestartsWithoutProgress: h.number("stuck"), RedoStep: h.seconds("redo"), RestartRequest: h.text("request"), CountedTime: h.pointer("counted")},
	}
	for range rapid.IntRange(0, 20).Draw(h.T, "roles") {
		s.ReplicaStatuses[h.role()] = v1alpha1.ReplicaStatus{Restarts: h.number("restarts of role"), Active: 1}
	}
	for range rapid.IntRange(0, 14).Draw(h.T, "incidents") {
		scope := v1alpha1.RestartScope(rapid.SampledFrom([]string{"Job", "Replica", "", "World"}).Draw(h.T, "scope"))
		s.Incidents = append(s.Incidents, v1alpha1.Incident{Failure: h.failure(), Scope: scope, Followers: h.number("followers"), RestartTime: h.time("restart time")})
	}
	for range rapid.IntRange(0, 7).Draw(h.T, "budgets") {
		s.Budgets = append(s.Budgets, v1alpha1.Budget{Name: h.budget(), Used: h.number("used"), Limit: h.number("limit")})
		charges := v1alpha1.Charges{Name: h.budget()}
		for range rapid.SampledFrom([]int{0, 1, 1_000}).Draw(h.T, "charges") {
			charges.Times = append(charges.Times, builder.Time(0))
		}
		s.Memory.Charges = append(s.Memory.Charges, charges)
	}
	if rapid.Bool().Draw(h.T, "has failed") {
		f := h.failure()
		s.LastFailure = &f
	}
	if rapid.Bool().Draw(h.T, "reports") {
		s.Progress = &v1alpha1.ProgressStatus{Step: h.seconds("step"), Checkpoint: h.text("checkpoint"), RenewTime: h.pointer("renewed"), Metrics: map[string]string{}}
		for range rapid.IntRange(0, 10).Draw(h.T, "metrics") {
			s.Progress.Metrics[h.text("name of metric")] = h.text("metric")
		}
	}
	return s
}

// Whatever status a job leaves a cluster with, the next cluster takes it, by a clock that is a few minutes behind, and the API server stores it.
func TestTheReaderTakesWhatTheWriterMakes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := builder.Epoch.Add(time.Duration(rapid.IntRange(0, 100_000).Draw(t, "ms")) * time.Millisecond)
		job := builder.Job("j", builder.Workers(2))
		job.Status = *hostile{t}.status()
		text, err := state.CarriedStatus(job, now)
		if err != nil || text == "" || len(text) > v1alpha1.MaxCarriedStatus || strings.Contains(text, "gpu-0") {
			t.Fatalf("it carries %d bytes, error %v: %s", len(text), err, text)
		}
		carried, err := state.ParseCarried(text, now.Add(-4*time.Minute))
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if err := schema.CheckStatus(carried); err != nil {
			t.Fatalf("the API server refuses it: %v\n%s", err, text)
		}
	})
}

// What a user writes is refused as a whole, or is such as an operator writes: no node, no command for a terminal, nothing below 0.
func TestTheReaderTakesNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(hostile{t}.status())
		if err != nil {
			t.Skip(err)
		}
		job := builder.Job("j", builder.Workers(2), builder.Dispatched(string(text)))
		s, err := builder.Snapshot(job, builder.Now(time.Minute)).Begin()
		if err != nil {
			if !strings.Contains(err.Error(), v1alpha1.AnnotationCarriedStatus) {
				t.Fatal(err)
			}
			return
		}
		status := &s.Job.Status
		if err := schema.CheckStatus(status); err != nil {
			t.Fatalf("the API server refuses it: %v\n%s", err, text)
		}
		shown, err := json.Marshal(status)
		if err != nil || strings.Contains(string(shown), "gpu-0") || strings.Contains(string(shown), `\u001b`) || strings.Contains(string(shown), "my text") {
			t.Fatalf("it shows %s, error %v", shown, err)
		}
	})
}

func TestAForgedStatusIsRefused(t *testing.T) {
	const incident = `{"role":"Worker","index":0,"attempt":0,"cause":"Infrastructure","reason":"NodeLost","node":"gpu-0","scope":"Replica","time":"2026-01-05T12:00:00Z","restartTime":"2026-01-05T12:00:00Z"}`
	for text, why := range map[string]string{
		`{"incidents":[` + strings.Repeat(`{},`, 83_000) + `{}]}`:             "longer than 16384 bytes",
		`{"incidents":[` + strings.Repeat(incident+",", 10) + incident + `]}`: "incidents",
		`{"incidents":[{}]}`:                                                               "incidents",
		`{"runningSeconds":-1000000}`:                                                      "seconds",
		`{"lostSeconds":{"queue":99999999999999}}`:                                         "seconds",
		`{"restarts":-1}`:                                                                  "numbers of restarts",
		`{"restarts":2147483647}`:                                                          "numbers of restarts",
		`{"memory":{"restartsWithoutProgress":-1000000}}`:                                  "numbers of restarts",
		`{"replicaStatuses":{"My Role":{"restarts":1}}}`:                                   "numbers of restarts",
		`{"budgets":[{"name":"0-0 my text","used":1,"limit":1}]}`:                          "budgets",
		`{"memory":{"charges":[{"name":"mine"}]}}`:                                         "charges",
		`{"memory":{"charges":[{"name":"maxRestarts","times":["2036-01-05T12:00:00Z"]}]}}`: "charges",
		`{"startTime":"2036-01-05T12:00:00Z"}`:                                             "times",
		`{"lastFailure":{"role":"Worker","cause":"mine"}}`:                                 "lastFailure",
		`{"progress":{"step":-1}}`:                                                         "progress",
		`{"progress":{"step":1,"metrics":{"\u001b[2J":"1"}}}`:                              "progress",
	} {
		job := builder.Job("j", builder.Workers(2), builder.Dispatched(text))
		if _, err := builder.Snapshot(job, builder.Now(time.Minute)).Begin(); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%.80s: error %v, want one of its %s", text, err, why)
		}
	}
	job := builder.Job("j", builder.Workers(2), builder.Dispatched(`{"incidents":[`+incident+`],"lastFailure":`+incident+`}`))
	s, err := builder.Snapshot(job, builder.Now(time.Minute)).Begin()
	if err != nil {
		t.Fatal(err)
	}
	if status := s.Job.Status; len(status.Incidents) != 1 || status.Incidents[0].Node != "" || status.LastFailure.Node != "" {
		t.Errorf("a former version carries nodes; they are of another cluster: %+v", status)
	}
}

// docs/decisions.md: an annotation that a user forges changes only that user's job. Without MultiKueue it changes nothing.
func TestOnlyACopyOfMultiKueueReadsACarriedStatus(t *testing.T) {
	const carried = `{"attempt":3,"restarts":4}`
	label := func(name string) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) { metav1.SetMetaDataLabel(&j.ObjectMeta, name, "x") }
	}
	annotated := func(j *v1alpha1.TrainingJob) {
		metav1.SetMetaDataAnnotation(&j.ObjectMeta, v1alpha1.AnnotationCarriedStatus, carried)
	}
	ofTemplate := func(j *v1alpha1.TrainingJob) {
		workers := j.Spec.ReplicaSpecs[v1alpha1.Worker]
		workers.Template.Annotations = map[string]string{v1alpha1.AnnotationCarriedStatus: carried}
		j.Spec.ReplicaSpecs[v1alpha1.Worker] = workers
	}
	for name, c := range map[string]struct {
		options []builder.JobOption
		want    int32
	}{
		"a copy":                         {[]builder.JobOption{builder.Dispatched(carried)}, 4},
		"a copy of an older Kueue":       {[]builder.JobOption{annotated, label(v1alpha1.LabelMultiKueueOrigin), label(v1alpha1.KueuePrebuiltWorkload)}, 4},
		"a job with the annotation":      {[]builder.JobOption{annotated}, 0},
		"with the label of an origin":    {[]builder.JobOption{annotated, label(v1alpha1.LabelMultiKueueOrigin)}, 0},
		"with a Workload":                {[]builder.JobOption{annotated, label(v1alpha1.KueuePrebuiltWorkload)}, 0},
		"a copy, in the template":        {[]builder.JobOption{builder.Dispatched(""), ofTemplate}, 0},
		"a copy that has begun, changed": {[]builder.JobOption{builder.Dispatched(carried), builder.Condition(v1alpha1.ConditionCreated, true, "JobCreated", 0)}, 0},
	} {
		s, err := builder.Snapshot(builder.Job("j", append(c.options, builder.Workers(2))...), builder.Now(0)).Begin()
		if err != nil || s.Job.Status.Attempt != c.want {
			t.Errorf("%s begins with attempt %d, want %d, error %v", name, s.Job.Status.Attempt, c.want, err)
		}
	}
}

// The oldest incidents go first.
func TestTheWriterDropsTheOldestIncidents(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), builder.StartedAt(0))
	for i := range v1alpha1.MaxIncidents {
		job.Status.Incidents = append(job.Status.Incidents, v1alpha1.Incident{Scope: v1alpha1.ScopeReplica, RestartTime: builder.Time(0), Failure: v1alpha1.Failure{
			Role: v1alpha1.Worker, Cause: v1alpha1.CauseRetryable, Time: builder.Time(0), Pod: fmt.Sprint("j-worker-", i), Message: strings.Repeat(`"`, state.MaxWords)}})
	}
	text, err := state.CarriedStatus(job, builder.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(text, "j-worker-") < 6 || !strings.Contains(text, "j-worker-0") || strings.Contains(text, "j-worker-9") {
		t.Errorf("of 10 incidents, newest first, it carries %s", text)
	}
}

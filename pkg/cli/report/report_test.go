package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/report"
	"github.com/trainingjob/operator/pkg/cli/story"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/operator/journal"
	"github.com/trainingjob/operator/test/bench/stories"
	"github.com/trainingjob/operator/test/sim/builder"
)

// mostBytes is how big a page may be.
const mostBytes = 200 << 10

func html(t testing.TB, v *story.View, lines []journal.Line) string {
	t.Helper()
	r := report.Make(v, lines)
	var page bytes.Buffer
	if err := r.HTML(&page, nil); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

// told sums a report up: what the tests compare.
func told(r *report.Report) []string {
	var list []string
	at := func(t time.Time) string { return t.Sub(builder.Epoch).String() }
	for _, a := range r.Attempts {
		ran := "?"
		if a.Ran != nil {
			ran = at(*a.Ran)
		}
		list = append(list, fmt.Sprintf("attempt %d-%d %s ran %s to %s ended by %d", a.First, a.Last, at(a.From), ran, at(a.To), a.EndedBy))
	}
	for _, i := range r.Incidents {
		cost := "?"
		if i.CostSeconds != nil {
			cost = fmt.Sprint(*i.CostSeconds)
		}
		list = append(list, fmt.Sprintf("incident %d %s worker-%d detection %d cost %s", i.Number, i.Cause, i.Index, i.DetectionSeconds, cost))
	}
	for _, row := range r.Replicas {
		text := row.Name()
		for _, s := range row.Segments {
			text += fmt.Sprintf(" %s %s-%s", s.State, at(s.From), at(s.To))
		}
		list = append(list, text)
	}
	return list
}

// The expectations were written from the story itself: who broke when, and when the job ran again.
func TestMakeWithTheLog(t *testing.T) {
	v, lines := stories.Many(4)
	v.Pods = nil
	r := report.Make(v, lines)
	want := []string{
		"attempt 0-0 0s ran 48s to 22m0s ended by 1",
		"attempt 1-1 22m2s ran 22m41s to 51m0s ended by 2",
		"attempt 2-2 51m16s ran 52m35s to 1h20m0s ended by 3",
		"attempt 3-3 1h20m1s ran 1h20m38s to 1h48m0s ended by 0",
		"incident 3 OOM worker-1 detection 1 cost 38",
		"incident 2 Infrastructure worker-2 detection 16 cost 95",
		"incident 1 Retryable worker-3 detection 2 cost 41",
		"master-0 starting 0s-48s running 48s-22m0s restarting 22m0s-22m41s running 22m41s-51m0s restarting 51m0s-52m35s running 52m35s-1h20m0s restarting 1h20m0s-1h20m38s running 1h20m38s-1h48m0s",
		"worker-0 starting 0s-48s running 48s-22m0s restarting 22m0s-22m41s running 22m41s-51m0s restarting 51m0s-52m35s running 52m35s-1h20m0s restarting 1h20m0s-1h20m38s running 1h20m38s-1h48m0s",
		"worker-1 starting 0s-48s running 48s-22m0s restarting 22m0s-22m41s running 22m41s-51m0s restarting 51m0s-52m35s running 52m35s-1h20m0s failed 1h20m0s-1h20m1s restarting 1h20m1s-1h20m38s running 1h20m38s-1h48m0s",
		"worker-2 starting 0s-48s running 48s-22m0s restarting 22m0s-22m41s running 22m41s-51m0s failed 51m0s-51m16s restarting 51m16s-52m35s running 52m35s-1h20m0s restarting 1h20m0s-1h20m38s running 1h20m38s-1h48m0s",
	}
	if diff := cmp.Diff(want, told(&r)); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// Without the log nobody knows when the attempts in the middle ran, nor what their restarts cost, and the report says so.
func TestMakeWithoutTheLog(t *testing.T) {
	v, _ := stories.Many(4)
	v.Pods, v.Events = nil, nil
	r := report.Make(v, nil)
	want := []string{
		"attempt 0-0 0s ran 48s to 22m0s ended by 1",
		"attempt 1-1 22m2s ran ? to 51m0s ended by 2",
		"attempt 2-2 51m16s ran ? to 1h20m0s ended by 3",
		"attempt 3-3 1h20m1s ran 1h20m38s to 1h48m0s ended by 0",
		"incident 3 OOM worker-1 detection 1 cost 38",
		"incident 2 Infrastructure worker-2 detection 16 cost ?",
		"incident 1 Retryable worker-3 detection 2 cost ?",
	}
	if diff := cmp.Diff(want, told(&r)[:7]); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// Of a local run with more restarts than its status keeps, the operator's lines tell of the others; an explanation replaces the first line, and
// what the status says replaces both.
func TestTheLogTellsWhatTheStatusHasForgotten(t *testing.T) {
	v, lines := stories.Many(4)
	v.Job.Status.Incidents = v.Job.Status.Incidents[:1]
	forgotten := report.Make(v, nil)
	if len(forgotten.Incidents) != 1 || forgotten.Untold != 2 || forgotten.Attempts[0].Last != 2 {
		t.Errorf("without the log: %d incidents, %d untold, first attempts to %d", len(forgotten.Incidents), forgotten.Untold, forgotten.Attempts[0].Last)
	}
	explained := lines[0]
	is := *explained.Incident
	is.Cause, is.Explained = v1alpha1.CauseInfrastructure, true
	explained.Message, explained.Incident = journal.MessageExplained, &is
	wrong := lines[4]
	other := *wrong.Incident
	other.Cause = v1alpha1.CauseHang
	wrong.Incident = &other
	r := report.Make(v, append([]journal.Line{explained, wrong}, lines...))
	var causes []v1alpha1.Cause
	for _, i := range r.Incidents {
		causes = append(causes, i.Cause)
	}
	if diff := cmp.Diff([]v1alpha1.Cause{v1alpha1.CauseOOM, v1alpha1.CauseInfrastructure, v1alpha1.CauseInfrastructure}, causes); diff != "" || r.Untold != 0 {
		t.Errorf("%d untold, causes (-want +got):\n%s", r.Untold, diff)
	}
}

// hostile is what a user, a container or a node's name may hold.
const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)>'&{{.Job}}</title></style>]]>` + "\x00\u202e"

func TestForeignTextIsEscaped(t *testing.T) {
	v, lines := stories.Many(3)
	s := &v.Job.Status
	v.Job.Name, v.Job.Namespace, v.Job.Spec.Framework = hostile, hostile, hostile
	s.Phase, s.Reason, s.Message, s.Ready = v1alpha1.Phase(hostile), hostile, hostile, hostile
	s.Progress.Checkpoint, s.AvoidedNodes[0].Name, s.AvoidedNodes[0].Reason = hostile, hostile, hostile
	for i := range s.Incidents {
		f := &s.Incidents[i].Failure
		f.Message, f.Node, f.Reason, f.Container, f.Cause, f.Role = hostile, hostile, hostile, hostile, v1alpha1.Cause(hostile), v1alpha1.Role(hostile)
	}
	for i := range s.Conditions {
		s.Conditions[i].Type, s.Conditions[i].Reason, s.Conditions[i].Message = hostile, hostile, hostile
	}
	for i := range v.Events {
		v.Events[i].Type, v.Events[i].Reason, v.Events[i].Message = hostile, hostile, hostile
	}
	page := html(t, v, lines)
	if strings.Contains(page, "<script") || strings.Contains(page, "<img") || strings.Count(page, "</style>") != 1 || strings.Count(page, "</title>") != 1 {
		t.Error("foreign text is part of the page")
	}
	for _, e := range elements(t, page) {
		for _, a := range e.Attr {
			if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" {
				t.Errorf("an element has %s=%s", a.Name.Local, a.Value)
			}
		}
	}
	if n := strings.Count(page, "alert(1)"); n < 20 {
		t.Errorf("the text is shown %d times: what was it made of?", n)
	}
}

// A page is whole: it is well-formed, asks for nothing from elsewhere and runs nothing.
func TestAPageStandsAlone(t *testing.T) {
	page := html(t, func() *story.View { v, _ := stories.Many(8); return v }(), nil)
	for _, word := range []string{"<script", "http://", "https://", "@import", "url(", "src=", "<link"} {
		if strings.Contains(page, word) {
			t.Errorf("the page has %s", word)
		}
	}
	if len(elements(t, page)) < 50 {
		t.Error("the page has hardly an element")
	}
}

// elements returns the elements of the page's body, which has to be well-formed.
func elements(t *testing.T, page string) []xml.StartElement {
	t.Helper()
	body := page[strings.Index(page, "<body>"):strings.Index(page, "</html>")]
	d := xml.NewDecoder(strings.NewReader(body))
	var list []xml.StartElement
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		if e, isElement := token.(xml.StartElement); isElement {
			list = append(list, e.Copy())
		}
	}
}

// worst is a job of n replicas that break one after another, each with many words, and all of whose pods started at other times.
func worst(n int) (*story.View, []journal.Line) {
	v, lines := stories.Many(n)
	words := strings.Repeat("<&> é", 200)
	for number := int32(4); number < 1500; number++ {
		l := lines[0]
		i := *l.Incident
		i.Index, i.Scope, i.Message = number*7%int32(n-1), v1alpha1.ScopeReplica, words
		i.Attempt, i.Time, i.RestartTime = 3, builder.Time(81*time.Minute+time.Duration(number)*time.Second), builder.Time(81*time.Minute+time.Duration(number+3)*time.Second)
		l.Number, l.Incident = number, &i
		lines = append(lines, l)
	}
	for i := range v.Pods {
		v.Pods[i].Status.ContainerStatuses[0].State.Running.StartedAt = builder.Time(80*time.Minute + time.Duration(i)*100*time.Millisecond)
	}
	e := v.Events[0]
	e.Message = words
	for len(v.Events) < 500 {
		v.Events = append(v.Events, e)
	}
	v.Job.Status.Restarts, v.Job.Status.Message = 2000, words
	return v, lines
}

func TestAPageIsSmallAtTenThousandReplicas(t *testing.T) {
	v, lines := stories.Many(10000)
	if n := len(html(t, v, lines)); n > 64<<10 {
		t.Errorf("an ordinary page has %d bytes", n)
	}
	v, lines = worst(10000)
	page := html(t, v, lines)
	if len(page) > mostBytes {
		t.Errorf("the worst page has %d bytes, want at most %d", len(page), mostBytes)
	}
	t.Logf("the worst page has %d bytes", len(page))
	v, lines = worst(128)
	if n := len(html(t, v, lines)); n > mostBytes {
		t.Errorf("the worst page of 128 replicas has %d bytes, want at most %d", n, mostBytes)
	}
}

// One broken replica of ten thousand is seen: in its row, which stands for 250, and as a mark.
func TestOneBrokenReplicaOfTenThousandIsSeen(t *testing.T) {
	whole := func(broken bool) string {
		job := builder.Job("j", builder.Workers(10000), builder.RunsSince(10*time.Second))
		if broken {
			i := v1alpha1.Incident{Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Index: 7777, Cause: v1alpha1.CauseRetryable, Time: builder.Time(100 * time.Second)},
				Scope: v1alpha1.ScopeReplica, RestartTime: builder.Time(130 * time.Second)}
			job.Status.Incidents, job.Status.Restarts = []v1alpha1.Incident{i}, 1
		}
		return html(t, &story.View{Job: job, Now: builder.Epoch.Add(1000 * time.Second)}, nil)
	}
	row := regexp.MustCompile(`<path class="s-failed" d="M100 (\d+)h30v11H100z"/>`) // 100 s to 130 s of 1000 s, on 1000 units
	if found := row.FindStringSubmatch(whole(true)); found == nil || found[1] != fmt.Sprint(7777/250*11) {
		t.Errorf("the row of the broken replica: %v", found)
	}
	if strings.Contains(whole(false), `class="s-failed" d=`) {
		t.Error("a job in which nothing broke shows something broken")
	}
}

// Up to 128 replicas each have a row. The row of an incident has a label of its own; above 128 the label names all replicas of the row.
func TestTheRowOfAnIncidentNamesItsReplicas(t *testing.T) {
	for _, c := range []struct {
		workers, index int
		label          string
		tall           int
	}{{20, 7, "worker-7", 0}, {64, 37, "worker-37", 64 * 11}, {128, 101, "worker-101", 128 * 11}, {129, 37, "worker-36<s> to 39</s>", 33 * 11}, {10000, 7777, "worker-7750<s> to 7999</s>", 40 * 11}} {
		i := v1alpha1.Incident{Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Index: int32(c.index), Cause: v1alpha1.CauseRetryable, Time: builder.Time(100 * time.Second)},
			Scope: v1alpha1.ScopeReplica, RestartTime: builder.Time(130 * time.Second)}
		job := builder.Job("j", builder.Workers(c.workers), builder.RunsSince(10*time.Second), builder.Incidents(i))
		job.Status.Restarts = 1
		page := html(t, &story.View{Job: job, Now: builder.Epoch.Add(1000 * time.Second)}, nil)
		label := regexp.MustCompile(`<span style="top:([0-9.]+)%;height:([0-9.]+)%">` + c.label + `</span>`).FindStringSubmatch(page)
		mark := regexp.MustCompile(fmt.Sprintf(`<u style="left:10%%;top:([0-9.]+)%%" title="incident 1: worker-%d"></u>`, c.index)).FindStringSubmatch(page)
		if label == nil || mark == nil {
			t.Errorf("%d workers: label %v, mark %v", c.workers, label, mark)
			continue
		}
		top, height, at := number(t, label[1]), number(t, label[2]), number(t, mark[1])
		if at < top || at > top+height {
			t.Errorf("%d workers: the mark at %v is outside the row from %v, %v high", c.workers, at, top, height)
		}
		if want := fmt.Sprintf(`viewBox="0 0 1000 %d"`, c.tall); c.tall > 0 && !strings.Contains(page, want) {
			t.Errorf("%d workers: the picture lacks %s", c.workers, want)
		}
		if marked := strings.Count(page, `<path class="s-failed" d="M100 `); marked != 1 {
			t.Errorf("%d workers: %d rows show the failure, want 1", c.workers, marked)
		}
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// A job that runs has run in its present attempt too, which only a condition shows: 1272 + 1699 + 1645 s and 1642 s of 6480 s.
func TestTheTimeThatAJobRanIncludesThePresentRun(t *testing.T) {
	v, lines := stories.Many(64)
	if page := html(t, v, lines); !strings.Contains(page, "<dt>Ran</dt><dd>104m</dd>") || !strings.Contains(page, "96.6 % of the time without suspensions") {
		t.Errorf("the page lacks the time that the job ran: %s", regexp.MustCompile(`<dt>Ran</dt><dd>[^<]*`).FindString(page))
	}
}

// A restart that a user requested is no failure, in its row either.
func TestARequestedRestartIsNotDrawnAsAFailure(t *testing.T) {
	i := v1alpha1.Incident{Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Index: 1, Pod: "j-worker-1", Cause: v1alpha1.CauseRequested, Time: builder.Time(100 * time.Second)},
		Scope: v1alpha1.ScopeReplica, RestartTime: builder.Time(130 * time.Second)}
	job := builder.Job("j", builder.Workers(2), builder.RunsSince(10*time.Second), builder.Incidents(i))
	page := html(t, &story.View{Job: job, Now: builder.Epoch.Add(1000 * time.Second)}, nil)
	if strings.Contains(page, `<path class="s-failed"`) || !strings.Contains(page, `<path class="s-restarting" d="M100 `) {
		t.Error("the requested restart is drawn as something else than a restart")
	}
}

// A request for the whole job, and a hang whose rank does not show, began at no replica.
func TestAnIncidentWithoutAReplicaMarksNone(t *testing.T) {
	for cause, words := range map[v1alpha1.Cause]string{v1alpha1.CauseRequested: "A user requested a restart", v1alpha1.CauseHang: "stopped making progress"} {
		i := v1alpha1.Incident{Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Cause: cause, Time: builder.Time(100 * time.Second)},
			Scope: v1alpha1.ScopeJob, RestartTime: builder.Time(130 * time.Second)}
		job := builder.Job("j", builder.Workers(2), builder.Attempt(1), builder.RunsSince(200*time.Second), builder.Incidents(i))
		job.Status.Restarts = 1
		page := html(t, &story.View{Job: job, Now: builder.Epoch.Add(1000 * time.Second)}, nil)
		_, replicas, _ := strings.Cut(page, `<section id="replicas">`)
		if strings.Contains(page, "<u ") || strings.Contains(replicas, `class="s-failed"`) || !strings.Contains(page, `title="incident 1: the whole job"></i>`) || !strings.Contains(page, words) {
			t.Errorf("%s: a replica is marked, or the incident is not", cause)
		}
	}
}

// The status has whole seconds: the end of a job that fails in the second of its failure shows, too.
func TestTheEndOfAFailedJobIsDrawn(t *testing.T) {
	job := builder.Job("j", builder.Workers(1), builder.StartedAt(0), builder.Status(func(s *v1alpha1.TrainingJobStatus) {
		s.Phase, s.CompletionTime = v1alpha1.PhaseFailed, builder.TimePtr(100*time.Second)
		s.LastFailure = &v1alpha1.Failure{Role: v1alpha1.Worker, Cause: v1alpha1.CauseFatal, Time: builder.Time(100 * time.Second)}
	}))
	var list bytes.Buffer
	if err := report.List(&list, []v1alpha1.TrainingJob{*job}, builder.Epoch, func(*v1alpha1.TrainingJob) string { return "" }, nil); err != nil {
		t.Fatal(err)
	}
	const end = `<path class="s-failed" d="M990 0h10`
	if page := html(t, &story.View{Job: job, Now: builder.Epoch.Add(time.Hour)}, nil); strings.Count(page, end) != 2 || !strings.Contains(list.String(), end) {
		t.Errorf("the end is drawn %d times in the report, want 2, and in the list: %t", strings.Count(page, end), strings.Contains(list.String(), end))
	}
}

func TestAJobThatHasNotStarted(t *testing.T) {
	page := html(t, &story.View{Job: builder.Job("j", builder.Workers(2)), Now: builder.Epoch}, nil)
	if !strings.Contains(page, "has not started") || strings.Contains(page, "<svg") {
		t.Error("the page shows times")
	}
}

// An attempt that has not run yet is drawn as what it is, above as below.
func TestAnAttemptThatHasYetToRun(t *testing.T) {
	for phase, want := range map[v1alpha1.Phase]string{v1alpha1.PhaseRestarting: "restarting", v1alpha1.PhasePending: "starting"} {
		job := builder.Job("j", builder.Workers(1), builder.StartedAt(0), builder.Status(func(s *v1alpha1.TrainingJobStatus) { s.Phase = phase }))
		page := html(t, &story.View{Job: job, Now: builder.Epoch.Add(time.Minute)}, nil)
		if n := strings.Count(page, `<path class="s-`+want+`" d="M0 0h1000`); n != 2 || strings.Contains(page, `<path class="s-unknown"`) {
			t.Errorf("%s: drawn %d times as %s, want 2", phase, n, want)
		}
	}
}

func TestSuspendedTimeIsSuspended(t *testing.T) {
	job := builder.Job("j", builder.Workers(1), builder.RunsSince(45*time.Second), builder.Status(func(s *v1alpha1.TrainingJobStatus) {
		s.StartTime, s.RunningTime, s.RunningSeconds, s.SuspendedSeconds = builder.TimePtr(0), builder.TimePtr(10*time.Second), 10, 20
	}))
	e := func(reason string, at time.Duration) corev1.Event {
		return corev1.Event{Reason: reason, LastTimestamp: builder.Time(at)}
	}
	v := &story.View{Job: job, Now: builder.Epoch.Add(time.Minute), Events: []corev1.Event{e("Resumed", 40*time.Second), e("Suspended", 20*time.Second)}}
	r := report.Make(v, nil)
	want := []string{"attempt 0-0 0s ran 10s to 1m0s ended by 0", "worker-0 starting 0s-10s running 10s-20s suspended 20s-40s starting 40s-45s running 45s-1m0s"}
	if diff := cmp.Diff(want, told(&r)); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// A pod that was restarted in place has its name and its age from a life before: only what it is since counts.
func TestAPodThatWasRestartedInPlace(t *testing.T) {
	job := builder.Job("j", builder.Workers(1), builder.RunsSince(40*time.Second))
	job.Status.Attempt, job.Status.Restarts = 1, 1
	job.Status.Incidents = []v1alpha1.Incident{{
		Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Pod: "j-worker-0", Time: builder.Time(20 * time.Second)},
		Scope:   v1alpha1.ScopeJob, RestartTime: builder.Time(21 * time.Second),
	}}
	pod := builder.Pod(job, state.Slot{Role: v1alpha1.Worker}, state.Life{}, corev1.PodRunning)
	pod.Annotations = map[string]string{v1alpha1.AnnotationInPlaceRestart: `{"life":"1-0","from":"0-0","process":"containerd://a","time":"` + builder.Epoch.Add(21*time.Second).Format(time.RFC3339) + `"}`}
	is := corev1.ContainerStatus{Name: pod.Spec.Containers[0].Name, ContainerID: "containerd://b"}
	is.State.Running = &corev1.ContainerStateRunning{StartedAt: builder.Time(40 * time.Second)}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{is}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: builder.Time(time.Second)}}
	r := report.Make(&story.View{Job: job, Now: builder.Epoch.Add(time.Minute), Pods: []corev1.Pod{*pod}}, nil)
	want := "worker-0 unknown 0s-20s failed 20s-21s restarting 21s-40s running 40s-1m0s"
	if got := told(&r); got[len(got)-1] != want {
		t.Errorf("told %q, want %q", got[len(got)-1], want)
	}
}

// What the replacement of one replica cost is read from the pod of its next life.
func TestTheCostOfAReplacement(t *testing.T) {
	job := builder.Job("j", builder.Workers(2), builder.RunsSince(10*time.Second))
	i := v1alpha1.Incident{Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Index: 1, Pod: "j-worker-1", Time: builder.Time(20 * time.Second)}, Scope: v1alpha1.ScopeReplica, RestartTime: builder.Time(21 * time.Second)}
	job.Status.Incidents, job.Status.Restarts = []v1alpha1.Incident{i}, 1
	v := &story.View{Job: job, Now: builder.Epoch.Add(time.Minute)}
	for replacement, ran := range map[int]time.Duration{1: 33 * time.Second, 2: 50 * time.Second} {
		pod := builder.Pod(job, state.Slot{Role: v1alpha1.Worker, Index: 1}, state.Life{Replacement: replacement}, corev1.PodRunning)
		pod.CreationTimestamp = builder.Time(ran - 5*time.Second)
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: builder.Time(ran)}}}}
		v.Pods = append(v.Pods, *pod)
	}
	if r := report.Make(v, nil); r.Incidents[0].CostSeconds == nil || *r.Incidents[0].CostSeconds != 13 {
		t.Errorf("cost %v, want 13", r.Incidents[0].CostSeconds)
	}
	v.Pods = nil
	if r := report.Make(v, nil); r.Incidents[0].CostSeconds != nil {
		t.Errorf("cost %d, which nobody can know", *r.Incidents[0].CostSeconds)
	}
}

// The JSON has what the page has, under the names of the API.
// One incident has one mark, also if the next attempt begins in the same second. The list and the report say what colours mean.
func TestAnIncidentHasOneMark(t *testing.T) {
	code := int32(1)
	broke := v1alpha1.Failure{Role: v1alpha1.Worker, Cause: v1alpha1.CauseRetryable, Reason: "Error", ExitCode: &code, Time: builder.Time(100 * time.Second)}
	job := builder.Job("mnist", builder.Workers(1), builder.RunsSince(0), builder.Attempt(1),
		builder.Incidents(v1alpha1.Incident{Failure: broke, Scope: v1alpha1.ScopeJob, RestartTime: builder.Time(100 * time.Second)}),
		builder.Status(func(s *v1alpha1.TrainingJobStatus) { s.Phase, s.Restarts = v1alpha1.PhaseRunning, 1 }))
	r := report.Make(&story.View{Job: job, Now: builder.Epoch.Add(10 * time.Minute)}, nil)
	var page, list bytes.Buffer
	if err := r.HTML(&page, nil); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(page.String(), `title="incident 1: worker-0"></i>`); n != 1 {
		t.Errorf("%d marks above the attempts, want 1", n)
	}
	if !strings.Contains(page.String(), "<li><i></i>incident</li><li><u></u>the replica where it began</li>") {
		t.Error("the report does not explain its triangles and dots")
	}
	if err := report.List(&list, []v1alpha1.TrainingJob{*job}, builder.Epoch.Add(10*time.Minute), func(*v1alpha1.TrainingJob) string { return "" }, nil); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(list.String(), "running</li>") || !strings.Contains(list.String(), "<li><i></i>incident</li>") || strings.Contains(list.String(), "waiting for a node") {
		t.Errorf("the list does not explain its colours and marks, or others: %s", regexp.MustCompile(`<ul class="legend.*`).FindString(list.String()))
	}
}

func TestJSON(t *testing.T) {
	v, lines := stories.Many(4)
	r := report.Make(v, lines)
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		Incidents []struct {
			Number, CostSeconds int64
			Cause, Node         string
		}
		LostSeconds map[string]int64
		Replicas    []struct {
			Segments []struct{ State, From, To string }
		}
	}
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	i := back.Incidents[1]
	if i.Number != 2 || i.CostSeconds != 95 || i.Cause != "Infrastructure" || i.Node != "gpu-12" || back.LostSeconds["redone"] != 610 || len(back.Replicas) != 4 || back.Replicas[0].Segments[0].To == "" {
		t.Errorf("read %+v", back)
	}
}

func BenchmarkTenThousandReplicas(b *testing.B) {
	v, lines := stories.Many(10000)
	for b.Loop() {
		_ = html(b, v, lines)
	}
}

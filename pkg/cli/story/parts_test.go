package story_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/story"
	"github.com/trainingjob/operator/test/sim/builder"
)

// past is the true history of a job, and what its status and Events still show.
type past struct {
	t      *rapid.T
	now    time.Duration
	truth  []story.Part
	status v1alpha1.TrainingJobStatus
	events []corev1.Event
}

// spend has the job in a state for some seconds.
func (p *past) spend(s story.PartState) int64 {
	d := rapid.Int64Range(1, 600).Draw(p.t, "seconds")
	from := builder.Epoch.Add(p.now)
	p.now += time.Duration(d) * time.Second
	part := story.Part{State: s, Interval: story.Interval{From: from, To: builder.Epoch.Add(p.now)}}
	if n := len(p.truth) - 1; n >= 0 && p.truth[n].State == s {
		p.truth[n].To = part.To
	} else {
		p.truth = append(p.truth, part)
	}
	return d
}

func (p *past) emit(reason string) {
	p.events = append(p.events, corev1.Event{Reason: reason, LastTimestamp: builder.Time(p.now)})
}

func (p *past) set(kind string, status metav1.ConditionStatus) {
	p.status.Conditions = slices.DeleteFunc(p.status.Conditions, func(c metav1.Condition) bool { return c.Type == kind })
	p.status.Conditions = append(p.status.Conditions, metav1.Condition{Type: kind, Status: status, LastTransitionTime: builder.Time(p.now)})
}

// run has all replicas run for some time; it returns with the run over.
func (p *past) run() {
	p.emit("Running")
	p.set("Running", "True")
	if p.status.RunningTime == nil {
		p.status.RunningTime = builder.TimePtr(p.now)
	}
	p.status.Phase = v1alpha1.PhaseRunning
}

// aPast is a job that starts, runs, is suspended and resumed, fails and restarts, and then runs on, is suspended, or has ended.
func aPast(t *rapid.T) *past {
	p := &past{t: t}
	p.status.StartTime = builder.TimePtr(0)
	p.spend(story.Starting)
	for range rapid.IntRange(0, 8).Draw(t, "changes") {
		p.run()
		p.status.RunningSeconds += p.spend(story.Running)
		p.set("Running", "False")
		if rapid.Bool().Draw(t, "suspended") {
			p.suspend()
			p.status.SuspendedSeconds += p.spend(story.Suspended)
			p.set("Suspended", "False")
			p.emit("Resumed")
			p.spend(story.Starting)
			continue
		}
		i := v1alpha1.Incident{Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Cause: v1alpha1.CauseRetryable, Attempt: p.status.Attempt, Time: builder.Time(p.now)}, Scope: v1alpha1.ScopeJob}
		p.spend(story.Lost)
		i.RestartTime = builder.Time(p.now)
		p.status.Incidents = append([]v1alpha1.Incident{i}, p.status.Incidents...)
		p.status.Attempt++
		p.status.Restarts++
		p.spend(story.Restarting)
	}
	p.end()
	return p
}

func (p *past) suspend() {
	p.set("Suspended", "True")
	p.emit("Suspended")
	p.status.Phase = v1alpha1.PhaseSuspended
}

func (p *past) end() {
	p.run()
	d := p.spend(story.Running)
	how := rapid.SampledFrom([]v1alpha1.Phase{v1alpha1.PhaseRunning, v1alpha1.PhaseSuspended, v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed}).Draw(p.t, "end")
	if how != v1alpha1.PhaseRunning {
		p.status.RunningSeconds += d
		p.set("Running", "False")
	}
	switch how {
	case v1alpha1.PhaseSuspended:
		p.suspend()
		p.spend(story.Suspended)
	case v1alpha1.PhaseFailed:
		p.status.LastFailure = &v1alpha1.Failure{Role: v1alpha1.Worker, Cause: v1alpha1.CauseFatal, Attempt: p.status.Attempt, Time: builder.Time(p.now)}
		p.spend(story.Lost)
	}
	if p.status.Phase = how; how == v1alpha1.PhaseFailed || how == v1alpha1.PhaseSucceeded {
		p.status.CompletionTime = builder.TimePtr(p.now)
	}
}

func (p *past) view() *story.View {
	job := builder.Job("j", builder.Workers(1))
	job.Status = p.status
	return &story.View{Job: job, Events: p.events, Now: builder.Epoch.Add(p.now)}
}

// sums returns the time in each state.
func sums(parts []story.Part) map[story.PartState]time.Duration {
	sum := map[story.PartState]time.Duration{}
	for _, p := range parts {
		sum[p.State] += p.To.Sub(p.From)
	}
	return sum
}

// The status and its Events give the true history, and the operator's counters agree.
func TestPartsAreTheHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := aPast(t)
		parts := story.Parts(p.view())
		if diff := cmp.Diff(p.truth, parts); diff != "" {
			t.Fatalf("parts (-truth +told):\n%s", diff)
		}
		sum := sums(p.truth)
		totals, _ := story.TotalsOf(&p.status, builder.Epoch.Add(p.now))
		if totals.Ran != sum[story.Running] || totals.Suspended != sum[story.Suspended] || totals.Lost != p.now-sum[story.Running]-sum[story.Suspended] {
			t.Fatalf("totals %+v of %v", totals, sum)
		}
	})
}

// Whatever Events and incidents are gone, the parts add up to the duration without gaps, and no more is drawn as running than the operator
// counted, plus 5 % and 10 s.
func TestPartsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := aPast(t)
		p.events = slices.DeleteFunc(p.events, func(corev1.Event) bool { return rapid.Bool().Draw(t, "gone") })
		if n := len(p.status.Incidents); n > 0 {
			p.status.Incidents = p.status.Incidents[:rapid.IntRange(0, n).Draw(t, "kept")]
		}
		v := p.view()
		parts := story.Parts(v)
		at := builder.Epoch
		for _, part := range parts {
			if !part.From.Equal(at) || !part.To.After(part.From) {
				t.Fatalf("a gap at %v: %+v", at, parts)
			}
			at = part.To
		}
		if !at.Equal(builder.Epoch.Add(p.now)) {
			t.Fatalf("the parts end at %v: %+v", at, parts)
		}
		totals, _ := story.TotalsOf(&p.status, v.Now)
		if totals.Ran+totals.Suspended+totals.Lost != p.now {
			t.Fatalf("totals %+v of %v", totals, p.now)
		}
		if ran := sums(parts)[story.Running]; ran > totals.Ran+p.now/20+10*time.Second {
			t.Fatalf("drawn as running: %v, counted: %v\n%+v\n%+v", ran, totals.Ran, parts, p.truth)
		}
	})
}

// A timeline shows suspensions and losses, and sums that add up.
func TestTimelineOfASuspendedJob(t *testing.T) {
	p := &past{}
	p.status = v1alpha1.TrainingJobStatus{StartTime: builder.TimePtr(0), Phase: v1alpha1.PhaseSuspended, RunningTime: builder.TimePtr(4 * second), RunningSeconds: 70, SuspendedSeconds: 18}
	for at, reason := range map[time.Duration]string{4: "Running", 22: "Suspended", 40: "Resumed", 41: "Running", 93: "Suspended"} {
		p.now = at * second
		p.emit(reason)
	}
	p.now = 93 * second
	p.set("Suspended", "True")
	p.now = 116 * second
	text := story.Timeline(p.view(), 124, story.ASCII)
	for _, want := range []string{"ran 70s, suspended 41s, lost 5s of 116s", "- suspended . starting # running ^ incident"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q:\n%s", want, text)
		}
	}
	count := func(mark string) string { return fmt.Sprint(strings.Count(strings.Split(text, "\n")[2], mark)) }
	if got := count("#") + " " + strings.TrimSpace(count("-")); got != "60 36" {
		t.Errorf("# and - of 100 columns: %s\n%s", got, text)
	}
}

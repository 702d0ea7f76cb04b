package trace_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/history"
	"github.com/trainingjob/operator/pkg/trace"
	"github.com/trainingjob/operator/test/builder"
)

type status = v1alpha1.TrainingJobStatus

// set sets a condition, s seconds after the epoch.
func set(status *status, kind string, value metav1.ConditionStatus, s int) {
	status.Conditions = slices.DeleteFunc(status.Conditions, func(c metav1.Condition) bool { return c.Type == kind })
	status.Conditions = append(status.Conditions, metav1.Condition{Type: kind, Status: value, LastTransitionTime: at(s)})
}

func at(s int) metav1.Time { return builder.Time(time.Duration(s) * time.Second) }

// tale is the life of a job whose node is lost once: each function is a status that is written.
func tale() []func(*status) {
	lost := v1alpha1.Incident{
		Failure: v1alpha1.Failure{Role: "Worker", Index: 3, Cause: "Infrastructure", Reason: "NodeLost", Node: "gpu-7", Pod: "ring-worker-3", Time: at(100), ExitCode: ptr.To[int32](137),
			Message: "what the program said"},
		Scope: "Job", Followers: 3, RestartTime: at(115),
	}
	return []func(*status){
		func(s *status) { set(s, "Queued", "True", 0); set(s, "Suspended", "True", 0) },
		func(s *status) {
			now := at(10)
			set(s, "Queued", "False", 10)
			set(s, "Suspended", "False", 10)
			set(s, "Scheduled", "False", 10)
			s.StartTime = &now
		},
		func(s *status) { set(s, "Scheduled", "True", 14); set(s, "Running", "False", 14) },
		func(s *status) { set(s, "Running", "True", 20) },
		func(s *status) { // the node is found lost
			s.Attempt, s.Restarts, s.Incidents = 1, 1, []v1alpha1.Incident{lost}
			set(s, "Running", "False", 115)
			set(s, "Scheduled", "False", 115)
			set(s, "Restarting", "True", 115)
		},
		func(s *status) { set(s, "Scheduled", "True", 118) },
		func(s *status) { set(s, "Running", "True", 130); set(s, "Restarting", "False", 130) },
		func(s *status) {
			now := at(200)
			set(s, "Running", "False", 200)
			s.CompletionTime, s.Phase, s.RunningSeconds = &now, v1alpha1.PhaseSucceeded, 0
		},
	}
}

// spans returns the spans of the tale, as the operator cuts them status by status.
func spans() []trace.Span {
	job := builder.Job("ring", builder.Framework(v1alpha1.PyTorch), builder.Workers(4))
	job.Labels = map[string]string{v1alpha1.LabelQueue: "team-a"}
	job.Namespace, job.UID, job.CreationTimestamp, job.Status = "team-a", "a428809b-49e0-4f42-8e14-c8638c541bc6", at(0), status{}
	var list []trace.Span
	for _, change := range tale() {
		next := job.Status.DeepCopy()
		change(next)
		list = append(list, trace.Spans(history.Between(job, next, nil))...)
		job.Status = *next
	}
	return list
}

// drawn returns the spans as a picture, a line for each, parts below what they are parts of; a character is 4 s.
func drawn(spans []trace.Span) string {
	var out strings.Builder
	var draw func(parent [8]byte, indent string)
	draw = func(parent [8]byte, indent string) {
		parts := slices.DeleteFunc(slices.Clone(spans), func(s trace.Span) bool { return s.Parent != parent })
		slices.SortStableFunc(parts, func(a, b trace.Span) int { return a.Start.Compare(b.Start) })
		for _, s := range parts {
			begin, end := int(s.Start.Sub(builder.Epoch).Seconds()), int(s.End.Sub(builder.Epoch).Seconds())
			fmt.Fprintf(&out, "%-14s|%s%s%s| %d-%d\n", indent+s.Name, strings.Repeat(" ", begin/4), strings.Repeat("=", end/4-begin/4), strings.Repeat(" ", 50-end/4), begin, end)
			draw(s.ID, indent+"  ")
		}
	}
	draw([8]byte{}, "")
	return out.String()
}

// A job whose node is lost: the trace of its restart, as a picture.
func TestATraceTellsOfARestart(t *testing.T) {
	want := strings.Join([]string{
		"job           |==================================================| 0-200",
		"  queued      |==                                                | 0-10",
		"  scheduling  |  =                                               | 10-14",
		"  starting    |   ==                                             | 14-20",
		"  running     |     ====================                         | 20-100",
		"  recovering  |                         =======                  | 100-130",
		"    detecting |                         ===                      | 100-115",
		"    scheduling|                            =                     | 115-118",
		"    starting  |                             ===                  | 118-130",
		"  running     |                                ==================| 130-200",
		"",
	}, "\n")
	if diff := cmp.Diff(want, drawn(spans())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The trace is found by the job's UID, each span has an id of its own, and the same story has the same ids.
func TestIDsComeFromTheJob(t *testing.T) {
	list := spans()
	ids := map[[8]byte]bool{}
	for _, s := range list {
		if got := fmt.Sprintf("%x", s.Trace); got != "a428809b49e04f428e14c8638c541bc6" {
			t.Errorf("%s: trace %s", s.Name, got)
		}
		if ids[s.ID] {
			t.Errorf("%s: its id is that of another", s.Name)
		}
		ids[s.ID] = true
	}
	if diff := cmp.Diff(list, spans()); diff != "" {
		t.Errorf("told again (-first +second):\n%s", diff)
	}
}

func TestARecoverySaysWhatBroke(t *testing.T) {
	want := []trace.Attribute{
		{Key: "k8s.namespace.name", Value: "team-a"}, {Key: "trainingjob.name", Value: "ring"}, {Key: "trainingjob.uid", Value: "a428809b-49e0-4f42-8e14-c8638c541bc6"},
		{Key: "trainingjob.framework", Value: "PyTorch"}, {Key: "trainingjob.attempt", Value: int64(0)},
		{Key: "trainingjob.slot", Value: "worker-3"}, {Key: "trainingjob.cause", Value: "Infrastructure"}, {Key: "trainingjob.reason", Value: "NodeLost"},
		{Key: "trainingjob.scope", Value: "Job"}, {Key: "trainingjob.charged", Value: false}, {Key: "trainingjob.followers", Value: int64(3)},
		{Key: "k8s.pod.name", Value: "ring-worker-3"}, {Key: "k8s.node.name", Value: "gpu-7"}, {Key: "trainingjob.exit_code", Value: int64(137)},
	}
	for _, s := range spans() {
		if s.Name != trace.Recovering {
			continue
		}
		if diff := cmp.Diff(want, s.Attributes); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		return
	}
	t.Error("there is no recovery")
}

// A recovery of one replica is a span of the job, which goes on running; a failed job's span has the reason.
func TestAReplicaRecoversAndTheJobFails(t *testing.T) {
	job := builder.Job("j", builder.Workers(2))
	job.CreationTimestamp, job.Status = at(0), status{Incidents: []v1alpha1.Incident{{Failure: v1alpha1.Failure{Role: "Worker", Index: 1, Pod: "j-worker-1", Time: at(5)}, Scope: "Replica", RestartTime: at(6)}}}
	next := job.Status.DeepCopy()
	now := at(9)
	next.Memory = v1alpha1.Memory{CountedTime: &now, Roles: map[v1alpha1.Role]v1alpha1.RoleMemory{"Worker": {Started: "1", Replacements: "1:1"}}}
	next.CompletionTime, next.Phase, next.Reason = &now, v1alpha1.PhaseFailed, "FatalExit"
	list := trace.Spans(history.Between(job, next, nil))
	if len(list) != 2 || list[0].Name != trace.Recovering || list[0].End.Sub(list[0].Start) != 4*time.Second || list[0].Parent != list[1].ID || list[1].Error != "FatalExit" {
		t.Errorf("%+v", list)
	}
	if job.Status = *next; len(trace.Spans(history.Between(job, next, nil))) != 0 {
		t.Error("spans of a status that was told already")
	}
}

// A replica comes back to a node that has been ill all along, and leaves it again: two recoveries, of which the second begins with the
// pod that the first has made.
func TestTwoFailuresThatBeganAtOnceAreTwoSpans(t *testing.T) {
	job := builder.Job("j", builder.Workers(2))
	ill := func(pod string, restart int) v1alpha1.Incident {
		return v1alpha1.Incident{Failure: v1alpha1.Failure{Role: "Worker", Index: 1, Pod: pod, Time: at(5)}, Scope: "Replica", RestartTime: at(restart)}
	}
	first, second := ill("j-worker-1", 6), ill("j-worker-1-a0r1", 20)
	recovery := func(end int, incidents ...v1alpha1.Incident) trace.Span {
		job.CreationTimestamp, job.Status = at(0), status{Incidents: incidents}
		next := job.Status.DeepCopy()
		now := at(end)
		next.Memory = v1alpha1.Memory{CountedTime: &now, Roles: map[v1alpha1.Role]v1alpha1.RoleMemory{"Worker": {Started: "1", Replacements: fmt.Sprintf("1:%d", len(incidents))}}}
		list := trace.Spans(history.Between(job, next, nil))
		if len(list) != 1 || list[0].Name != trace.Recovering {
			t.Fatalf("%+v", list)
		}
		return list[0]
	}
	one, other := recovery(9, first), recovery(30, second, first)
	if one.ID == other.ID || !one.Start.Equal(at(5).Time) || !other.Start.Equal(at(6).Time) || !other.End.Equal(at(30).Time) {
		t.Errorf("%+v and %+v", one, other)
	}
}

func TestAFailureWhoseClockIsAheadEndsTheAttemptWhenItIsSeen(t *testing.T) {
	job := builder.Job("j", builder.Workers(2))
	job.CreationTimestamp = at(0)
	set(&job.Status, "Running", "True", 10)
	next := job.Status.DeepCopy()
	set(next, "Running", "False", 20)
	next.Attempt = 1
	next.Incidents = []v1alpha1.Incident{{Failure: v1alpha1.Failure{Role: "Worker", Pod: "j-worker-0", Time: at(23)}, Scope: "Job", RestartTime: at(20)}}
	if list := trace.Spans(history.Between(job, next, nil)); len(list) != 1 || list[0].Name != trace.Running || !list[0].End.Equal(at(20).Time) {
		t.Errorf("%+v", list)
	}
}

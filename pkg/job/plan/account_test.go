package plan_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/test/sim/builder"
)

// books are the accounts of a status.
type books struct {
	Charged   int32
	Incidents []v1alpha1.Incident
	Budgets   []v1alpha1.Budget
	Avoided   []v1alpha1.AvoidedNode
	First     *v1alpha1.Failure
}

func booksOf(status *v1alpha1.TrainingJobStatus) books {
	return books{status.ChargedRestarts, status.Incidents, status.Budgets, status.AvoidedNodes, status.LastFailure}
}

// collective is a PyTorch job of three workers that have run since 10 s.
func collective(t *testing.T, options ...builder.JobOption) *v1alpha1.TrainingJob {
	t.Helper()
	return underWay(t, takenOn(t, append([]builder.JobOption{pytorch, builder.Workers(3)}, options...)...),
		builder.Running("worker", 0), builder.Running("worker", 1), builder.Running("worker", 2))
}

// An exit is charged. When its peer's node turns out to be lost, one status attributes the incident to the node and refunds the
// charge.
func TestAnIncidentAndWhatExplainsIt(t *testing.T) {
	one, past := int32(1), builder.Life(0, 0)
	exit := v1alpha1.Failure{Role: v1alpha1.Worker, Cause: v1alpha1.CauseRetryable, Pod: "j-worker-0", Node: "node-worker-0",
		ExitCode: &one, Reason: "Error", Time: builder.Time(30 * second)}
	first := v1alpha1.Incident{Failure: exit, Scope: v1alpha1.ScopeJob, Followers: 2, Charged: true, RestartTime: builder.Time(40 * second)}
	job := after(t, builder.Snapshot(collective(t), builder.Failed("worker", 0, builder.Exit(1)), builder.Running("worker", 1), builder.Running("worker", 2),
		builder.Now(40*second+700*time.Millisecond)))
	charged := books{1, []v1alpha1.Incident{first}, []v1alpha1.Budget{
		{Name: v1alpha1.BudgetRestarts, Used: 1, Limit: 10}}, nil, &exit}
	utc := cmp.Transformer("utc", func(t metav1.Time) time.Time { return t.UTC() })
	if diff := cmp.Diff(charged, booksOf(&job.Status), utc); diff != "" {
		t.Fatalf("the exit (-want +got):\n%s", diff)
	}
	loss := v1alpha1.Failure{Role: v1alpha1.Worker, Index: 1, Cause: v1alpha1.CauseInfrastructure, Pod: "j-worker-1", Node: lostNode,
		Reason: "NodeLost", Message: "not ready for 15s", Time: builder.Time(45 * second)}
	explained := first
	explained.Failure, explained.Charged, explained.Explained = loss, false, true
	job = after(t, builder.Snapshot(job, builder.Failed("worker", 0, builder.Exit(1), past), builder.Running("worker", 1, past), builder.NodeLost(lostNode, 45*second),
		builder.Now(61*second)))
	free := books{0, []v1alpha1.Incident{explained}, nil,
		[]v1alpha1.AvoidedNode{{Name: lostNode, Failures: 1, Reason: "NodeLost", ExpirationTime: builder.Time(24*time.Hour + 40*second)}}, &loss}
	if diff := cmp.Diff(free, booksOf(&job.Status), utc); diff != "" {
		t.Errorf("what explains it (-want +got):\n%s", diff)
	}
	if job.Status.Restarts != 1 || job.Status.Attempt != 1 {
		t.Errorf("%d restarts, attempt %d: an explanation restarts nothing", job.Status.Restarts, job.Status.Attempt)
	}
}

func TestIncidentsAreListedNewestFirst(t *testing.T) {
	job := takenOn(t, builder.Workers(4))
	for n := range 11 { // two at once each time: one incident
		job = after(t, builder.Snapshot(job, builder.Running("worker", 0), builder.Running("worker", 3), builder.Now(time.Duration(n+1)*time.Minute),
			builder.Failed("worker", 1, builder.Exit(int32(n+1)), builder.At(30*second)), builder.Failed("worker", 2, builder.Exit(int32(n+1)), builder.At(31*second)),
		))
	}
	var got []string
	for _, i := range job.Status.Incidents {
		got = append(got, fmt.Sprintf("worker-%d exit %d, %d followers, %s", i.Index, *i.ExitCode, i.Followers, i.Scope))
	}
	want := []string{"worker-1 exit 10, 1 followers, Replica", "worker-1 exit 9, 1 followers, Replica", "worker-1 exit 8, 1 followers, Replica"}
	if diff := cmp.Diff(want, got[:3]); diff != "" || len(got) != 10 || job.Status.Restarts != 10 {
		t.Errorf("%d restarts, %d incidents, the newest are (-want +got):\n%s", job.Status.Restarts, len(got), diff)
	}
	if job.Status.Phase != v1alpha1.PhaseFailed || job.Status.ChargedRestarts != 10 {
		t.Errorf("after 10 restarts the next failure leaves the job %s, %d charged", job.Status.Phase, job.Status.ChargedRestarts)
	}
}

// Of two incidents in one second only the explained one has an Event, and only one.
func TestAnExplanationIsToldOnceAndOfItsOwnIncident(t *testing.T) {
	exit := func(index int32) v1alpha1.Incident {
		return v1alpha1.Incident{Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Index: index, Cause: v1alpha1.CauseRetryable, Pod: fmt.Sprintf("j-worker-%d", index),
			Time: builder.Time(30 * second)}, Scope: v1alpha1.ScopeReplica, Charged: true, RestartTime: builder.Time(32 * second)}
	}
	job := builder.Job("j", builder.Workers(3), builder.StartedAt(0), builder.Incidents(exit(2), exit(1)), builder.Charged(v1alpha1.BudgetRestarts, 32*second, 32*second),
		builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "1-2:1"}))
	lost := seen(builder.Running("worker", 1, builder.Life(0, 0)), builder.NodeLost(lostNode, 40*second))
	s := builder.Snapshot(job, lost...)
	want := []plan.Event{
		{Type: normal, Reason: "IncidentExplained", Action: "Infrastructure",
			Message: "worker-1 on node-worker-1 lost its node (NodeLost: not ready for 15s): this explains the restart of 12:00:32 UTC. It is no longer charged."},
		{Type: warning, Reason: "NodeAvoided", Action: "NodeLost", Message: "New pods avoid node-worker-1 until 2026-01-06 12:00 UTC: NodeLost, failure 1."},
		{Type: warning, Reason: "NodeAvoided", Action: "NodeLost", Node: lostNode,
			Message: "TrainingJob team-a/j avoids this node until 2026-01-06 12:00 UTC: NodeLost."},
	}
	if diff := cmp.Diff(want, plan.Make(s).Events); diff != "" {
		t.Errorf("Events (-want +got):\n%s", diff)
	}
	again := plan.Make(builder.Snapshot(after(t, s), append(lost, builder.Now(2*time.Minute))...))
	if len(again.Events) > 0 || again.Status.ChargedRestarts != 1 || again.Status.Budgets[0].Used != 1 {
		t.Errorf("then %d are charged, budgets %v, Events %v", again.Status.ChargedRestarts, again.Status.Budgets, again.Events)
	}
}

// The pass that finds out that another rank failed first leaves the log of that rank.
func TestThePodThatLateEvidenceNamesStays(t *testing.T) {
	exit := v1alpha1.Incident{Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Cause: v1alpha1.CauseRetryable, Pod: "j-worker-0", ExitCode: ptr.To[int32](1), Reason: "Error",
		Time: builder.Time(30 * second)}, Scope: v1alpha1.ScopeJob, Charged: true, RestartTime: builder.Time(32 * second)}
	job := builder.Job("j", pytorch, builder.Workers(2), builder.StartedAt(0), created, builder.Attempt(1), builder.Incidents(exit), builder.Charged(v1alpha1.BudgetRestarts, 32*second),
		builder.Status(func(s *v1alpha1.TrainingJobStatus) { s.LastFailure = &exit.Failure }))
	p := plan.Make(builder.Snapshot(job, builder.Failed("worker", 1, builder.Exit(137), builder.At(20*second), builder.Life(0, 0)), builder.Now(34*second)))
	if p.Status.LastFailure.Pod != "j-worker-1" || slices.Contains(lines(p.Steps), "delete j-worker-1: its life is past") {
		t.Errorf("%s failed first, and the steps are %v", p.Status.LastFailure.Pod, p.Steps)
	}
}

func TestANodeThatWasForgivenIsToldWhenItIsAvoidedAgain(t *testing.T) {
	job := collective(t, builder.Avoided(lostNode, 30*second))
	isAvoided := func(e plan.Event) bool { return e.Reason == v1alpha1.EventNodeAvoided }
	pods := seen(builder.Running("worker", 0), builder.Running("worker", 1), builder.Running("worker", 2), builder.Now(time.Minute))
	if got := plan.Make(builder.Snapshot(job, pods...)).Events; slices.ContainsFunc(got, isAvoided) {
		t.Errorf("an expired node has an Event: %v", got)
	}
	if got := plan.Make(builder.Snapshot(job, append(pods, builder.NodeLost(lostNode, 40*second))...)).Events; !slices.ContainsFunc(got, isAvoided) {
		t.Errorf("a node that is avoided again has no Event: %v", got)
	}
}

// A template that names a node can get a rejection from a healthy one. The reason may be a forbidden sysctl, GPUs that another
// pod has, or a short toleration of another team's taint. The node gets no Event that would warn its other users.
func TestANodeIsToldOfWhatNoPodBringsAbout(t *testing.T) {
	failed := func(options ...builder.PodOption) builder.SnapshotOption {
		return builder.Failed("worker", 0, options...)
	}
	rejected := func(reason string) builder.SnapshotOption { return failed(builder.Rejected(reason, "")) }
	for reason, c := range map[string]struct {
		seen []builder.SnapshotOption
		want bool
	}{
		"NodeLost":                 {[]builder.SnapshotOption{builder.Running("worker", 0), builder.NodeLost("node-worker-0", 0)}, true},
		"NodeTainted":              {[]builder.SnapshotOption{builder.Running("worker", 0), builder.NodeTainted("node-worker-0", "broken", 0)}, true},
		"DeviceUnhealthy":          {[]builder.SnapshotOption{failed(builder.Unhealthy("nvidia.com/gpu", "7"))}, true},
		"DeletionByTaintManager":   {[]builder.SnapshotOption{builder.Deleted("worker", 0, builder.Disrupted("DeletionByTaintManager", 0))}, false},
		"UnexpectedAdmissionError": {[]builder.SnapshotOption{rejected("UnexpectedAdmissionError")}, false},
		"PreflightFailed":          {[]builder.SnapshotOption{failed(builder.FailedInit("preflight-a", 1))}, false},
		"NodeShutdown":             {[]builder.SnapshotOption{rejected("NodeShutdown")}, false},
		"SysctlForbidden":          {[]builder.SnapshotOption{rejected("SysctlForbidden")}, false},
		"OutOfcpu":                 {[]builder.SnapshotOption{rejected("OutOfcpu")}, false},
		"NodeAffinity":             {[]builder.SnapshotOption{rejected("NodeAffinity")}, false},
		"NodePorts":                {[]builder.SnapshotOption{rejected("NodePorts")}, false},
		"TopologyAffinityError":    {[]builder.SnapshotOption{rejected("TopologyAffinityError")}, false},
		"AppArmor":                 {[]builder.SnapshotOption{rejected("AppArmor")}, false},
	} {
		job := builder.Job("j", builder.Workers(1), builder.StartedAt(0))
		var onJob, onNode bool
		for _, e := range plan.Make(builder.Snapshot(job, c.seen...)).Events {
			if e.Reason == v1alpha1.EventNodeAvoided {
				onJob, onNode = onJob || e.Node == "", onNode || e.Node != ""
			}
		}
		if !onJob || onNode != c.want {
			t.Errorf("%s: Event on the job %v, want true; on the node %v, want %v", reason, onJob, onNode, c.want)
		}
	}
}

// Two exits of the program on a node concern only the job: the node gets no Event.
func TestANodeIsNotToldOfWhatTheProgramDidOnIt(t *testing.T) {
	exit := v1alpha1.Incident{Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Cause: v1alpha1.CauseRetryable, Reason: "Error", Node: "node-worker-0", Pod: "j-worker-0",
		Time: builder.Time(20 * second)}, Scope: v1alpha1.ScopeReplica, Charged: true, RestartTime: builder.Time(20 * second)}
	job := builder.Job("j", builder.Workers(1), builder.StartedAt(0), builder.Incidents(exit),
		builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "0:1"}))
	var about []string
	for _, e := range plan.Make(builder.Snapshot(job, builder.Failed("worker", 0, builder.Exit(1), builder.At(60*second)), builder.Now(60*second))).Events {
		if e.Reason == v1alpha1.EventNodeAvoided {
			about = append(about, "the job"+e.Node)
		}
	}
	if diff := cmp.Diff([]string{"the job"}, about); diff != "" {
		t.Errorf("Events %s are about (-want +got):\n%s", v1alpha1.EventNodeAvoided, diff)
	}
}

func TestNewPodsKeepOffAvoidedNodes(t *testing.T) {
	job := builder.Job("j", builder.Workers(1), builder.StartedAt(0), builder.Avoided("bad", time.Hour), builder.Avoided("forgiven", 30*second))
	var nodes []string
	for _, step := range plan.Make(builder.Snapshot(job)).Steps {
		affinity := plan.Pods(job)(step.(plan.CreatePod)).Spec.Affinity.NodeAffinity
		if affinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			t.Errorf("nodes are excluded: %+v", affinity)
		}
		for _, term := range affinity.PreferredDuringSchedulingIgnoredDuringExecution {
			for _, field := range term.Preference.MatchFields {
				nodes = append(nodes, field.Values...)
			}
		}
	}
	if diff := cmp.Diff([]string{"bad"}, nodes); diff != "" {
		t.Errorf("avoided (-want +got):\n%s", diff)
	}
	waits := plan.Make(builder.Snapshot(job, builder.Pending("worker", 0, builder.Unschedulable("no room")))).Status
	if want := "worker-0: no room"; waits.Message != want {
		t.Errorf("message %q, want %q", waits.Message, want)
	}
}

// A pod that waits for a node stays when the list of avoided nodes changes: the scheduler may put it on any of them.
func TestAPodThatWaitsForANodeStays(t *testing.T) {
	waits := builder.Pending("worker", 0, builder.UnschedulableSince(0, "no room"))
	for what, options := range map[string][]builder.JobOption{
		"a node is avoided":           {builder.Avoided("a", time.Hour)},
		"the node is avoided no more": {builder.Avoided("a", 30*second)},
		"none is":                     nil,
	} {
		job := builder.Job("j", append(options, builder.Workers(1), builder.StartedAt(0))...)
		if steps := plan.Make(builder.Snapshot(job, waits, builder.UnhealthyNodes("b"))).Steps; len(steps) > 0 {
			t.Errorf("%s: steps %v", what, lines(steps))
		}
	}
}

// A status of 10,000 replicas and 1,000 restarts, with every list full and every text as long as it gets, fits into 64 KiB.
func TestTheFullestStatusStaysSmall(t *testing.T) {
	var replaced, started []string
	for i := range 1000 {
		replaced = append(replaced, fmt.Sprintf("%d:1", i*9))
		started = append(started, fmt.Sprintf("%d-%d", i*9+1, i*9+8))
	}
	name, message := strings.Repeat("n", 60), strings.Repeat("e", 1024)
	incident := v1alpha1.Incident{Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Pod: name, Node: name, Cause: v1alpha1.CauseRetryable, Reason: "Error", Message: message}}
	full := builder.Status(func(status *v1alpha1.TrainingJobStatus) {
		for i := range 16 {
			status.AvoidedNodes = append(status.AvoidedNodes, v1alpha1.AvoidedNode{Name: fmt.Sprint(name, i), Reason: "UnexpectedAdmissionError", ExpirationTime: builder.Time(time.Hour)})
		}
		status.Incidents = slices.Repeat([]v1alpha1.Incident{incident}, 10)
	})
	job := builder.Job("j", builder.Workers(10_000), builder.StartedAt(0), builder.MaxRestarts(1000), full,
		builder.Charged(v1alpha1.BudgetRestarts, make([]time.Duration, 900)...), builder.Charged(v1alpha1.BudgetOOMRestarts, make([]time.Duration, 100)...),
		builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: strings.Join(replaced, ","), Succeeded: strings.Join(started, ",")}))
	got := plan.Make(builder.Snapshot(job, builder.Failed("worker", 9990, builder.ExitSaying(1, "Error", message)), builder.Pending("worker", 9991, builder.Unschedulable(message)))).Status
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 64<<10 || len(got.Incidents) != 10 || len(got.Budgets) != 2 {
		t.Errorf("the status has %d bytes, %d incidents, %d budgets", len(text), len(got.Incidents), len(got.Budgets))
	}
	t.Logf("%d bytes", len(text))
}

// A charge that is past its window leaves the status then, and not with the next incident.
func TestABudgetShowsNoChargesPastTheirWindow(t *testing.T) {
	job := underWay(t, takenOn(t, builder.Workers(1)), builder.Running("worker", 0))
	builder.Recovery(func(r *v1alpha1.Recovery) { r.WindowSeconds = ptr.To[int32](600) })(job)
	builder.Charged(v1alpha1.BudgetRestarts, 0, 100*second)(job)
	for at, want := range map[time.Duration]struct {
		used int32
		wake time.Duration
	}{599 * second: {2, 600 * second}, 600 * second: {1, 700 * second}, 700 * second: {0, 0}} {
		p := plan.Make(builder.Snapshot(job, builder.Running("worker", 0), builder.Now(at)))
		used := int32(0)
		for _, b := range p.Status.Budgets {
			used += b.Used
		}
		if used != want.used || wakeOf(p) != want.wake {
			t.Errorf("at %v: %d charges, again at %v, want %d and %v", at, used, wakeOf(p), want.used, want.wake)
		}
	}
}

package failure_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// incident is a restart that the job went through: worker-0 exited with code 1 at 30 s, and all were restarted 2 s later.
func incident(changes ...func(*v1alpha1.Incident)) v1alpha1.Incident {
	one := int32(1)
	i := v1alpha1.Incident{
		Failure: v1alpha1.Failure{Role: v1alpha1.Worker, Cause: v1alpha1.CauseRetryable, Pod: "j-worker-0", Node: "node-worker-0",
			ExitCode: &one, Reason: "Error", Time: builder.Time(30 * second)},
		Scope: v1alpha1.ScopeJob, Charged: true, RestartTime: builder.Time(32 * second),
	}
	for _, change := range changes {
		change(&i)
	}
	return i
}

// ofCause changes what the incident was taken for.
func ofCause(cause v1alpha1.Cause, charged bool) func(*v1alpha1.Incident) {
	return func(i *v1alpha1.Incident) { i.Cause, i.Charged = cause, charged }
}

// hung makes the incident a hang, of a rank on that node; empty if no stack shows one.
func hung(node string) func(*v1alpha1.Incident) {
	return func(i *v1alpha1.Incident) {
		i.Cause, i.Reason, i.ExitCode, i.Node = v1alpha1.CauseHang, v1alpha1.ReasonProgressStalled, nil, node
	}
}

// saying changes what the program said.
func saying(words string) func(*v1alpha1.Incident) {
	return func(i *v1alpha1.Incident) { i.Message = words }
}

// ofScope changes the scope of an incident.
func ofScope(scope v1alpha1.RestartScope) func(*v1alpha1.Incident) {
	return func(i *v1alpha1.Incident) { i.Scope = scope }
}

// explained are the amendments as the tables write them: "worker-2 Infrastructure NodeLost free".
func explained(s *state.Snapshot, orders ...failure.Restart) []string {
	var got []string
	for _, a := range failure.Explain(s, orders) {
		slot := state.Slot{Role: a.Is.Role, Index: int(a.Is.Index)}
		got = append(got, fmt.Sprintf("%s %s %s %s", slot, a.Is.Cause, a.Is.Reason, charge(&failure.Restart{Incident: a.Is, RuleMade: a.RuleMade})))
	}
	return got
}

type explainCase = row[[]string]

func checkExplained(t *testing.T, cases []explainCase) {
	t.Helper()
	check(t, cases, func(s *state.Snapshot) []string { return explained(s) })
}

// past is a pod of the attempt that the incident ended.
var past = builder.Life(0, 0)

func restarted(options ...builder.JobOption) *v1alpha1.TrainingJob {
	return builder.Job("j", append([]builder.JobOption{pytorch, builder.Workers(3), builder.Attempt(1), builder.StartedAt(0), builder.Incidents(incident())}, options...)...)
}

func TestALossThatShowsLateTakesTheIncidentOver(t *testing.T) {
	const node2 = "node-worker-2"
	running := builder.Running("worker", 2, past)
	window := func(seconds int32) builder.JobOption {
		return builder.Recovery(func(r *v1alpha1.Recovery) { r.IncidentWindowSeconds = &seconds })
	}
	checkExplained(t, []explainCase{
		{"a node that is lost within the incident window", restarted(), seen(running, builder.NodeLost(node2, 60*second), builder.Now(75*second)),
			[]string{"worker-2 Infrastructure NodeLost free"}},
		{"its pod is told to end by ourselves meanwhile", restarted(),
			seen(builder.Deleted("worker", 2, past, builder.DeletedAt(33*second)), builder.NodeLost(node2, 60*second), builder.Now(75*second)),
			[]string{"worker-2 Infrastructure NodeLost free"}},
		{"a node in trouble that is not lost yet", restarted(), seen(running, builder.NodeLost(node2, 60*second), builder.Now(74*second)), nil},
		{"a node that is lost after the window", restarted(), seen(running, builder.NodeLost(node2, 91*second), builder.Now(200*second)), nil},
		{"a node that is lost after the window, under a pod that was told to end within it", restarted(),
			seen(builder.Deleted("worker", 2, past, builder.DeletedAt(33*second)), builder.NodeLost(node2, 500*second), builder.Now(600*second)), nil},
		{"a longer window", restarted(window(300)), seen(running, builder.NodeLost(node2, 91*second), builder.Now(200*second)),
			[]string{"worker-2 Infrastructure NodeLost free"}},
		{"no window: a node lost later explains nothing", restarted(window(0)), seen(running, builder.NodeLost(node2, 40*second), builder.Now(75*second)), nil},
		{"no window: a node lost before explains it", restarted(window(0)), seen(running, builder.NodeLost(node2, 20*second), builder.Now(75*second)),
			[]string{"worker-2 Infrastructure NodeLost free"}},
		{"the clock of the rank's node is an hour behind", restarted(builder.Incidents(incident(func(i *v1alpha1.Incident) { i.Time = builder.Time(-time.Hour) }))),
			seen(running, builder.NodeLost(node2, 60*second), builder.Now(75*second)), []string{"worker-2 Infrastructure NodeLost free"}},
		{"it is an hour ahead, and the node is lost after the window", restarted(builder.Incidents(incident(func(i *v1alpha1.Incident) { i.Time = builder.Time(time.Hour) }))),
			seen(running, builder.NodeLost(node2, 200*second), builder.Now(300*second)), nil},
		{"a node that is deleted", restarted(), seen(running, builder.NodeDeleted(node2)), []string{"worker-2 Infrastructure NodeDeleted free"}},
		{"a pod that the taint manager evicted", restarted(),
			seen(builder.Deleted("worker", 2, past, builder.Disrupted("DeletionByTaintManager", 50*second))), []string{"worker-2 Infrastructure DeletionByTaintManager free"}},
		{"a drain that came first", restarted(),
			seen(builder.Deleted("worker", 2, past, builder.Disrupted("EvictionByEvictionAPI", 20*second))), []string{"worker-2 Infrastructure EvictionByEvictionAPI free"}},
		{"a drain that came later", restarted(),
			seen(builder.Deleted("worker", 2, past, builder.Disrupted("EvictionByEvictionAPI", 40*second), builder.DeletedAt(40*second))), nil},
		{"a preemption that came first", restarted(),
			seen(builder.Deleted("worker", 2, past, builder.Disrupted("PreemptionByScheduler", 20*second))), []string{"worker-2 Preempted PreemptionByScheduler free"}},
		{"a taint soon after the exit of the pod that the incident began with", restarted(),
			seen(builder.Failed("worker", 0, past, builder.Exit(1), builder.Disrupted("DeletionByTaintManager", 80*second)), builder.Now(300*second)),
			[]string{"worker-0 Infrastructure DeletionByTaintManager free"}},
		{"a taint long after it, when the pod is only kept for its log", restarted(),
			seen(builder.Failed("worker", 0, past, builder.Exit(1), builder.Disrupted("DeletionByTaintManager", 210*second)), builder.Now(300*second)), nil},
		{"a drain of that pod", restarted(),
			seen(builder.Failed("worker", 0, past, builder.Exit(1), builder.Disrupted("EvictionByEvictionAPI", 40*second)), builder.Now(300*second)), nil},
		{"a late taint on a pod that had failed before is none, but its exit is", restarted(),
			seen(builder.Failed("worker", 2, past, builder.Exit(1), builder.At(20*second), builder.Disrupted("DeletionByTaintManager", 210*second)), builder.Now(300*second)),
			[]string{"worker-2 Retryable Error charged"}},
		{"an end before it that its node has forgotten, as after a reboot", restarted(),
			seen(builder.Failed("worker", 2, past, builder.ExitSaying(255, "Unknown", ""), builder.At(20*second))), []string{"worker-2 Infrastructure Unknown free"}},
		{"a forgotten end of a pod that was told to end: clocks differ", restarted(),
			seen(builder.Failed("worker", 2, past, builder.ExitSaying(255, "Unknown", ""), builder.At(20*second), builder.DeletedAt(33*second))), nil},
		{"a forgotten end of a pod that was told to restart in place", restarted(),
			seen(builder.Failed("worker", 2, past, builder.ExitSaying(255, "Unknown", ""), builder.At(20*second), toldToRestart)), nil},
		{"the node of the pod that the incident began with", restarted(), seen(builder.Running("worker", 0, past), builder.NodeLost("node-worker-0", 50*second), builder.Now(75*second)),
			[]string{"worker-0 Infrastructure NodeLost free"}},
	})
}

// toldToRestart makes the pod one that was told to restart in place, and ended before it did.
var toldToRestart = builder.Edit(func(pod *corev1.Pod) {
	c := &pod.Status.ContainerStatuses[0]
	c.ContainerID = "containerd://a"
	pod.Annotations = map[string]string{v1alpha1.AnnotationInPlaceRestart: `{"life":"1-0","from":"0-0","process":"containerd://a","time":"2026-01-05T12:00:40Z"}`}
})

// A status lists the last incidents only. What was replaced before the whole job restarted, with an incident of its own that is not listed any
// more, does not explain that restart.
func TestAReplicaThatWasReplacedBeforeExplainsNothing(t *testing.T) {
	lost := builder.NodeLost("node-worker-2", 10*second)
	now := builder.Now(75 * second)
	fenced := builder.Deleted("worker", 2, past, builder.Fenced(), builder.DeletedAt(26*second))
	checkExplained(t, []explainCase{
		{"its next life is there", restarted(), seen(builder.Running("worker", 2, past), builder.Running("worker", 2, builder.Life(0, 1), builder.On("other")), lost, now), nil},
		{"its next life has ended", restarted(), seen(fenced, lost, now), nil},
		{"it was taken out of the Service by this restart", restarted(), seen(builder.Deleted("worker", 2, past, builder.Fenced(), builder.DeletedAt(32*second)), lost, now),
			[]string{"worker-2 Infrastructure NodeLost free"}},
		{"somebody else had told it to end", restarted(), seen(builder.Deleted("worker", 2, past, builder.DeletedAt(26*second)), lost, now),
			[]string{"worker-2 Infrastructure NodeLost free"}},
	})
}

// A restart that takes other replicas with it names one alone. The ends of the others are its own, and explain no later restart of that attempt.
func TestAReplicaThatFollowedAnEarlierFailureExplainsNothing(t *testing.T) {
	earlier := incident(ofScope(v1alpha1.ScopeReplica), func(i *v1alpha1.Incident) {
		i.Pod, i.Index, i.Time, i.RestartTime, i.Followers = "j-worker-1", 1, builder.Time(20*second), builder.Time(25*second), 1
	})
	alone := *earlier.DeepCopy()
	alone.Followers = 0
	after := func(earlier v1alpha1.Incident) *v1alpha1.TrainingJob {
		return restarted(builder.Incidents(incident(), earlier))
	}
	ended := func(at time.Duration) builder.SnapshotOption {
		return builder.Failed("worker", 2, past, builder.Exit(42), builder.At(at))
	}
	checkExplained(t, []explainCase{
		{"it ended before that restart", after(earlier), seen(ended(21 * second)), nil},
		{"it ended after that restart", after(earlier), seen(ended(26 * second)), []string{"worker-2 Retryable Error charged"}},
		{"that restart took no other replica along", after(alone), seen(ended(21 * second)), []string{"worker-2 Retryable Error charged"}},
	})
}

func TestAnEarlierExitThatIsReportedLate(t *testing.T) {
	early := func(code int32, at time.Duration, options ...builder.PodOption) builder.SnapshotOption {
		return builder.Failed("worker", 2, append(options, past, builder.Exit(code), builder.At(at))...)
	}
	oom := builder.Failed("worker", 2, past, builder.ExitSaying(137, "OOMKilled", ""), builder.At(20*second))
	evicted := func(at time.Duration) builder.SnapshotOption {
		return builder.Failed("worker", 2, past, builder.ExitSaying(137, "ContainerStatusUnknown", ""), builder.Rejected("Evicted", "too much"), builder.At(at), builder.DeletedAt(33*second))
	}
	seenAt := func(o *state.Observed) { o.Pods[0].EndSeen = builder.Epoch.Add(34 * second) }
	evictedOnly := builder.Failed("worker", 2, past, builder.RanBefore(), builder.Rejected("Evicted", "too much"), builder.DeletedAt(33*second))
	checkExplained(t, []explainCase{
		{"it is the true cause", restarted(), seen(early(1, 20*second)), []string{"worker-2 Retryable Error charged"}},
		{"it is charged to the budget of its own cause", restarted(), seen(oom), []string{"worker-2 OOM OOMKilled charged"}},
		{"the earliest of several", restarted(), seen(builder.Failed("worker", 1, past, builder.Exit(1), builder.At(25*second)), early(1, 20*second)),
			[]string{"worker-2 Retryable Error charged"}},
		{"a loss beats it", restarted(), seen(early(1, 20*second), builder.Running("worker", 1, past), builder.NodeLost(node1, 50*second), builder.Now(75*second)),
			[]string{"worker-1 Infrastructure NodeLost free"}},
		{"in the same second nobody knows which was first", restarted(), seen(early(1, 30*second)), nil},
		{"one in the same second that ran out of memory: the others lost it", restarted(),
			seen(builder.Failed("worker", 1, past, builder.ExitSaying(137, "OOMKilled", ""), builder.At(30*second))), []string{"worker-1 OOM OOMKilled charged"}},
		{"one that ran out of memory and was reaped a second later", restarted(),
			seen(builder.Failed("worker", 1, past, builder.ExitSaying(137, "OOMKilled", ""), builder.At(31*second))), []string{"worker-1 OOM OOMKilled charged"}},
		{"one that ran out of memory much later", restarted(),
			seen(builder.Failed("worker", 1, past, builder.ExitSaying(137, "OOMKilled", ""), builder.At(33*second))), nil},
		{"one in the same second that was killed", restarted(), seen(early(137, 30*second)), []string{"worker-2 Retryable Error charged"}},
		{"one in the same second that was told to end", restarted(), seen(early(143, 30*second)), nil},
		{"one in the same second with a code of its own", restarted(), seen(early(42, 30*second)), []string{"worker-2 Retryable Error charged"}},
		{"one in the same second with a code that another has, too", restarted(),
			seen(early(42, 30*second), builder.Failed("worker", 1, past, builder.Exit(42), builder.At(30*second))), nil},
		{"one with a code of its own that was told to end after the restart", restarted(), seen(early(42, 30*second, builder.DeletedAt(41*second))),
			[]string{"worker-2 Retryable Error charged"}},
		{"one that ended in the second of the restart: the request to end may have caused that exit", restarted(),
			seen(builder.Failed("worker", 2, past, builder.ExitSaying(42, "Error", "ValueError"), builder.At(32*second), builder.DeletedAt(32*second))), nil},
		{"one of several that were told to end, the others of which exit otherwise", restarted(), seen(early(42, 30*second, builder.DeletedAt(41*second)),
			builder.Failed("worker", 1, past, builder.Exit(1), builder.At(30*second), builder.DeletedAt(41*second))), []string{"worker-2 Retryable Error charged"}},
		{"an earlier one that was told to end: clocks differ", restarted(), seen(early(1, 20*second, builder.DeletedAt(41*second))), nil},
		{"an earlier one, seen soon after it", restarted(), seen(early(1, 29*second, builder.DeletedAt(32*second)), seenAt), []string{"worker-2 Retryable Error charged"}},
		{"one that was earlier only by a slow clock", restarted(), seen(early(1, 25*second, builder.DeletedAt(32*second)), seenAt), nil},
		{"one with a code of its own, which a busy kubelet or a slow clock shows late: no request ends a program so", restarted(),
			seen(early(7, 25*second, builder.DeletedAt(32*second)), seenAt), []string{"worker-2 Retryable Error charged"}},
		{"a kill that shows as late: the kubelet may have killed it as its pod was deleted", restarted(), seen(early(137, 25*second, builder.DeletedAt(32*second)), seenAt), nil},
		{"one that ended without a word, as the restart ends programs, beside a kill", restarted(builder.Incidents(incident(func(i *v1alpha1.Incident) { i.ExitCode = ptr.To[int32](137) }))),
			seen(early(1, 29*second, builder.DeletedAt(32*second)), seenAt), nil},
		{"an earlier one that was told to restart in place", restarted(), seen(early(143, 20*second, toldToRestart)), nil},
		{"one that ran out of memory, after an earlier exit was taken for the cause", restarted(builder.Incidents(incident(func(i *v1alpha1.Incident) { i.Explained = true }))),
			seen(builder.Failed("worker", 1, past, builder.ExitSaying(137, "OOMKilled", ""), builder.At(30*second))), []string{"worker-1 OOM OOMKilled charged"}},
		{"a later one is a consequence", restarted(), seen(early(1, 31*second)), nil},
		{"one with code 0 says nothing", restarted(), seen(builder.Succeeded("worker", 2, past, builder.At(20*second))), nil},
		{"an eviction seconds later, which a busy kubelet reports late", restarted(), seen(evicted(40 * second)), []string{"worker-2 Retryable Evicted charged"}},
		{"of a pod that was gone before its end was reported", restarted(), seen(evictedOnly, seenAt), []string{"worker-2 Retryable Evicted charged"}},
		{"of one that a rule calls a loss", restarted(builder.Rules(rule{Reasons: []string{"Evicted"}, Cause: v1alpha1.CauseInfrastructure})), seen(evictedOnly, seenAt),
			[]string{"worker-2 Infrastructure Evicted free by rule"}},
		{"an eviction much later", restarted(), seen(evicted(45 * second)), nil},
		{"an eviction explains no error of the program's own", restarted(builder.Incidents(incident(func(i *v1alpha1.Incident) { i.Message = "ValueError: batch 17 is empty" }))),
			seen(evicted(40 * second)), nil},
		{"nor does a loss elsewhere explain an eviction", restarted(builder.Incidents(incident(func(i *v1alpha1.Incident) { i.Reason = "Evicted" }))),
			seen(builder.Running("worker", 1, past), builder.NodeLost(node1, 50*second), builder.Now(75*second)), nil},
		{"a hang: all ranks ran until its restart ended them", restarted(builder.Incidents(incident(func(i *v1alpha1.Incident) {
			i.Cause, i.Reason, i.ExitCode = v1alpha1.CauseHang, v1alpha1.ReasonProgressStalled, nil
		}))), seen(early(1, 28*second, builder.DeletedAt(32*second))), nil},
		{"SIGTERM of an agent's ranks", restarted(), seen(builder.Failed("worker", 2, past, builder.ExitSaying(1, "Error", "Signal 15 (SIGTERM) received by PID 32"),
			builder.At(28*second), builder.DeletedAt(32*second))), nil},
		{"SIGTERM of a pod that was deleted", restarted(), seen(early(143, 28*second, builder.DeletedAt(32*second))), nil},
		{"the incident and what its pod shows now are one end, not two with one code", restarted(builder.Rules(rule{Cause: v1alpha1.CauseOOM}),
			builder.Incidents(incident(func(i *v1alpha1.Incident) {
				i.Cause, i.Reason, i.ExitCode = v1alpha1.CauseOOM, v1alpha1.ReasonNodeLost, nil
			}))),
			seen(builder.Running("worker", 0, past), builder.NodeLost("node-worker-0", 30*second), early(1, 30*second), builder.Now(75*second)), nil},
		{"a rule says what it is", restarted(builder.Rules(rule{ExitCodes: []int32{7}, Cause: v1alpha1.CauseInfrastructure})), seen(early(7, 20*second)),
			[]string{"worker-2 Infrastructure Error free by rule"}},
	})
}

func TestWhatExplainsNothing(t *testing.T) {
	lostNode := seen(builder.NodeLost("node-worker-2", 40*second), builder.Now(75*second))
	with := func(options ...builder.SnapshotOption) []builder.SnapshotOption { return append(options, lostNode...) }
	running := builder.Running("worker", 2, past)
	of := func(changes ...func(*v1alpha1.Incident)) builder.JobOption {
		return builder.Incidents(incident(changes...))
	}
	known := incident(func(i *v1alpha1.Incident) {
		i.Pod, i.Time, i.RestartTime = "j-worker-2", builder.Time(5*second), builder.Time(10*second)
	})
	checkExplained(t, []explainCase{
		{"nothing happened since", restarted(), seen(builder.Failed("worker", 0, past, builder.Exit(1))), nil},
		{"its node has forgotten what was known of it", restarted(), seen(builder.Failed("worker", 0, past, builder.ExitSaying(137, "ContainerStatusUnknown", ""), builder.At(35*second))), nil},
		{"a pod that we deleted", restarted(), seen(builder.Deleted("worker", 2, past, builder.DeletedAt(32*second))), nil},
		{"a pod that we deleted, and that ended of it", restarted(),
			seen(builder.Failed("worker", 2, past, builder.Exit(143), builder.At(34*second), builder.DeletedAt(32*second))), nil},
		{"a drain of the replica itself that began after its restart", restarted(of(ofCause(v1alpha1.CauseStartup, true), func(i *v1alpha1.Incident) {
			i.Reason, i.ExitCode, i.Time = v1alpha1.ReasonStartupDeadline, nil, builder.Time(32*second)
		})), seen(builder.Running("worker", 0, past, builder.Disrupted("EvictionByEvictionAPI", 34*second))), nil},
		{"a pod of the present attempt", restarted(), with(builder.Running("worker", 2)), nil},
		{"a pod of an attempt before", restarted(builder.Attempt(2), of(func(i *v1alpha1.Incident) { i.Attempt = 1 })), with(running), nil},
		{"a replica that scaling took away", restarted(builder.Workers(2), builder.Elastic(1, 4)), with(running), nil},
		{"a culprit of another incident that is kept for its log", restarted(builder.Incidents(incident(), known)),
			seen(builder.Failed("worker", 2, past, builder.Exit(1), builder.At(5*second))), nil},
		{"a node that is deleted two minutes after the exit there: a side-car ran until then", restarted(),
			seen(builder.Running("worker", 0, past, builder.Exit(1)), builder.Now(150*second), builder.NodeDeleted("node-worker-0")), nil},
		{"a pod that never started", restarted(), seen(builder.Pending("worker", 2, past, builder.Disrupted("EvictionByEvictionAPI", 20*second))), nil},
		{"an evaluator, who is nobody's peer", restarted(builder.Evaluators(1)), seen(builder.Running("evaluator", 0, past),
			builder.NodeLost("node-evaluator-0", 40*second), builder.Now(75*second)), nil},
		{"an incident that was explained as a consequence", restarted(of(func(i *v1alpha1.Incident) { i.Explained, i.Charged = true, false })), with(running), nil},
		{"an incident that was a loss from the beginning", restarted(of(ofCause(v1alpha1.CauseInfrastructure, false))), with(running), nil},
		{"an evaluator's own incident", restarted(of(func(i *v1alpha1.Incident) { i.Role = v1alpha1.Evaluator })), with(running), nil},
	})
}

func TestNarrowIncidentsAreExplainedByTheirOwnPods(t *testing.T) {
	base := func(scope v1alpha1.RestartScope, replacements string) *v1alpha1.TrainingJob {
		return builder.Job("j", builder.Workers(3), builder.PS(1), builder.StartedAt(0), builder.Incidents(incident(ofScope(scope))),
			builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: replacements}))
	}
	lostNode := func(slot string) builder.SnapshotOption { return builder.NodeLost("node-"+slot, 40*second) }
	now := builder.Now(75 * second)
	checkExplained(t, []explainCase{
		{"a replica by its own", base(v1alpha1.ScopeReplica, "0:1"), seen(builder.Running("worker", 0, past), lostNode("worker-0"), now),
			[]string{"worker-0 Infrastructure NodeLost free"}},
		{"not by another's", base(v1alpha1.ScopeReplica, "0-1:1"), seen(builder.Running("worker", 1, past), lostNode("worker-1"), now), nil},
		{"a role by any of its pods", base(v1alpha1.ScopeRole, "0-2:1"), seen(builder.Running("worker", 2, past), lostNode("worker-2"), now),
			[]string{"worker-2 Infrastructure NodeLost free"}},
		{"not by those that were replaced once more since", base(v1alpha1.ScopeRole, "0-1:1,2:2"), seen(builder.Running("worker", 2, past), lostNode("worker-2"), now), nil},
		{"the first of two restarts by a loss that shows late", builder.Job("j", builder.Workers(3), builder.StartedAt(0),
			builder.Incidents(incident(ofScope(v1alpha1.ScopeRole), func(i *v1alpha1.Incident) {
				i.Pod, i.Time, i.RestartTime = "j-worker-1-a0r1", builder.Time(50*second), builder.Time(52*second)
			}), incident(ofScope(v1alpha1.ScopeRole))), builder.Remember(v1alpha1.Worker, v1alpha1.RoleMemory{Replacements: "0-2:2"})),
			seen(builder.Running("worker", 2, past), lostNode("worker-2"), now), []string{"worker-2 Infrastructure NodeLost free"}},
		{"nor by another role's", base(v1alpha1.ScopeRole, "0-2:1"), seen(builder.Running("ps", 0), lostNode("ps-0"), now), nil},
	})
}

// A parameter server that is lost takes its workers with it; those that failed for want of it shortly before are not to blame.
// A worker of an asynchronous job restarts alone. Its pod stays for its log, and its exit explains nothing of a server that ends seconds later.
func TestAWorkerExplainsNoEndOfItsParameterServer(t *testing.T) {
	job := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		ofServer := incident(ofCause(v1alpha1.CauseOOM, true), func(i *v1alpha1.Incident) {
			i.Role, i.Pod, i.Node, i.Reason = v1alpha1.PS, "j-ps-0", "node-ps-0", "OOMKilled"
		})
		return builder.Job("j", append([]builder.JobOption{tensorflow, builder.PS(1), builder.Workers(4), builder.Attempt(1), builder.StartedAt(0),
			builder.Incidents(ofServer)}, options...)...)
	}
	worker := seen(builder.Failed("worker", 2, past, builder.Exit(42), builder.At(26*second)))
	checkExplained(t, []explainCase{
		{"it was replaced before", job(), worker, nil},
		{"a rule has it restart the whole job", job(builder.Rules(rule{ExitCodes: []int32{42}, Scope: v1alpha1.ScopeJob})), worker, []string{"worker-2 Retryable Error charged"}},
	})
}

func TestAParameterServerExplainsItsWorkersFailures(t *testing.T) {
	lostPS := func(at time.Duration, reason string) failure.Restart {
		return failure.Restart{Incident: v1alpha1.Incident{Scope: v1alpha1.ScopeJob, Failure: v1alpha1.Failure{
			Role: v1alpha1.PS, Cause: v1alpha1.CauseInfrastructure, Reason: reason, Time: builder.Time(at)}}}
	}
	exits := lostPS(40*second, "Error")
	exits.Cause, exits.Charged = v1alpha1.CauseRetryable, true
	early := incident(ofScope(v1alpha1.ScopeReplica), func(i *v1alpha1.Incident) { i.Time, i.RestartTime = builder.Time(23*second), builder.Time(24*second) })
	narrow := lostPS(40*second, "NodeLost")
	narrow.Scope = v1alpha1.ScopeReplica
	free := []string{"worker-0 Retryable Error free"}
	whole, ofBefore := incident(), incident(ofScope(v1alpha1.ScopeReplica))
	ofBefore.Attempt = -1
	cases := []struct {
		name  string
		was   v1alpha1.Incident
		order failure.Restart
		want  []string
	}{
		{"a node lost within the window", incident(ofScope(v1alpha1.ScopeReplica)), lostPS(80*second, "NodeLost"), free},
		{"a node lost after the window", incident(ofScope(v1alpha1.ScopeReplica)), lostPS(91*second, "NodeLost"), nil},
		{"a drain that came first", incident(ofScope(v1alpha1.ScopeReplica)), lostPS(30*second, "EvictionByEvictionAPI"), free},
		{"a drain that came later", incident(ofScope(v1alpha1.ScopeReplica)), lostPS(31*second, "EvictionByEvictionAPI"), nil},
		{"one that exits seconds later", incident(ofScope(v1alpha1.ScopeReplica)), exits, free},
		{"one that exits after more than ten seconds", early, exits, nil},
		{"one that is replaced alone explains nothing", incident(ofScope(v1alpha1.ScopeReplica)), narrow, nil},
		{"a restart of the whole job was no consequence", whole, lostPS(40*second, "NodeLost"), nil},
		{"a restart in an earlier attempt was none", ofBefore, lostPS(40*second, "NodeLost"), nil},
		{"what was not charged is not given back", incident(ofScope(v1alpha1.ScopeReplica), ofCause(v1alpha1.CauseInfrastructure, false)), lostPS(40*second, "NodeLost"), nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			job := builder.Job("j", tensorflow, builder.Workers(2), builder.PS(1), builder.StartedAt(0), builder.Incidents(c.was))
			s := builder.Snapshot(job, builder.Now(35*second))
			if diff := cmp.Diff(c.want, explained(s, c.order)); diff != "" {
				t.Errorf("explained (-want +got):\n%s", diff)
			}
			for _, a := range failure.Explain(s, []failure.Restart{c.order}) {
				want := "worker-0 on node-worker-0 exited with code 1 (Error) about when ps-0 broke: that explains the restart of 12:00:32 UTC. It is no longer charged."
				if a.Message != want {
					t.Errorf("message %q, want %q", a.Message, want)
				}
			}
		})
	}
}

// Ranks of an elastic job are replaced alone, but need each other.
func TestALostRankExplainsItsPeersFailures(t *testing.T) {
	lost := failure.Restart{Incident: v1alpha1.Incident{Scope: v1alpha1.ScopeReplica, Failure: v1alpha1.Failure{
		Role: v1alpha1.Worker, Index: 2, Cause: v1alpha1.CauseInfrastructure, Reason: v1alpha1.ReasonNodeLost, Time: builder.Time(80 * second)}}}
	for framework, want := range map[v1alpha1.Framework][]string{v1alpha1.PyTorch: {"worker-0 Retryable Error free"}, v1alpha1.Custom: nil} {
		job := builder.Job("j", builder.Framework(framework), builder.Workers(3), builder.Elastic(1, 3), builder.StartedAt(0),
			builder.Incidents(incident(ofScope(v1alpha1.ScopeReplica))))
		if diff := cmp.Diff(want, explained(builder.Snapshot(job), lost)); diff != "" {
			t.Errorf("%s: explained (-want +got):\n%s", framework, diff)
		}
	}
}

// A device breaks first, and who watches it says so later: an exit on a node that says within the window that it is unhealthy is not charged.
func TestANodeThatSaysLaterThatItIsUnhealthyExplainsAnExit(t *testing.T) {
	free := []string{"worker-0 Retryable Error free"}
	indifferent := builder.Recovery(func(r *v1alpha1.Recovery) { r.AvoidNodesSeconds = new(int32) })
	unhealthy := func(node string, at time.Duration) builder.SnapshotOption {
		return builder.NodeUnhealthy(node, "GpuMemWatch", "[79]", at)
	}
	cases := []struct {
		name      string
		was       v1alpha1.Incident
		job       builder.JobOption
		unhealthy builder.SnapshotOption
		want      []string
	}{
		{"within the window", incident(), builder.Workers(2), unhealthy("node-worker-0", 90*second), free},
		{"shortly before", incident(), builder.Workers(2), unhealthy("node-worker-0", 20*second), free},
		{"after the window", incident(), builder.Workers(2), unhealthy("node-worker-0", 91*second), nil},
		{"it is said since long ago, and the job stayed", incident(), builder.Workers(2), unhealthy("node-worker-0", -31*second), nil},
		{"another node, whose rank may have failed first", incident(), builder.Workers(2), unhealthy("node-worker-1", 40*second), free},
		{"another node, which was unhealthy before", incident(), builder.Workers(2), unhealthy("node-worker-1", 28*second), nil},
		{"another node, and one replica restarts alone", incident(ofScope(v1alpha1.ScopeReplica)), builder.Workers(2), unhealthy("node-worker-1", 40*second), nil},
		{"a hang of the rank there, as its stacks show", incident(hung("node-worker-0")), builder.Workers(2), unhealthy("node-worker-0", 40*second), []string{"worker-0 Hang ProgressStalled free"}},
		{"a hang of the rank there, and another node is unhealthy", incident(hung("node-worker-0")), builder.Workers(2), unhealthy("node-worker-1", 40*second), nil},
		{"a hang that no stack shows", incident(hung("")), builder.Workers(2), unhealthy("node-worker-0", 40*second), nil},
		{"it ran out of memory", incident(ofCause(v1alpha1.CauseOOM, true)), builder.Workers(2), unhealthy("node-worker-0", 40*second), nil},
		{"it was not charged", incident(ofCause(v1alpha1.CauseRetryable, false)), builder.Workers(2), unhealthy("node-worker-0", 40*second), nil},
		{"a job that avoids no nodes", incident(), indifferent, unhealthy("node-worker-0", 40*second), nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			job := builder.Job("j", pytorch, builder.Workers(2), builder.StartedAt(0), builder.Attempt(1), builder.Incidents(c.was), c.job)
			s := builder.Snapshot(job, c.unhealthy)
			if diff := cmp.Diff(c.want, explained(s)); diff != "" {
				t.Fatalf("explained (-want +got):\n%s", diff)
			}
			for _, a := range failure.Explain(s, nil) {
				want := fmt.Sprintf("%s, and %s is unhealthy (GpuMemWatch: [79]): this explains the restart of 12:00:32 UTC. It is no longer charged.",
					failure.Describe(&c.was.Failure), s.Nodes[0].Name)
				if a.Message != want {
					t.Errorf("message %q, want %q", a.Message, want)
				}
			}
		})
	}
}

package nodes_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

const hour = time.Hour

// on is an incident that began on a node, restarted at that time.
func on(node, reason string, cause v1alpha1.Cause, at time.Duration) v1alpha1.Incident {
	return v1alpha1.Incident{Failure: v1alpha1.Failure{Node: node, Reason: reason, Cause: cause}, RestartTime: builder.Time(at)}
}

// exitOn is an incident that began with an exit on a node.
func exitOn(node string, at time.Duration) v1alpha1.Incident {
	return on(node, "Error", v1alpha1.CauseRetryable, at)
}

// killedOn is an incident that began with the end of a program by SIGTERM.
func killedOn(node string, at time.Duration) v1alpha1.Incident {
	i := exitOn(node, at)
	i.ExitCode = ptr.To[int32](143)
	return i
}

// consequence makes the incident one that a loss elsewhere explains.
func consequence(i v1alpha1.Incident) v1alpha1.Incident {
	i.Explained = true
	return i
}

// byRule makes the incident an exit that a rule of the user calls a loss.
func byRule(i v1alpha1.Incident) v1alpha1.Incident {
	if i.Cause = v1alpha1.CauseInfrastructure; i.ExitCode == nil {
		i.ExitCode = ptr.To[int32](77)
	}
	return i
}

func saying(words string, i v1alpha1.Incident) v1alpha1.Incident {
	i.Message = words
	return i
}

// avoidedFor says that the job avoids node a for two failures of that reason.
func avoidedFor(reason string) builder.JobOption {
	return builder.Status(func(status *v1alpha1.TrainingJobStatus) {
		status.AvoidedNodes = []v1alpha1.AvoidedNode{{Name: "a", Failures: 2, Reason: reason, ExpirationTime: builder.Time(hour)}}
	})
}

// failedOn says that a failure counts against the node.
func failedOn(node string, at time.Duration) builder.JobOption {
	return builder.Status(func(status *v1alpha1.TrainingJobStatus) {
		status.Memory.NodeFailures = []v1alpha1.NodeFailures{{Node: node, Times: []metav1.Time{builder.Time(at)}}}
	})
}

// avoidedBy is what the job avoids: "node: failures, reason, expiration time", times after Epoch.
func avoidedBy(job *v1alpha1.TrainingJob, now time.Duration, incidents ...v1alpha1.Incident) []string {
	return listed(avoided(builder.Snapshot(job, builder.Now(now)), incidents, nil))
}

func avoided(s *state.Snapshot, incidents []v1alpha1.Incident, amendments []failure.Amendment) []v1alpha1.AvoidedNode {
	_, list := nodes.Blamed(s, incidents, amendments)
	return list
}

func listed(nodes []v1alpha1.AvoidedNode) []string {
	var got []string
	for _, n := range nodes {
		got = append(got, fmt.Sprintf("%s: %d, %s, %v", n.Name, n.Failures, n.Reason, n.ExpirationTime.Sub(builder.Epoch)))
	}
	return got
}

func TestNodesAreAvoided(t *testing.T) {
	infrastructure := v1alpha1.CauseInfrastructure
	ttl := func(seconds int32) builder.JobOption {
		return builder.Recovery(func(r *v1alpha1.Recovery) { r.AvoidNodesSeconds = &seconds })
	}
	job := func(options ...builder.JobOption) *v1alpha1.TrainingJob {
		return builder.Job("j", append(options, builder.Workers(2))...)
	}
	cases := []struct {
		name      string
		job       *v1alpha1.TrainingJob
		now       time.Duration
		incidents []v1alpha1.Incident
		want      []string
	}{
		{"a node that was lost, at once", job(), 0, []v1alpha1.Incident{on("a", "NodeLost", infrastructure, 0)}, []string{"a: 1, NodeLost, 24h0m0s"}},
		{"a node with one exit is not", job(), 0, []v1alpha1.Incident{exitOn("a", 0)}, nil},
		{"a node with two exits is, from the second on", job(), 60 * second, []v1alpha1.Incident{exitOn("a", 60*second), exitOn("a", 0)},
			[]string{"a: 2, Error, 24h1m0s"}},
		{"a node with an exit and a container that would not start", job(), 60 * second,
			[]v1alpha1.Incident{on("a", "StartError", v1alpha1.CauseStartup, 60*second), exitOn("a", 0)}, []string{"a: 2, StartError, 24h1m0s"}},
		{"a node with exits and a command that its image lacks is not", job(), 60 * second,
			[]v1alpha1.Incident{saying(builder.NoProgram, on("a", "StartError", v1alpha1.CauseRetryable, 60*second)), exitOn("a", 0)}, nil},
		{"a node with two exits is, whatever happened elsewhere", job(), 90 * second,
			[]v1alpha1.Incident{exitOn("a", 90*second), exitOn("b", 60*second), exitOn("a", 0)}, []string{"a: 2, Error, 24h1m30s"}},
		{"an exit on another node changes nothing", job(avoidedFor("Error")), 90 * second,
			[]v1alpha1.Incident{exitOn("b", 90*second)}, []string{"a: 2, Error, 1h0m0s"}},
		{"exits that a loss elsewhere explains", job(), 60 * second, []v1alpha1.Incident{consequence(exitOn("a", 60*second)), consequence(exitOn("a", 0))}, nil},
		{"exits that a rule calls losses, although one showed late", job(), 60 * second,
			[]v1alpha1.Incident{consequence(byRule(exitOn("a", 60*second))), byRule(exitOn("a", 0))},
			[]string{"a: 2, Error, 24h1m0s"}},
		{"two exits on two nodes are nobody's fault", job(), 60 * second, []v1alpha1.Incident{exitOn("a", 60*second), exitOn("b", 0)}, nil},
		{"two exits further apart than that time are none", job(ttl(60)), 100 * second, []v1alpha1.Incident{exitOn("a", 100*second), exitOn("a", 30*second)}, nil},
		{"a node with two reboots", job(), 60 * second, []v1alpha1.Incident{on("a", "Unknown", infrastructure, 60*second), on("a", "Unknown", infrastructure, 0)},
			[]string{"a: 2, Unknown, 24h1m0s"}},
		{"a node with two exits that a rule of the user calls losses", job(), 60 * second, []v1alpha1.Incident{byRule(exitOn("a", 60*second)), byRule(exitOn("a", 0))},
			[]string{"a: 2, Error, 24h1m0s"}},
		{"a node with two hangs for which the stacks blame a rank there", job(), 60 * second,
			[]v1alpha1.Incident{on("a", "ProgressStalled", v1alpha1.CauseHang, 60*second), on("a", "ProgressStalled", v1alpha1.CauseHang, 0)},
			[]string{"a: 2, ProgressStalled, 24h1m0s"}},
		{"a node with an exit that the status lists no more", job(failedOn("a", 0)), 60 * second, []v1alpha1.Incident{exitOn("a", 60*second)},
			[]string{"a: 2, Error, 24h1m0s"}},
		{"a node with an exit that is counted already", job(failedOn("a", 60*second)), 60 * second, []v1alpha1.Incident{exitOn("a", 60*second)}, nil},
		{"a drain is somebody's decision", job(), 0, []v1alpha1.Incident{on("a", "EvictionByEvictionAPI", infrastructure, 0),
			on("a", "EvictionByEvictionAPI", infrastructure, 0)}, nil},
		{"so are a preemption and a deletion", job(), 0, []v1alpha1.Incident{on("a", "PreemptionByScheduler", v1alpha1.CausePreempted, 0),
			on("a", "Deleted", infrastructure, 0)}, nil},
		{"memory that is used up is the program's fault", job(), 0, []v1alpha1.Incident{on("a", "OOMKilled", v1alpha1.CauseOOM, 0),
			on("a", "OOMKilled", v1alpha1.CauseOOM, 0)}, nil},
		{"what the kubelet may have ended for a probe says nothing of the node", job(), 60 * second,
			[]v1alpha1.Incident{killedOn("a", 60*second), killedOn("a", 0)}, nil},
		{"nor do ends that may be the kubelet's and that a rule calls losses", job(), 60 * second,
			[]v1alpha1.Incident{byRule(killedOn("a", 60*second)), byRule(killedOn("a", 0))}, nil},
		{"nor does an end for a limit of the template's own", job(), 60 * second, []v1alpha1.Incident{on("a", "DeadlineExceeded", v1alpha1.CauseRetryable, 60*second),
			on("a", "DeadlineExceeded", v1alpha1.CauseRetryable, 0), on("a", "Evicted", v1alpha1.CauseRetryable, 0)}, nil},
		{"an incident of no node", job(), 0, []v1alpha1.Incident{on("", "NodeLost", infrastructure, 0)}, nil},
		{"0 avoids none", job(ttl(0)), 0, []v1alpha1.Incident{on("a", "NodeLost", infrastructure, 0)}, nil},
		{"a node is forgiven after that time", job(builder.Avoided("a", hour)), hour, nil, nil},
		{"and not before", job(builder.Avoided("a", hour)), hour - second, nil, []string{"a: 1, , 1h0m0s"}},
		{"another incident avoids it for longer", job(builder.Avoided("a", hour)), hour - second, []v1alpha1.Incident{on("a", "NodeLost", infrastructure, hour-second)},
			[]string{"a: 1, NodeLost, 24h59m59s"}},
		{"an incident that is remembered changes nothing", job(builder.Avoided("a", 24*hour)), hour, []v1alpha1.Incident{on("a", "NodeLost", infrastructure, 0)},
			[]string{"a: 1, , 24h0m0s"}},
		{"nodes are sorted by name", job(builder.Avoided("c", hour), builder.Avoided("a", hour)), 0, []v1alpha1.Incident{on("b", "NodeLost", infrastructure, 0)},
			[]string{"a: 1, , 1h0m0s", "b: 1, NodeLost, 24h0m0s", "c: 1, , 1h0m0s"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, avoidedBy(c.job, c.now, c.incidents...)); diff != "" {
				t.Errorf("avoided (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAFaultOfTheNodeCountsAtOnce(t *testing.T) {
	for _, reason := range []string{"DeviceUnhealthy", "PreflightFailed", "UnexpectedAdmissionError", "DeletionByTaintManager", "TopologyAffinityError",
		"OutOfnvidia.com/gpu", "NodeAffinity", "TerminationByKubelet"} {
		got := avoidedBy(builder.Job("j", builder.Workers(2)), 0, on("a", reason, v1alpha1.CauseInfrastructure, 0))
		if want := "a: 1, " + reason + ", 24h0m0s"; !slices.Equal(got, []string{want}) {
			t.Errorf("the job avoids %v, want %s", got, want)
		}
	}
}

// The first impression named a follower on node a; then it shows that the pod on b failed first, or was lost.
func TestAFailureGoesWithTheIncidentThatIsExplained(t *testing.T) {
	first := exitOn("a", 60*second)
	first.Charged = true
	cases := []struct {
		name   string
		reason string
		is     v1alpha1.Incident
		want   []string
	}{
		{"an earlier exit on another node", "Error", v1alpha1.Incident{Failure: exitOn("b", 0).Failure, Charged: true}, nil},
		{"a loss of another node", "Error", on("b", "NodeLost", v1alpha1.CauseInfrastructure, 0), []string{"b: 1, NodeLost, 24h1m0s"}},
		{"the loss of that very node", "Error", on("a", "NodeLost", v1alpha1.CauseInfrastructure, 0), []string{"a: 2, NodeLost, 24h1m0s"}},
		{"another failure was the node's own fault", "NodeLost", on("b", "NodeLost", v1alpha1.CauseInfrastructure, 0),
			[]string{"a: 1, NodeLost, 1h0m0s", "b: 1, NodeLost, 24h1m0s"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			is := c.is
			is.Explained, is.RestartTime = true, first.RestartTime
			s := builder.Snapshot(builder.Job("j", builder.Workers(2), avoidedFor(c.reason), builder.Incidents(first)), builder.Now(90*second))
			got := listed(avoided(s, []v1alpha1.Incident{is}, []failure.Amendment{{Was: first, Is: is}}))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("avoided (-want +got):\n%s", diff)
			}
		})
	}
}

// What is remembered goes with the incident too, long after the status lists its other incidents no more.
func TestARememberedFailureIsTakenBack(t *testing.T) {
	was := exitOn("a", 60*second)
	was.Charged = true
	is := exitOn("b", 60*second)
	is.Explained, is.Charged = true, true
	s := builder.Snapshot(builder.Job("j", builder.Workers(2), failedOn("a", 60*second)), builder.Now(90*second))
	got, _ := nodes.Blamed(s, []v1alpha1.Incident{is}, []failure.Amendment{{Was: was, Is: is}})
	if want := []v1alpha1.NodeFailures{{Node: "b", Times: []metav1.Time{builder.Time(60 * second)}}}; !cmp.Equal(want, got) {
		t.Errorf("%v count, want %v", got, want)
	}
}

func TestTheLatestFailuresOfTheLatestNodesCount(t *testing.T) {
	var incidents []v1alpha1.Incident
	for i := range 70 {
		incidents = append(incidents, exitOn(fmt.Sprintf("n%02d", i), time.Duration(i)*second))
	}
	for i := range 12 {
		incidents = append(incidents, exitOn("n69", time.Duration(100+i)*second))
	}
	got, _ := nodes.Blamed(builder.Snapshot(builder.Job("j", builder.Workers(2)), builder.Now(200*second)), incidents, nil)
	if last := got[len(got)-1]; len(got) != 64 || got[0].Node != "n06" || len(last.Times) != 10 || !last.Times[0].Equal(ptr.To(builder.Time(102*second))) {
		t.Errorf("failures of %d nodes count, from %s on, the last from %v on", len(got), got[0].Node, last.Times)
	}
}

func TestAJobAvoidsAtMostSixteenNodesTheLatest(t *testing.T) {
	var options []builder.JobOption
	for i := range 16 {
		options = append(options, builder.Avoided(fmt.Sprintf("n%02d", i), hour+time.Duration(16-i)*second))
	}
	got := avoidedBy(builder.Job("j", append(options, builder.Workers(1))...), 0, on("new", "NodeLost", v1alpha1.CauseInfrastructure, 0))
	text := strings.Join(got, "\n")
	if len(got) != 16 || !strings.Contains(text, "new: ") || strings.Contains(text, "n15: ") || !strings.Contains(text, "n14: ") {
		t.Errorf("the job avoids %d nodes:\n%s", len(got), text)
	}
}

func TestNodesLostTogetherAreAllAvoided(t *testing.T) {
	job := builder.Job("j", pytorch, builder.Workers(3))
	s := builder.Snapshot(job, builder.Running("worker", 0, builder.On("a")), builder.Running("worker", 1, builder.On("b")), builder.Running("worker", 2, builder.On("c")),
		builder.NodeLost("a", 0), builder.NodeLost("b", 10*second), builder.NodeLost("c", 50*second))
	incident := v1alpha1.Incident{Failure: v1alpha1.Failure{Node: "a", Reason: v1alpha1.ReasonNodeLost}, RestartTime: builder.Time(60 * second)}
	before := v1alpha1.Incident{Failure: v1alpha1.Failure{Node: "b", Reason: "Error"}, RestartTime: builder.Time(5 * second)} // one exit is no fault of the node's
	earlier := incident
	earlier.RestartTime = builder.Time(30 * second)
	late := []failure.Amendment{{Was: before, Is: earlier}}
	for name, c := range map[string]struct {
		incident   v1alpha1.Incident
		amendments []failure.Amendment
		want       []string
	}{
		"by a restart that begins now":               {incident, nil, []string{"a", "b"}},
		"by a restart that late evidence explains":   {earlier, late, []string{"a", "b"}},
		"but not by one that was explained long ago": {earlier, nil, []string{"a"}},
	} {
		var names []string
		for _, n := range avoided(s, []v1alpha1.Incident{c.incident, before}, c.amendments) {
			names = append(names, n.Name)
		}
		if diff := cmp.Diff(c.want, names); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestNewPodsPreferOtherNodes(t *testing.T) {
	for name, c := range map[string]struct {
		job  []builder.JobOption
		seen builder.SnapshotOption
		want []string
	}{
		"than unhealthy ones, which the job has never met": {nil, builder.UnhealthyNodes("b", "c"), []string{"b", "c"}},
		"than those and the ones that it avoids":           {[]builder.JobOption{builder.Avoided("c", hour), builder.Avoided("d", hour)}, builder.UnhealthyNodes("b", "c"), []string{"b", "c", "d"}},
		"for as long as it avoids them":                    {[]builder.JobOption{builder.Avoided("c", second)}, builder.Now(60 * second), nil},
	} {
		s := builder.Snapshot(builder.Job("j", append(c.job, builder.Workers(2))...), c.seen)
		if diff := cmp.Diff(c.want, nodes.NotPreferred(s)); diff != "" {
			t.Errorf("new pods prefer other nodes %s (-want +got):\n%s", name, diff)
		}
	}
}

func TestNewPodsExcludeLostNodes(t *testing.T) {
	s := builder.Snapshot(builder.Job("j", builder.Workers(3)), builder.NodeLost("b", 0), builder.NodeSilent("a", 30*second), builder.NodeLost("c", 50*second),
		builder.NodeUnhealthy("d", "GpuMemWatch", "[79]", 5*second), builder.Now(60*second))
	if got := nodes.Excluded(s); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("new pods exclude %v, want a, which is silent, and b; c is not ready for 10 s only, and d is unhealthy", got)
	}
}

// The list accepts any history, and stays within its bounds.
func TestTheAvoidListObeysItsLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := builder.ArbitrarySnapshot(t)
		list := avoided(s, s.Job.Status.Incidents, failure.Explain(s, failure.Restarts(s, failure.Find(s))))
		byName := func(a, b v1alpha1.AvoidedNode) int { return strings.Compare(a.Name, b.Name) }
		isOver := func(n v1alpha1.AvoidedNode) bool { return !s.Now.Before(n.ExpirationTime.Time) }
		if len(list) > 16 || !slices.IsSortedFunc(list, byName) || slices.ContainsFunc(list, isOver) {
			t.Fatalf("the job avoids %+v", list)
		}
	})
}

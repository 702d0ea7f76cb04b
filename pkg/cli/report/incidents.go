package report

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/story"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/operator/journal"
)

// incidents returns the restarts in the lines and the status, newest first. The status wins over the lines, and an explanation over the
// first line.
func incidents(status *v1alpha1.TrainingJobStatus, lines []journal.Line) []Incident {
	known := map[int32]v1alpha1.Incident{}
	for i := range lines {
		l := &lines[i]
		_, told := known[l.Number]
		if l.Message == journal.MessageExplained || l.Message == journal.MessageIncident && !told {
			known[l.Number] = *l.Incident
		}
	}
	for i := range status.Incidents {
		known[status.Restarts-int32(i)] = status.Incidents[i]
	}
	list := make([]Incident, 0, len(known))
	for number, i := range known {
		list = append(list, Incident{Number: number, Incident: i, DetectionSeconds: seconds(i.RestartTime.Sub(i.Time.Time))})
	}
	slices.SortFunc(list, func(a, b Incident) int { return int(b.Number - a.Number) })
	return list
}

// began returns the replica where the incident began; empty for a request for the whole job, and for a hang whose rank does not show.
func began(i *Incident) string {
	if i.Cause == v1alpha1.CauseRequested && i.Pod == "" || i.Cause == v1alpha1.CauseHang && i.Node == "" {
		return ""
	}
	return failure.SlotOf(&i.Failure).String()
}

func seconds(d time.Duration) int64 { return int64(max(0, d).Seconds()) }

// attempts returns the attempts, oldest first, and how the job was, which the log may know better than the status.
func attempts(v *story.View, incidents []Incident, lines []journal.Line) ([]Attempt, []story.Part) {
	full := *v
	full.Job = v.Job.DeepCopy()
	full.Job.Status.Incidents = nil
	for i := range incidents {
		full.Job.Status.Incidents = append(full.Job.Status.Incidents, incidents[i].Incident)
	}
	parts := story.Parts(&full, runs(lines)...)
	var list []Attempt
	for _, s := range story.Spans(&full) {
		a := Attempt{First: s.First, Last: s.Last, Interval: Interval{From: s.From, To: state.Latest(s.From, s.To)}}
		if s.Ended != nil {
			a.EndedBy = numberOf(incidents, s.Ended)
		}
		for _, p := range story.Within(parts, a.Interval) {
			if p.State == story.Running && a.Ran == nil {
				a.Ran = &p.From
			}
		}
		list = append(list, a)
	}
	return list, parts
}

func numberOf(incidents []Incident, i *v1alpha1.Incident) int32 {
	for n := range incidents {
		if incidents[n].Scope == v1alpha1.ScopeJob && incidents[n].Attempt == i.Attempt {
			return incidents[n].Number
		}
	}
	return 0
}

// runs returns the times at which all replicas began to run, by the log.
func runs(lines []journal.Line) []time.Time {
	var times []time.Time
	for i := range lines {
		if lines[i].Message == journal.MessageRuns {
			times = append(times, lines[i].RunningTime.Time)
		}
	}
	return times
}

// addCosts adds to the incidents how long it took until what they restarted ran again.
func addCosts(incidents []Incident, attempts []Attempt, v *story.View) {
	pods := map[state.Slot][]*corev1.Pod{}
	for i := range v.Pods {
		if slot, _, ok := state.ParsePodName(v.Job.Name, v.Pods[i].Name); ok {
			pods[slot] = append(pods[slot], &v.Pods[i])
		}
	}
	for i := range incidents {
		again := ranAgain(&incidents[i], attempts)
		if incidents[i].Scope != v1alpha1.ScopeJob {
			again = replicaRanAgain(&incidents[i], pods[failure.SlotOf(&incidents[i].Failure)], v.Job.Name)
		}
		if again != nil {
			cost := seconds(again.Sub(incidents[i].Time.Time))
			incidents[i].CostSeconds = &cost
		}
	}
}

// ranAgain returns when the attempt ran that the incident began.
func ranAgain(i *Incident, attempts []Attempt) *time.Time {
	for n := range attempts {
		if attempts[n].First == i.Attempt+1 && attempts[n].Last == i.Attempt+1 {
			return attempts[n].Ran
		}
	}
	return nil
}

// replicaRanAgain returns when the replica ran that the incident restarted, if the pod of its next life is still there.
func replicaRanAgain(i *Incident, pods []*corev1.Pod, job string) *time.Time {
	var next *corev1.Pod
	var first state.Life
	for _, pod := range pods {
		p, _ := state.PodOf(job, pod)
		if p.Life.Attempt == int(i.Attempt) && !p.Created.Before(i.RestartTime.Time) && (next == nil || p.Life.Before(first)) {
			next, first = pod, p.Life
		}
	}
	if next == nil {
		return nil
	}
	return started(next)
}

// started returns when the first of the pod's containers began; nil if none has.
func started(pod *corev1.Pod) *time.Time {
	var first *metav1.Time
	for i := range pod.Status.ContainerStatuses {
		at := startOf(&pod.Status.ContainerStatuses[i])
		if at != nil && (first == nil || at.Before(first)) {
			first = at
		}
	}
	if first == nil {
		return nil
	}
	return &first.Time
}

func startOf(c *corev1.ContainerStatus) *metav1.Time {
	switch {
	case c.State.Running != nil:
		return &c.State.Running.StartedAt
	case c.State.Terminated != nil && !c.State.Terminated.StartedAt.IsZero():
		return &c.State.Terminated.StartedAt
	default:
		return nil
	}
}

package story

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/advice"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/pkg/job/state"
)

// mostLines is how many newest lines a fact names.
const mostLines = 8

// hangFacts show that a hang is not noticed, and how old the newest line of each rank is, the oldest first: a rank that is silent for longer
// than the others may hang.
func hangFacts(v *View) []string {
	if !v.MissesHangs() {
		return nil
	}
	facts := []string{"The job reports no progress, so a hang is not noticed."}
	if v.LinesUnread != "" {
		return append(facts, "The newest log lines could not be read: "+v.LinesUnread)
	}
	lines := slices.Clone(v.Newest)
	slices.SortStableFunc(lines, func(a, b NewestLine) int { return a.Time.Compare(b.Time) })
	var ages []string
	for _, l := range lines[:min(len(lines), mostLines)] {
		age := "none yet"
		if !l.Time.IsZero() {
			age = v.ago(l.Time) + " old"
		}
		ages = append(ages, l.Replica+" "+age)
	}
	if more := len(lines) - mostLines; more > 0 {
		ages = append(ages, fmt.Sprintf("%d more at most %s old", more, v.ago(lines[mostLines].Time)))
	}
	if len(ages) > 0 {
		facts = append(facts, "Newest log line of each rank: "+strings.Join(ages, ", ")+".")
	}
	return facts
}

// failureFacts return the latest failure, the reaction to it and its cost.
func failureFacts(v *View) []string {
	f := v.Job.Status.LastFailure
	if f == nil {
		return nil
	}
	facts := []string{fmt.Sprintf("Last failure: %s, in attempt %d, at %s (%s ago).", WhatBroke(f), f.Attempt, v.clock(f.Time.Time), v.ago(f.Time.Time))}
	facts = append(facts, wordFacts(v, f, sentence(v))...)
	if f.Alike > 0 {
		facts = append(facts, Count(f.Alike, "more replica")+" broke in the same second in the same way: which was first is not known.")
	}
	if others := endedBeside(v, f); len(others) > 0 {
		facts = append(facts, fmt.Sprintf("%s ended by themselves at about the same time, and their logs are kept: %s",
			strings.Join(others, ", "), v.reader().Command(advice.Logs, fmt.Sprintf("--attempt %d", f.Attempt))))
	}
	if n := slices.IndexFunc(v.Job.Status.Incidents, func(i v1alpha1.Incident) bool { return failure.IsFailure(i.Cause) }); n >= 0 && !isTrue(v.Job, v1alpha1.ConditionFailed) {
		i := &v.Job.Status.Incidents[n]
		facts = append(facts, fmt.Sprintf("Answer: %s, decided %s later, %s.", Answer(i), duration.HumanDuration(i.RestartTime.Sub(i.Time.Time)), Charge(i)))
	}
	return facts
}

// kubeletFacts quote what was reported about the suspect pod: that a probe or a hook failed, or that a volume does not mount.
func kubeletFacts(v *View) []string {
	var facts []string
	for i := range v.PodEvents {
		if e := &v.PodEvents[i]; e.Type == corev1.EventTypeWarning || e.Reason == "Killing" {
			facts = append(facts, fmt.Sprintf("Event of %s, %s ago: %s: %s", e.InvolvedObject.Name, v.ago(Seen(e)), e.Reason, e.Message))
		}
	}
	slices.Sort(facts)
	return slices.Compact(facts)
}

// mostBeside is how many replicas that ended beside the failed one a fact names.
const mostBeside = 8

// endedBeside names the replicas that ended by themselves with the failed one, and whose pods are still there. Each is followed by the line that explains its end, if it left any.
func endedBeside(v *View, f *v1alpha1.Failure) []string {
	var names []string
	pods := v.Observed().Pods
	for i := range pods {
		if p := &pods[i]; failure.EndedBeside(f, p) {
			name := p.Slot.String()
			if line := v.lineOf(p); line != "" {
				name += fmt.Sprintf(" (%q)", Cut(line, 120))
			}
			names = append(names, name)
		}
	}
	if more := len(names) - mostBeside; more > 0 {
		names = append(names[:mostBeside], fmt.Sprintf("%d more", more))
	}
	return names
}

// Message returns the last words of the program when it failed, or else the kubelet or controller that ended it; empty for what is no failure.
func Message(f *v1alpha1.Failure) string {
	if !failure.IsFailure(f.Cause) {
		return ""
	}
	return f.Message
}

// Answer returns what restarted for an incident.
func Answer(i *v1alpha1.Incident) string {
	switch i.Scope {
	case v1alpha1.ScopeJob:
		return fmt.Sprintf("the whole job restarted as attempt %d", i.Attempt+1)
	case v1alpha1.ScopeRole:
		return fmt.Sprintf("all replicas of role %s restarted", i.Role)
	default:
		return "only this replica restarted"
	}
}

// Charge returns whether and how an incident is charged.
func Charge(i *v1alpha1.Incident) string {
	text := "not charged"
	if i.Charged {
		text = "charged to a budget"
	}
	if i.Explained {
		text += "; its true cause showed only after the restart"
	}
	return text
}

// replicaFacts count the replicas by how they are, if they do not all run, and name those whose pod waits for something.
func replicaFacts(s *state.Snapshot) []string {
	if s.IsFinished() || s.Job.Spec.IsDispatched() { // the pods of a dispatched job are in another cluster
		return nil
	}
	count := map[state.State]int{}
	waits := map[string][]*state.Replica{}
	total := 0
	for r := range s.Replicas() {
		count[r.State]++
		total++
		if reason := waitsFor(r); reason != "" {
			waits[reason] = append(waits[reason], r)
		}
	}
	if count[state.Running] == total || s.Job.Spec.IsSuspended() {
		return nil
	}
	var parts []string
	for c := state.Missing; c <= state.GivenUp; c++ {
		if count[c] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[c], strings.ToLower(c.String())))
		}
	}
	return append([]string{fmt.Sprintf("Of %s: %s.", Count(total, "replica"), strings.Join(parts, ", "))}, waitingFacts(waits)...)
}

// waitsFor returns why the pod of a replica does not run, if a person must act.
func waitsFor(r *state.Replica) string {
	if r.Pod == nil || slices.Contains([]string{"", "ContainerCreating", "PodInitializing"}, r.Pod.Waiting.Reason) {
		return ""
	}
	return strings.TrimSuffix(r.Pod.Waiting.Reason+": "+r.Pod.Waiting.Message, ": ")
}

// waitingFacts return each reason to wait once, the most frequent first.
func waitingFacts(waits map[string][]*state.Replica) []string {
	reasons := slices.SortedFunc(maps.Keys(waits), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(waits[b]), len(waits[a])), cmp.Compare(a, b))
	})
	var facts []string
	for _, reason := range reasons[:min(len(reasons), 5)] {
		who := waits[reason][0].Slot.String()
		if more := len(waits[reason]) - 1; more > 0 {
			who += fmt.Sprintf(" and %d more", more)
		}
		facts = append(facts, fmt.Sprintf("%s: %s", who, strings.TrimSuffix(reason, ".")+"."))
	}
	return facts
}

// waitFacts return until when restarts wait.
func waitFacts(v *View, s *state.Snapshot) []string {
	if s.IsFinished() {
		return nil
	}
	if at := v.Job.Status.NextStartTime; at != nil && v.Now.Before(at.Time) {
		return []string{fmt.Sprintf("Back-off: the next attempt begins at %s, in %s (restart %d in a row).",
			v.clock(at.Time), duration.HumanDuration(at.Sub(v.Now)), v.Job.Status.Memory.RestartsInRow)}
	}
	var facts []string
	for r := range s.Replicas() {
		if at := s.NextStart(r.Slot); r.Pod == nil && v.Now.Before(at) {
			facts = append(facts, fmt.Sprintf("Back-off: %s is created again at %s, in %s.", r.Slot, v.clock(at), duration.HumanDuration(at.Sub(v.Now))))
		}
	}
	if more := len(facts) - 3; more > 0 {
		facts = append(facts[:3], fmt.Sprintf("Back-off of %s more.", Count(more, "replica")))
	}
	return facts
}

// budgetFacts return the use of the budgets.
func budgetFacts(v *View) []string {
	var facts []string
	for _, b := range v.Job.Status.Budgets {
		facts = append(facts, fmt.Sprintf("Budget %s: %d of %d used.", b.Name, b.Used, b.Limit))
	}
	if list := v.Job.Status.Incidents; len(list) > 0 && list[0].Cause == v1alpha1.CauseRequested {
		i := &list[0]
		facts = append(facts, fmt.Sprintf("%s, %s ago: %s, %s.", WhatBroke(&i.Failure), v.ago(i.RestartTime.Time), Answer(i), Charge(i)))
	}
	if n := v.Job.Status.Restarts; n > 0 {
		facts = append(facts, fmt.Sprintf("Restarts so far: %d, charged: %d.", n, v.Job.Status.ChargedRestarts))
	}
	return facts
}

// nodeFacts return the nodes that the job's new pods avoid.
func nodeFacts(v *View) []string {
	var facts []string
	for _, n := range nodes.At(v.Job.Status.AvoidedNodes, v.Now) {
		facts = append(facts, fmt.Sprintf("New pods avoid %s until %s (%s, failure %d).", n.Name, v.clock(n.ExpirationTime.Time), n.Reason, n.Failures))
	}
	return facts
}

// eventFacts repeat the latest warnings that the status does not have.
func eventFacts(v *View) []string {
	var facts []string
	f := v.Job.Status.LastFailure
	for _, e := range v.warnings(3) {
		isKnown := strings.Contains(v.Job.Status.Message, strings.TrimPrefix(e.Message, v.Job.Status.Reason+": ")) || f != nil && strings.Contains(e.Message, failure.Describe(f))
		if !isKnown { // by the first facts
			facts = append(facts, fmt.Sprintf("Event %s, %s ago: %s", e.Reason, v.ago(Seen(&e)), e.Message))
		}
	}
	return facts
}

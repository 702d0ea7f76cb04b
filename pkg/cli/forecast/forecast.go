// Package forecast shows what the operator would do with a job, from the function with which the operator decides: plan.Make.
//
// For a job that does not exist yet it plays the first passes. The status of each plan becomes the job's; the Service and group of a
// plan exist in the next pass. It ends with the plan that creates the pods.
//
// It does not know the operator's flags: --node-lost-after and --gang have their defaults, and gang APIs count as served.
package forecast

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/component-helpers/resource"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/budget"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
)

// LostAfter is the default of the operator's --node-lost-after.
const LostAfter = 15 * time.Second

// mostPasses is how many passes are played until pods are created; three are enough for every job.
const mostPasses = 6

// Of returns what the operator would do first with a job that does not exist yet.
func Of(job *v1alpha1.TrainingJob, now time.Time) (string, error) {
	job = job.DeepCopy()
	job.Status, job.Generation, job.UID = v1alpha1.TrainingJobStatus{}, 1, "planned"
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s/%s, %s: %s\n", job.Namespace, job.Name, job.Spec.Framework, size(job))
	o := &state.Observed{Now: now, Job: job, LostAfter: LostAfter}
	AssumeGang(o)
	for range mostPasses {
		s, err := state.New(*o)
		if err != nil {
			return "", err
		}
		p := plan.Make(s)
		for _, e := range p.Events {
			fmt.Fprintf(b, "  emits   %s: %s\n", e.Reason, state.Printable(e.Message))
		}
		writeSteps(b, p.Steps)
		job.Status = p.Status
		if createsPods(p.Steps) || job.Spec.IsManagedElsewhere() {
			break
		}
		o.HasService = true
	}
	if job.Spec.IsManagedElsewhere() {
		fmt.Fprintf(b, "  nothing: it is run by %s (spec.managedBy)\n", state.Printable(job.Spec.ManagedBy))
		return b.String(), nil
	}
	writeRecovery(b, job)
	writeForgets(b, &job.Spec)
	return b.String(), nil
}

// Next returns what the operator would do next with an observed job.
func Next(o *state.Observed) (string, error) {
	s, err := state.New(*o)
	if err != nil {
		return "", err
	}
	p := plan.Make(s)
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s/%s: %s\n", o.Job.Namespace, o.Job.Name, strings.TrimSpace(string(p.Status.Phase)+" "+p.Status.Reason))
	switch {
	case o.Job.Spec.IsManagedElsewhere():
		fmt.Fprintf(b, "  nothing: it is run by %s (spec.managedBy)\n", state.Printable(o.Job.Spec.ManagedBy))
	case o.Job.DeletionTimestamp != nil:
		b.WriteString("  nothing: it is being deleted\n")
	case s.IsStale():
		b.WriteString("  nothing: its pods are newer than the job in the cache; try again\n")
	}
	for i := range p.Restarts {
		fmt.Fprintf(b, "  counts  %s\n", state.Printable(p.Restarts[i].Sentence))
	}
	for _, e := range p.Events {
		if !slices.ContainsFunc(p.Restarts, func(i failure.Restart) bool { return i.Sentence == e.Message }) {
			fmt.Fprintf(b, "  emits   %s: %s\n", e.Reason, state.Printable(e.Message))
		}
	}
	writeSteps(b, p.Steps)
	if len(p.Steps)+len(p.Events)+len(p.Restarts) == 0 {
		b.WriteString("  no step: everything is as it should be\n")
	}
	if !p.Wake.IsZero() {
		fmt.Fprintf(b, "  looks again at %s, or when something changes\n", p.Wake.UTC().Format("15:04:05 UTC"))
	}
	if !s.IsFinished() {
		writeForgets(b, &o.Job.Spec)
	}
	return b.String(), nil
}

// AssumeGang sets the gang scheduler of the job, as if the cluster had it.
func AssumeGang(o *state.Observed) {
	o.Gang.Scheduler = v1alpha1.GangNone
	if s := o.Job.Spec.Scheduling; s != nil {
		o.Gang.Scheduler = cmp.Or(s.Gang, o.Gang.Scheduler)
	}
}

func createsPods(steps []plan.Step) bool {
	for _, step := range steps {
		if _, is := step.(plan.CreatePod); is {
			return true
		}
	}
	return false
}

// mostSteps is how many steps of a kind are named.
const mostSteps = 8

// writeSteps names the steps; of many pods the first ones.
func writeSteps(b *strings.Builder, steps []plan.Step) {
	named := map[string]int{}
	for _, step := range steps {
		text := step.String()
		kind, what, _ := strings.Cut(text, " ")
		if named[kind]++; named[kind] <= mostSteps {
			fmt.Fprintf(b, "  %-7s %s\n", kind+"s", what)
		}
	}
	for _, kind := range []string{"create", "delete", "fence"} {
		if more := named[kind] - mostSteps; more > 0 {
			fmt.Fprintf(b, "  %-7s %d more\n", kind+"s", more)
		}
	}
}

// size returns the number of the job's pods and the sum of their requests.
func size(job *v1alpha1.TrainingJob) string {
	var roles []string
	total := corev1.ResourceList{}
	for _, role := range job.Spec.Roles() {
		n := int(job.Spec.Replicas(role))
		roles = append(roles, fmt.Sprintf("%d %s", n, role))
		pod := &corev1.Pod{Spec: job.Spec.ReplicaSpecs[role].Template.Spec}
		asks := resource.PodLimits(pod, resource.PodResourcesOptions{})
		for name, amount := range resource.PodRequests(pod, resource.PodResourcesOptions{}) {
			asks[name] = amount
		}
		for name, amount := range asks {
			amount.Mul(int64(n))
			sum := total[name]
			sum.Add(amount)
			total[name] = sum
		}
	}
	var asks []string
	for _, name := range slices.Sorted(maps.Keys(total)) {
		amount := total[name]
		asks = append(asks, fmt.Sprintf("%s %s", amount.String(), name))
	}
	text := strings.Join(roles, ", ")
	if len(asks) > 0 {
		text += "; requests " + strings.Join(asks, ", ")
	}
	return text
}

// writeRecovery writes what restarts after each failure.
func writeRecovery(b *strings.Builder, job *v1alpha1.TrainingJob) {
	for _, role := range job.Spec.Roles() {
		restarts := "that replica alone"
		switch job.Status.ReplicaStatuses[role].RestartScope {
		case v1alpha1.ScopeJob:
			restarts = "the whole job"
		case v1alpha1.ScopeRole:
			restarts = "all of its role"
		}
		fmt.Fprintf(b, "  if %s breaks, it restarts %s\n", role, restarts)
	}
	writeMethod(b, job)
	r := &job.Spec.Recovery
	if r.WindowSeconds != nil {
		fmt.Fprintf(b, "  fails at its %s failure of its own in %s; lost nodes and deletions do not count\n",
			ordinal(int(budget.Limit(&job.Spec, v1alpha1.BudgetRestarts))+1), duration.HumanDuration(time.Duration(*r.WindowSeconds)*time.Second))
	}
}

// ordinal returns a number as a place: "11th", "22nd".
func ordinal(n int) string {
	suffix := map[int]string{1: "st", 2: "nd", 3: "rd"}[n%10]
	if suffix == "" || n%100/10 == 1 {
		suffix = "th"
	}
	return fmt.Sprint(n) + suffix
}

// writeMethod shows whether restarts of the whole job keep pods, if the job leaves that to its grace periods.
func writeMethod(b *strings.Builder, job *v1alpha1.TrainingJob) {
	brief := job.DeepCopy()
	grace := int64(ptr.Deref(job.Spec.Recovery.TerminationGraceSeconds, v1alpha1.DefaultTerminationGraceSeconds))
	for role, replicas := range brief.Spec.ReplicaSpecs {
		replicas.Template.Spec.TerminationGracePeriodSeconds = &grace
		brief.Spec.ReplicaSpecs[role] = replicas
	}
	switch {
	case state.MethodOf(&job.Spec) == v1alpha1.RestartInPlace:
		b.WriteString("  a restart of the whole job keeps the pods of healthy replicas\n")
	case state.MethodOf(&brief.Spec) == v1alpha1.RestartInPlace:
		fmt.Fprintf(b, "  a restart of the whole job creates new pods for all replicas; it keeps the pods of healthy replicas if each template has terminationGracePeriodSeconds: %d\n", grace)
	}
}

// Pods returns the first pod of each role of a job that does not exist yet, as the operator would create it, without an owner.
func Pods(job *v1alpha1.TrainingJob) (pods []*corev1.Pod) {
	job = job.DeepCopy()
	job.Status, job.UID = v1alpha1.TrainingJobStatus{}, "planned"
	o := &state.Observed{Job: job}
	AssumeGang(o)
	build := plan.Pods(job)
	for _, role := range job.Spec.Roles() {
		if job.Spec.Replicas(role) == 0 {
			continue
		}
		slot := state.Slot{Role: role}
		pod := build(plan.CreatePod{Name: state.PodName(job.Name, slot, state.Life{}), Slot: slot, Placement: &plan.Placement{Gang: o.Gang.Scheduler}})
		pod.OwnerReferences = nil
		pods = append(pods, pod)
	}
	return pods
}

package jobset

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/kubeflow/serve"
)

// part is what one TrainingJob has of a JobSet. A replicated job that others await with dependsOn and the status Complete, such as Trainer's
// initializers, is a step: it has a TrainingJob of its own, JOBSET-REPLICATEDJOB. The TrainingJob of the JobSet's name has all others, and begins after
// the steps.
type part struct {
	*JobSet
	served *serve.Served
	child  *v1alpha1.TrainingJob // nil if there is none
}

// parts returns the steps, and at last the part with the JobSet's name.
func (s *JobSet) parts() (parts []*part) {
	rest := *s
	rest.Spec.ReplicatedJobs = nil
	rest.Spec.SuccessPolicy.TargetReplicatedJobs = slices.DeleteFunc(slices.Clone(s.Spec.SuccessPolicy.TargetReplicatedJobs), s.isStep)
	for _, job := range s.Spec.ReplicatedJobs {
		if !s.isStep(job.Name) {
			rest.Spec.ReplicatedJobs = append(rest.Spec.ReplicatedJobs, job)
			continue
		}
		one := *s
		one.step, one.Spec.ReplicatedJobs = job.Name, []ReplicatedJob{job}
		one.Spec.SuccessPolicy.Operator, one.Spec.SuccessPolicy.TargetReplicatedJobs = "All", nil
		parts = append(parts, &part{JobSet: &one})
	}
	return append(parts, &part{JobSet: &rest})
}

// childName returns the name of the TrainingJob.
func (s *JobSet) childName() string { return strings.TrimSuffix(s.Name+"-"+s.step, "-") }

// isStep reports whether another replicated job awaits the success of the named one.
func (s *JobSet) isStep(name string) bool {
	return slices.ContainsFunc(s.whole, func(j ReplicatedJob) bool { return slices.Contains(j.awaited(), name) })
}

// awaited returns the names of the steps before the replicated job.
func (j *ReplicatedJob) awaited() (names []string) {
	for _, dependency := range j.DependsOn {
		if dependency.Status == complete {
			names = append(names, dependency.Name)
		}
	}
	return names
}

// unordered returns why the order of the replicated jobs cannot be kept.
func (s *JobSet) unordered(j *ReplicatedJob) error {
	hasSteps := slices.ContainsFunc(s.whole, func(other ReplicatedJob) bool { return s.isStep(other.Name) })
	switch isStep := s.isStep(j.Name); {
	case isStep && j.size() > 1:
		return fmt.Errorf("others depend on it with the status Complete, and it has %d pods, which would find no names of each other: run it with one pod, or as a JobSet before this one", j.size())
	case isStep && len(j.awaited()) < len(j.DependsOn):
		return fmt.Errorf("others depend on it with the status Complete, so its own dependsOn cannot have the status Ready: write Complete")
	case !isStep && hasSteps && len(j.DependsOn) == 0:
		return fmt.Errorf("it has no dependsOn, and would begin after the replicated jobs that others await with the status Complete: write such a dependsOn for it too")
	}
	return nil
}

// isDue reports whether the steps before that part have succeeded. After the last part has begun, no step begins.
func (p *part) isDue(parts []*part) bool {
	if p.child != nil {
		return true
	}
	for _, other := range parts {
		isAwaited := slices.ContainsFunc(p.Spec.ReplicatedJobs, func(j ReplicatedJob) bool { return slices.Contains(j.awaited(), other.step) })
		if isAwaited && !other.has(v1alpha1.ConditionSucceeded) || other.step == "" && other.child != nil {
			return false
		}
	}
	return true
}

// has reports whether the TrainingJob has the condition.
func (p *part) has(condition string) bool {
	return p.child != nil && meta.IsStatusConditionTrue(p.child.Status.Conditions, condition)
}

// deciding returns the part that makes the JobSet's conditions: one that has failed, else a step that has not succeeded, else the last one.
func deciding(parts []*part) *part {
	last := len(parts) - 1
	if failed := slices.IndexFunc(parts, func(p *part) bool { return p.has(v1alpha1.ConditionFailed) }); failed >= 0 {
		return parts[failed]
	}
	if open := slices.IndexFunc(parts[:last], func(p *part) bool { return p.child != nil && !p.has(v1alpha1.ConditionSucceeded) }); open >= 0 && parts[last].child == nil {
		return parts[open]
	}
	return parts[last]
}

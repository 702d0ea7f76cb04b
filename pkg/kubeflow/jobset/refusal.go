package jobset

import (
	"cmp"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// unservable returns why the JobSet cannot be served, with a correction; nil if it can.
func (s *JobSet) unservable() error {
	switch {
	case len(s.Spec.ReplicatedJobs) == 0:
		return fmt.Errorf("spec.replicatedJobs is empty: write one")
	case len(s.Spec.ReplicatedJobs) > mostRoles:
		return fmt.Errorf("spec.replicatedJobs has %d: write at most %d, and equal ones as one with replicas", len(s.Spec.ReplicatedJobs), mostRoles)
	case s.Spec.FailurePolicy != nil && s.Spec.FailurePolicy.RestartStrategy == "InPlaceRestart":
		return fmt.Errorf(`spec.failurePolicy.restartStrategy InPlaceRestart needs JobSet's agent: leave it out, and write the annotation trainingjob.dev/overrides: '{"recovery":{"restartMethod":"InPlace"}}'`)
	}
	for i := range s.Spec.ReplicatedJobs {
		job := &s.Spec.ReplicatedJobs[i]
		err := cmp.Or(job.unservable(), s.unordered(job))
		if s.annotation(job, exclusiveTopology) != "" && s.annotation(job, nodeSelectorStrategy) != "" {
			err = fmt.Errorf("annotation %s cannot be kept: leave it out, and affinities keep the Jobs apart", nodeSelectorStrategy)
		}
		if err != nil {
			return fmt.Errorf("spec.replicatedJobs[%d] (%s): %w", i, job.Name, err)
		}
	}
	return nil
}

func (j *ReplicatedJob) unservable() error {
	job := &j.Template.Spec
	switch {
	case j.jobs() < 1 || j.jobs() > mostPods || j.pods() > mostPods || j.size() > mostPods:
		return fmt.Errorf("replicas times parallelism must be 1 to %d pods: change one of them", mostPods)
	case ptr.Deref(job.Completions, j.pods()) != j.pods() || j.pods() < 1:
		return fmt.Errorf("completions must be the same number as parallelism, above 0: each pod is a rank, and all run at once")
	case job.BackoffLimitPerIndex != nil || job.SuccessPolicy != nil:
		return fmt.Errorf("backoffLimitPerIndex and successPolicy of the Job cannot be kept: leave them out; spec.successPolicy of the JobSet counts")
	case len(job.Template.Spec.Containers) == 0:
		return fmt.Errorf("the pod template has no containers: write one")
	}
	return unservablePolicy(job.PodFailurePolicy)
}

// unservablePolicy returns why the policy cannot be kept: its rules may fail the Job by exit codes, and ignore disruptions, which no TrainingJob is
// charged for.
func unservablePolicy(policy *batchv1.PodFailurePolicy) error {
	for i, rule := range ptr.Deref(policy, batchv1.PodFailurePolicy{}).Rules {
		isFatal := rule.Action == batchv1.PodFailurePolicyActionFailJob && rule.OnExitCodes != nil && rule.OnExitCodes.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn
		isFree := rule.Action == batchv1.PodFailurePolicyActionIgnore && len(rule.OnPodConditions) > 0 &&
			!slices.ContainsFunc(rule.OnPodConditions, func(c batchv1.PodFailurePolicyOnPodConditionsPattern) bool { return c.Type != corev1.DisruptionTarget })
		if !isFatal && !isFree && rule.Action != batchv1.PodFailurePolicyActionCount {
			return fmt.Errorf("podFailurePolicy.rules[%d] cannot be kept: write FailJob with onExitCodes In, or Ignore with the condition DisruptionTarget", i)
		}
	}
	return nil
}

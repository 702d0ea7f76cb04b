package state

import (
	"fmt"
	"strconv"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// FirstAttempt returns the first attempt of the job: the value of its annotation, or 0 without one. It returns an error with a correction
// if the annotation is not a valid number.
func FirstAttempt(job *v1alpha1.TrainingJob) (int32, error) {
	text, isSet := job.Annotations[v1alpha1.AnnotationFirstAttempt]
	if !isSet {
		return 0, nil
	}
	first, err := strconv.ParseUint(text, 10, 31)
	if err != nil || first > v1alpha1.MaxFirstAttempt {
		return 0, fmt.Errorf("annotation %s %.40q: write a whole number from 0 to %d", v1alpha1.AnnotationFirstAttempt, text, v1alpha1.MaxFirstAttempt)
	}
	return int32(first), nil
}

// Begin returns the snapshot of a job that has no status yet as one of its first attempt, with the counts that it brings from another
// cluster, and any other snapshot as it is. It returns an error if an annotation of the job does not say how to begin.
func (s *Snapshot) Begin() (*Snapshot, error) {
	if s.Is(v1alpha1.ConditionCreated) {
		return s, nil
	}
	first, err := FirstAttempt(s.Job)
	if err != nil {
		return s, err
	}
	carried, err := readCarried(s.Job, s.Now)
	if err != nil || carried == nil && first <= s.Job.Status.Attempt { // it never falls
		return s, err
	}
	o, job := s.Observed, *s.Job
	if carried != nil {
		job.Status = *carried
	}
	job.Status.Attempt = max(job.Status.Attempt, first)
	o.Job = &job
	return New(o)
}

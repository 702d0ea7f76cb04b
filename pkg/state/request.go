package state

import (
	"strings"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// maxRequest is how much of a request counts, in bytes.
const maxRequest = 256

// RestartRequest returns what a restart of the whole job is asked for with, if that is not the request that was answered last, nor one
// that the job was submitted with; else it is empty.
func (s *Snapshot) RestartRequest() string {
	words := RequestOf(s.Job)
	if words == s.Job.Status.Memory.RestartRequest || !s.Is(v1alpha1.ConditionCreated) {
		return ""
	}
	return words
}

// RequestOf returns what the job's annotation asks for a restart with, as a status can hold it.
func RequestOf(job *v1alpha1.TrainingJob) string {
	words := Printable(Cut(job.Annotations[v1alpha1.AnnotationRestart], MaxWords))
	return strings.ToValidUTF8(words[:min(len(words), maxRequest)], "")
}

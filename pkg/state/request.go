package state

import (
	"strings"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// maxRequest is how much of a request counts, in bytes.
const maxRequest = 256

// RestartRequest returns the text of a new request to restart the whole job. It is empty for the last answered request, and for a text
// from the submission of the job.
func (s *Snapshot) RestartRequest() string {
	words := RequestOf(s.Job)
	if words == s.Job.Status.Memory.RestartRequest || !s.Is(v1alpha1.ConditionCreated) {
		return ""
	}
	return words
}

// RequestOf returns the text of the job's restart annotation, in a form for the status.
func RequestOf(job *v1alpha1.TrainingJob) string {
	words := Printable(Cut(job.Annotations[v1alpha1.AnnotationRestart], MaxWords))
	return strings.ToValidUTF8(words[:min(len(words), maxRequest)], "")
}

package state

import (
	"strings"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// maxRequest is how much of a request counts, in bytes.
const maxRequest = 256

// Request is a user's request for a restart.
type Request struct {
	// Reason is the user's text, without the name of the replica.
	Reason string
	// Replica is the replica that the request names; nil if it is for the whole job.
	Replica *Replica
}

// RestartRequest returns the new request to restart the job or one replica. It returns nil for the last answered request, for a text
// from the submission of the job, and for a replica that runs no more.
func (s *Snapshot) RestartRequest() *Request {
	words := RequestOf(s.Job)
	if words == s.Job.Status.Memory.RestartRequest || words == "" || !s.Is(v1alpha1.ConditionCreated) {
		return nil
	}
	slot, reason, isNamed := ParseRequest(s.Job, words)
	if !isNamed {
		return &Request{Reason: reason}
	}
	if r := s.Replica(slot); r != nil && r.NeedsPod() {
		return &Request{Reason: reason, Replica: r}
	}
	return nil
}

// RequestOf returns the text of the job's restart annotation, in a form for the status.
func RequestOf(job *v1alpha1.TrainingJob) string {
	words := Printable(Cut(job.Annotations[v1alpha1.AnnotationRestart], MaxWords))
	return strings.ToValidUTF8(words[:min(len(words), maxRequest)], "")
}

// ParseRequest splits the text of a request: "worker-3: its disk is slow" names a replica. A name of no role of the job is part of the
// reason.
func ParseRequest(job *v1alpha1.TrainingJob, words string) (slot Slot, reason string, isNamed bool) {
	name, rest, _ := strings.Cut(words, ":")
	slot, life, isName := ParsePodName(job.Name, job.Name+"-"+name)
	if _, isRole := job.Spec.ReplicaSpecs[slot.Role]; !isName || !isRole || life != (Life{}) {
		return Slot{}, words, false
	}
	return slot, strings.TrimSpace(rest), true
}

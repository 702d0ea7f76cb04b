package history

import (
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
)

// Kind is a kind of transition.
type Kind string

// The kinds of transitions, in the order of the list.
const (
	Explained Kind = "Explained"
	Queued    Kind = "Queued"
	Restarted Kind = "Restarted"
	Scheduled Kind = "Scheduled"
	Runs      Kind = "Runs"
	Recovered Kind = "Recovered"
	Finished  Kind = "Finished"
)

// Transition is one thing that happened.
type Transition struct {
	Kind Kind
	// Attempt is the attempt that it happened to.
	Attempt int32
	// Begin and End bound the time that is over now: in the queue, until all pods had nodes, or from the failure to the recovery. Runs has
	// no Begin.
	Begin, End metav1.Time
	// Incident is the restart. For Runs it is the restart of the whole job that began the attempt; nil if none did.
	Incident *v1alpha1.Incident
	// Number is the incident's number among all restarts of the job, from 1.
	Number int32
	// Placed is when every pod had a node again. Only a recovery of the whole job has it, if it is known.
	Placed *metav1.Time
}

// History is what happened to a job between two statuses.
type History struct {
	Job *v1alpha1.TrainingJob
	// Was is the former status of the job, Is the next one.
	Was, Is *v1alpha1.TrainingJobStatus
	// List is in the order of the kinds; restarts and recoveries are in their own order.
	List []Transition
}

// Between returns what happened between the job's status and the next one. The next one already counts the restarts.
func Between(job *v1alpha1.TrainingJob, next *v1alpha1.TrainingJobStatus, restarts []failure.Restart) *History {
	h := &History{Job: job, Was: &job.Status, Is: next}
	h.explained(len(restarts))
	h.queued()
	for i := range restarts {
		incident := &restarts[i].Incident
		h.add(Transition{
			Kind: Restarted, Attempt: incident.Attempt, Begin: incident.Time, End: incident.RestartTime,
			Incident: incident, Number: h.Was.Restarts + int32(i) + 1,
		})
	}
	h.scheduled()
	h.runs()
	h.recovered()
	if h.Was.CompletionTime == nil && next.CompletionTime != nil {
		h.add(Transition{Kind: Finished, Attempt: next.Attempt, Begin: job.CreationTimestamp, End: *next.CompletionTime})
	}
	return h
}

func (h *History) add(t Transition) { h.List = append(h.List, t) }

// restartOf returns the incident that ended an attempt, and its number; nil and 0 if the status does not have it.
func restartOf(status *v1alpha1.TrainingJobStatus, attempt int32) (incident *v1alpha1.Incident, number int32) {
	for i := range status.Incidents {
		if incident := &status.Incidents[i]; incident.Scope == v1alpha1.ScopeJob && incident.Attempt == attempt {
			return incident, status.Restarts - int32(i)
		}
	}
	return nil, 0
}

// explained adds, oldest first, the incidents whose true cause is in the next status. A status lists incidents newest first. The number of
// an incident is the count of restarts up to it.
func (h *History) explained(begun int) {
	for i := len(h.Was.Incidents) - 1; i >= 0; i-- {
		if i+begun >= len(h.Is.Incidents) {
			continue // the status keeps a few, and too many have begun since
		}
		was, incident := h.Was.Incidents[i], &h.Is.Incidents[i+begun]
		was.Followers = incident.Followers // a replica that ended a few seconds later explains nothing
		if !equality.Semantic.DeepEqual(incident, &was) {
			h.add(Transition{
				Kind: Explained, Attempt: incident.Attempt, Begin: incident.Time, End: incident.RestartTime,
				Incident: incident, Number: h.Was.Restarts - int32(i),
			})
		}
	}
}

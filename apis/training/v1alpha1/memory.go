package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Memory is what the operator must remember of a job from one reconcile to the next. It is in the status because only the status
// survives the operator. Only the operator reads and writes it, and its form may change with any version. The API server keeps
// fields of it that the CRD does not know: a newer operator beside an older CRD forgets nothing.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Memory struct {
	// shape is a hash of what only a suspended job may change, as the present pods have it.
	// +optional
	Shape string `json:"shape,omitempty"`
	// restartRequest is what the annotation trainingjob.dev/restart said when it was last answered.
	// +optional
	RestartRequest string `json:"restartRequest,omitempty"`
	// restartMethod is how the pods of the present attempt are made to be restarted.
	// +optional
	RestartMethod RestartMethod `json:"restartMethod,omitempty"`
	// groupAttempt is the attempt whose pod group the pods are of, if they were restarted in place since; else it is the present one's.
	// +optional
	GroupAttempt *int32 `json:"groupAttempt,omitempty"`
	// lives is how often replicas got their next life within the present attempt. The number of a life is made of it.
	// +optional
	Lives int32 `json:"lives,omitempty"`
	// roles is what is remembered of the replicas of each role.
	// +optional
	Roles map[Role]RoleMemory `json:"roles,omitempty"`
	// restartsInRow is the number of whole-job restarts with less than 10 minutes of running between them. It sets their back-off.
	// +optional
	RestartsInRow int32 `json:"restartsInRow,omitempty"`
	// restartsWithoutProgress is the number of charged restarts of the whole job since the last newer step;
	// spec.recovery.noProgressLimit bounds it.
	// +optional
	RestartsWithoutProgress int32 `json:"restartsWithoutProgress,omitempty"`
	// countedTime is until when the time was added up.
	// +optional
	CountedTime *metav1.Time `json:"countedTime,omitempty"`
	// redoStep is the step that the job had reached before the latest whole-job restart, until it reports one as high.
	// +optional
	RedoStep int64 `json:"redoStep,omitempty"`
	// charges are the restarts charged to each budget within its window.
	// +listType=map
	// +listMapKey=name
	// +optional
	Charges []Charges `json:"charges,omitempty"`
}

// RoleMemory is what is remembered of one role's replicas. Sets of indexes are written as "0-3,5", numbers by index as
// "0-3:1,5:2", zeros left out.
//
// +kubebuilder:pruning:PreserveUnknownFields
type RoleMemory struct {
	// started are the replicas that have run in their present life.
	// +optional
	Started string `json:"started,omitempty"`
	// succeeded are the replicas that have succeeded.
	// +optional
	Succeeded string `json:"succeeded,omitempty"`
	// givenUp are the evaluators that failed for good in this attempt; they are not run again.
	// +optional
	GivenUp string `json:"givenUp,omitempty"`
	// parked are the workers of an elastic job that are parked for lack of room.
	// +optional
	Parked string `json:"parked,omitempty"`
	// parkedTime is when the latest of them was parked; they are tried again elastic.growAfterSeconds later.
	// +optional
	ParkedTime *metav1.Time `json:"parkedTime,omitempty"`
	// replacements says how often each replica was replaced in this attempt.
	// +optional
	Replacements string `json:"replacements,omitempty"`
	// restartsInRow says how many restarts in a row each replica has gone through, with less than 10 minutes from the start of
	// one life to the end of it. It sets the back-off of the replica alone.
	// +optional
	RestartsInRow string `json:"restartsInRow,omitempty"`
	// nextStarts says before which time, in Unix seconds, the present life of each restarted replica may not begin;
	// it is left out once nothing counts from it any more.
	// +optional
	NextStarts string `json:"nextStarts,omitempty"`
}

// Charges are the restarts charged to one budget.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Charges struct {
	// name of the budget.
	// +required
	Name BudgetName `json:"name"`
	// times of the restarts, oldest first.
	// +listType=atomic
	// +optional
	Times []metav1.Time `json:"times,omitempty"`
}

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Memory is what the operator must remember of a job from one reconcile to the next. It is in the status because only the status survives
// the operator. Only the operator reads and writes it, and its form may change with any version. The API server keeps fields that the CRD
// does not define, so a newer operator with an older CRD loses nothing.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Memory struct {
	// shape is a hash of the fields that only a suspended job may change, as the present pods have them.
	// +optional
	Shape string `json:"shape,omitempty"`
	// restartRequest is the last answered text of the annotation trainingjob.dev/restart.
	// +optional
	RestartRequest string `json:"restartRequest,omitempty"`
	// restartMethod is the method of restart that the pods of the present attempt support.
	// +optional
	RestartMethod RestartMethod `json:"restartMethod,omitempty"`
	// groupAttempt is the attempt of the pod group that the pods belong to, if they restarted in place since; else it is the present
	// attempt.
	// +optional
	GroupAttempt *int32 `json:"groupAttempt,omitempty"`
	// lives is the number of times that replicas got a next life within the present attempt. It is part of the number of a life.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Lives int32 `json:"lives,omitempty"`
	// resumeNumber is the number of the lives that began when the job last resumed, if replicas kept their pod names then. Pods with a
	// smaller number are from before the suspension.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ResumeNumber int64 `json:"resumeNumber,omitempty"`
	// roles is the memory of the replicas of each role.
	// +optional
	Roles map[Role]RoleMemory `json:"roles,omitempty"`
	// firstPodTime is when the first pod of the present attempt was created, since the job last resumed. Deadlines for its start count from it.
	// +optional
	FirstPodTime *metav1.Time `json:"firstPodTime,omitempty"`
	// restartsInRow is the number of whole-job restarts with less than 10 minutes of running between them. It sets their back-off.
	// +kubebuilder:validation:Minimum=0
	// +optional
	RestartsInRow int32 `json:"restartsInRow,omitempty"`
	// restartsWithoutProgress is the number of charged restarts of the whole job since the last newer step;
	// spec.recovery.noProgressLimit bounds it.
	// +kubebuilder:validation:Minimum=0
	// +optional
	RestartsWithoutProgress int32 `json:"restartsWithoutProgress,omitempty"`
	// countedTime is the time up to which runningSeconds and lostSeconds are complete.
	// +optional
	CountedTime *metav1.Time `json:"countedTime,omitempty"`
	// report is by what the report of progress.renewTime differs from others: its own time, by the clock of its node, and its step.
	// +optional
	Report string `json:"report,omitempty"`
	// redoStep is the step before the latest whole-job restart, until the job reports an equal or higher step.
	// +kubebuilder:validation:Minimum=0
	// +optional
	RedoStep int64 `json:"redoStep,omitempty"`
	// charges are the restarts charged to each budget within its window.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=5
	// +optional
	Charges []Charges `json:"charges,omitempty"`
	// nodeFailures are the failures that count against nodes, within avoidNodesSeconds: of at most 64 nodes, those with the latest ones.
	// +listType=map
	// +listMapKey=node
	// +kubebuilder:validation:MaxItems=64
	// +optional
	NodeFailures []NodeFailures `json:"nodeFailures,omitempty"`
}

// RoleMemory is the memory of one role's replicas. Sets of indexes have the form "0-3,5", numbers by index the form "0-3:1,5:2", without
// zeros.
//
// +kubebuilder:pruning:PreserveUnknownFields
type RoleMemory struct {
	// started are the replicas that have run in their present life.
	// +optional
	Started string `json:"started,omitempty"`
	// succeeded are the replicas that have succeeded.
	// +optional
	Succeeded string `json:"succeeded,omitempty"`
	// givenUp are the replicas that the job does not need and that failed permanently in this attempt; they do not run again.
	// +optional
	GivenUp string `json:"givenUp,omitempty"`
	// replacements is the number of further starts of each replica in this attempt, without the whole job or after a suspension.
	// +optional
	Replacements string `json:"replacements,omitempty"`
	// restartsInRow is the number of restarts in a row of each replica, with less than 10 minutes from the start to the end of a life. It
	// sets the back-off of the replica alone.
	// +optional
	RestartsInRow string `json:"restartsInRow,omitempty"`
	// nextStarts is the earliest start of the present life of each restarted replica, in Unix seconds. An entry is absent once nothing
	// counts from it.
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

// NodeFailures are the failures that count against one node.
//
// +kubebuilder:pruning:PreserveUnknownFields
type NodeFailures struct {
	// node is the name of the node.
	// +required
	Node string `json:"node"`
	// times are the restart times of the incidents that began there, oldest first: the latest ten.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	// +optional
	Times []metav1.Time `json:"times,omitempty"`
}

package serve

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
)

// Job is what this package reads of a Kubeflow job.
type Job struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		RunPolicy struct {
			Suspend                 *bool  `json:"suspend"`
			TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished"`
		} `json:"runPolicy"`
		ElasticPolicy *struct {
			MinReplicas *int32                     `json:"minReplicas"`
			MaxReplicas *int32                     `json:"maxReplicas"`
			Metrics     []autoscalingv2.MetricSpec `json:"metrics"`
		} `json:"elasticPolicy"`
	} `json:"spec"`
	Status Status `json:"status"`

	kind   Kind
	source *unstructured.Unstructured
}

// Status is the status of a Kubeflow job.
type Status struct {
	Conditions        []Condition              `json:"conditions,omitempty"`
	ReplicaStatuses   map[string]ReplicaStatus `json:"replicaStatuses,omitempty"`
	StartTime         *metav1.Time             `json:"startTime,omitempty"`
	CompletionTime    *metav1.Time             `json:"completionTime,omitempty"`
	LastReconcileTime *metav1.Time             `json:"lastReconcileTime,omitempty"`
}

// Condition is a condition of a Kubeflow job. Source: pkg/apis/kubeflow.org/v1/common_types.go.
type Condition struct {
	Type               string                 `json:"type"`
	Status             corev1.ConditionStatus `json:"status"`
	Reason             string                 `json:"reason,omitempty"`
	Message            string                 `json:"message,omitempty"`
	LastUpdateTime     metav1.Time            `json:"lastUpdateTime,omitempty"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime,omitempty"`
}

// ReplicaStatus counts the pods of a role.
type ReplicaStatus struct {
	Active    int32  `json:"active,omitempty"`
	Succeeded int32  `json:"succeeded,omitempty"`
	Failed    int32  `json:"failed,omitempty"`
	Selector  string `json:"selector,omitempty"`
}

// The controllers that a Kubeflow job may name in spec.runPolicy.managedBy and that this package stands in for.
var ownManagers = []string{"", "kubeflow.org/training-operator"}

// Read returns the job of an object. It returns an error if a field has another type than in the kind.
func Read(kind Kind, source *unstructured.Unstructured) (*Job, error) {
	text, err := json.Marshal(source.Object)
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", kind.Name, source.GetName(), err)
	}
	job := &Job{kind: kind, source: source}
	if err := json.Unmarshal(text, job); err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", kind.Name, source.GetName(), err)
	}
	source.SetManagedFields(nil) // an update with a part of them would be one of them
	return job, nil
}

// otherWriter returns the last client beside this operator that wrote the job's status, and when; an empty name for none.
func (j *Job) otherWriter() (manager string, at time.Time) {
	for _, entry := range j.ManagedFields {
		isOther := entry.Subresource == "status" && !strings.HasPrefix(entry.Manager, ownManager)
		if isOther && entry.Time != nil && entry.Time.After(at) {
			manager, at = entry.Manager, entry.Time.Time
		}
	}
	return manager, at
}

// Source returns the object, unchanged since it was read.
func (j *Job) Source() *unstructured.Unstructured { return j.source }

// IsFinished reports whether the job has succeeded or failed.
func (j *Job) IsFinished() bool { return j.Status.isFinished() }

// IsSuspended reports whether the job is to have no pods.
func (j *Job) IsSuspended() bool { return ptr.Deref(j.Spec.RunPolicy.Suspend, false) }

// isFinished reports whether the job has succeeded or failed.
func (s *Status) isFinished() bool { return s.is(Succeeded) || s.is(Failed) }

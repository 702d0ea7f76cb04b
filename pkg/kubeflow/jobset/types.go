package jobset

import (
	"encoding/json"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
)

// JobSet is what this package reads of a JobSet. Source: api/jobset/v1alpha2/jobset_types.go of JobSet 0.12.
type JobSet struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              Spec   `json:"spec"`
	Status            Status `json:"status"`

	source *unstructured.Unstructured
	// whole are the replicated jobs of the whole JobSet, also in a part. step is the name of the only one in this part, if that is a step.
	whole []ReplicatedJob
	step  string
}

// Spec is the spec of a JobSet.
type Spec struct {
	ReplicatedJobs []ReplicatedJob `json:"replicatedJobs"`
	Network        struct {
		Subdomain string `json:"subdomain"`
	} `json:"network"`
	SuccessPolicy struct {
		Operator             string   `json:"operator"`
		TargetReplicatedJobs []string `json:"targetReplicatedJobs"`
	} `json:"successPolicy"`
	FailurePolicy *FailurePolicy `json:"failurePolicy"`
	StartupPolicy struct {
		StartupPolicyOrder string `json:"startupPolicyOrder"`
	} `json:"startupPolicy"`
	Suspend     bool `json:"suspend"`
	Coordinator *struct {
		ReplicatedJob string `json:"replicatedJob"`
		JobIndex      int    `json:"jobIndex"`
		PodIndex      int    `json:"podIndex"`
	} `json:"coordinator"`
	TTLSecondsAfterFinished *int32        `json:"ttlSecondsAfterFinished"`
	VolumeClaimPolicies     []ClaimPolicy `json:"volumeClaimPolicies"`
}

// ReplicatedJob is a template of Jobs.
type ReplicatedJob struct {
	Name      string                  `json:"name"`
	GroupName string                  `json:"groupName"`
	Template  batchv1.JobTemplateSpec `json:"template"`
	Replicas  *int32                  `json:"replicas"`
	DependsOn []struct {
		Name   string `json:"name"`
		Status string `json:"status"`
	} `json:"dependsOn"`
}

// complete is the status of a replicated job whose pods have all succeeded. The other one is Ready.
const complete = "Complete"

// FailurePolicy is what a JobSet does after a Job has failed.
type FailurePolicy struct {
	MaxRestarts     int32  `json:"maxRestarts"`
	RestartStrategy string `json:"restartStrategy"`
	Rules           []Rule `json:"rules"`
}

// Rule is a rule of a failure policy.
type Rule struct {
	Name                        string   `json:"name"`
	Action                      string   `json:"action"`
	OnJobFailureReasons         []string `json:"onJobFailureReasons"`
	OnJobFailureMessagePatterns []string `json:"onJobFailureMessagePatterns"`
	TargetReplicatedJobs        []string `json:"targetReplicatedJobs"`
}

// Status is the status of a JobSet.
type Status struct {
	Conditions              []metav1.Condition    `json:"conditions,omitempty"`
	Restarts                int32                 `json:"restarts"`
	RestartsCountTowardsMax int32                 `json:"restartsCountTowardsMax,omitempty"`
	TerminalState           string                `json:"terminalState,omitempty"`
	ReplicatedJobsStatus    []ReplicatedJobStatus `json:"replicatedJobsStatus,omitempty"`
}

// ReplicatedJobStatus counts the Jobs of a replicated job. This operator makes none: it counts what JobSet's controller would.
type ReplicatedJobStatus struct {
	Name      string `json:"name"`
	Ready     int32  `json:"ready"`
	Succeeded int32  `json:"succeeded"`
	Failed    int32  `json:"failed"`
	Active    int32  `json:"active"`
	Suspended int32  `json:"suspended"`
}

// Read returns the JobSet of an object. It returns an error if a field has another type than in the kind.
func Read(source *unstructured.Unstructured) (*JobSet, error) {
	text, err := json.Marshal(source.Object)
	if err != nil {
		return nil, fmt.Errorf("reading JobSet %s: %w", source.GetName(), err)
	}
	set := &JobSet{source: source}
	if err := json.Unmarshal(text, set); err != nil {
		return nil, fmt.Errorf("reading JobSet %s: %w", source.GetName(), err)
	}
	set.whole = set.Spec.ReplicatedJobs
	source.SetManagedFields(nil) // an update with a part of them would be one of them
	return set, nil
}

// Source returns the object, unchanged since it was read.
func (s *JobSet) Source() *unstructured.Unstructured { return s.source }

// IsSuspended reports whether the JobSet is to have no pods.
func (s *JobSet) IsSuspended() bool { return s.Spec.Suspend }

// IsFinished reports whether the JobSet has completed or failed.
func (s *JobSet) IsFinished() bool { return s.Status.is(completed) || s.Status.is(failed) }

// subdomain returns the name of the Service under which the pods have names.
func (s *JobSet) subdomain() string {
	if s.Spec.Network.Subdomain != "" {
		return s.Spec.Network.Subdomain
	}
	return s.Name
}

// jobs returns the number of Jobs of the template.
func (j *ReplicatedJob) jobs() int { return int(ptr.Deref(j.Replicas, 1)) }

// pods returns the number of pods of each Job.
func (j *ReplicatedJob) pods() int32 { return ptr.Deref(j.Template.Spec.Parallelism, 1) }

// size returns the number of pods of all Jobs.
func (j *ReplicatedJob) size() int32 { return int32(j.jobs()) * j.pods() }

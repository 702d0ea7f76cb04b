package plan

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Why a pod is deleted: one of these, nothing else.
const (
	WhyPastLife  = "its life is past"
	WhySuspended = "the job is suspended"
	WhyCleanUp   = "the job has finished"
)

// Step is one write to take: a CreateService, CreatePod, DeletePod or DeleteJob.
type Step interface{ isStep() }

// CreateService creates the job's headless Service.
type CreateService struct{ Service *corev1.Service }

// CreatePod creates the pod of one life of a slot.
type CreatePod struct{ Pod *corev1.Pod }

// DeletePod deletes the pod of that name if it still has that UID.
type DeletePod struct {
	Name string
	UID  types.UID
	Why  string
}

// DeleteJob deletes the job if it still has that UID.
type DeleteJob struct{ UID types.UID }

func (CreateService) isStep() {}
func (CreatePod) isStep()     {}
func (DeletePod) isStep()     {}
func (DeleteJob) isStep()     {}

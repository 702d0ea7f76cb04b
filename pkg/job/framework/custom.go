package framework

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Package custom is the framework of jobs that bring their own launcher. Their replicas find each other by
//
//	TRAININGJOB_NAME              the job's name
//	TRAININGJOB_ROLE              the replica's role in lower case
//	TRAININGJOB_INDEX             its index within the role, from 0
//	TRAININGJOB_REPLICAS          the number of replicas of the role
//	TRAININGJOB_LEADER_ADDRESS    DNS name of the chief, master or launcher, else of worker 0
//
// beside TRAININGJOB_RANK, TRAININGJOB_ATTEMPT and TRAININGJOB_LIFE, which build.Pod gives to every replica of every framework.
func custom(job *v1alpha1.TrainingJob) func(state.Slot) []corev1.EnvVar {
	leader := build.Address(job, state.Leader(&job.Spec))
	return func(slot state.Slot) []corev1.EnvVar {
		return []corev1.EnvVar{
			{Name: v1alpha1.EnvName, Value: job.Name},
			{Name: v1alpha1.EnvRole, Value: strings.ToLower(string(slot.Role))},
			{Name: v1alpha1.EnvIndex, Value: strconv.Itoa(slot.Index)},
			{Name: v1alpha1.EnvReplicas, Value: strconv.Itoa(int(job.Spec.Replicas(slot.Role)))},
			{Name: v1alpha1.EnvLeaderAddress, Value: leader},
		}
	}
}

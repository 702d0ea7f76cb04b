package builder

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Status changes the status.
func Status(change func(*v1alpha1.TrainingJobStatus)) JobOption {
	return func(job *v1alpha1.TrainingJob) { change(&job.Status) }
}

// Attempt sets status.attempt.
func Attempt(n int32) JobOption {
	return Status(func(status *v1alpha1.TrainingJobStatus) { status.Attempt = n })
}

// Remember sets what is remembered of a role.
func Remember(role v1alpha1.Role, was v1alpha1.RoleMemory) JobOption {
	return Status(func(status *v1alpha1.TrainingJobStatus) {
		if status.Memory.Roles == nil {
			status.Memory.Roles = map[v1alpha1.Role]v1alpha1.RoleMemory{}
		}
		status.Memory.Roles[role] = was
	})
}

// Restarted sets how many restarts a role has caused.
func Restarted(role v1alpha1.Role, n int32) JobOption {
	return Status(func(status *v1alpha1.TrainingJobStatus) {
		if status.ReplicaStatuses == nil {
			status.ReplicaStatuses = map[v1alpha1.Role]v1alpha1.ReplicaStatus{}
		}
		status.ReplicaStatuses[role] = v1alpha1.ReplicaStatus{Restarts: n}
	})
}

// RestartsInRow says that the whole job is in its n-th restart in a row.
func RestartsInRow(n int32) JobOption {
	return Status(func(status *v1alpha1.TrainingJobStatus) { status.Memory.RestartsInRow = n })
}

// OwnRestartsInRow says that worker 1 is in its n-th restart in a row, begun d after Epoch. For 0 it remembers nothing.
func OwnRestartsInRow(n int, d time.Duration) JobOption {
	if n == 0 {
		return Status(func(*v1alpha1.TrainingJobStatus) {})
	}
	return Remember(v1alpha1.Worker, v1alpha1.RoleMemory{RestartsInRow: fmt.Sprintf("1:%d", n), NextStarts: fmt.Sprintf("1:%d", Epoch.Add(d).Unix())})
}

// StartedAt says that the job was taken on and started d after Epoch.
func StartedAt(d time.Duration) JobOption {
	return func(job *v1alpha1.TrainingJob) {
		job.Status.StartTime = TimePtr(d)
		Condition(v1alpha1.ConditionCreated, true, v1alpha1.ReasonJobCreated, d)(job)
	}
}

// CheckpointRequested says that the ranks were asked d after Epoch to save a checkpoint, and have 10 s for it. The request's id is 0-1.
func CheckpointRequested(d time.Duration) JobOption {
	return Status(func(status *v1alpha1.TrainingJobStatus) {
		status.CheckpointRequest = &v1alpha1.CheckpointRequest{ID: "0-1", Reason: v1alpha1.ReasonSuspended, Time: Time(d), DeadlineTime: Time(d + 10*time.Second)}
	})
}

// Condition adds a condition that came d after Epoch.
func Condition(kind string, is bool, reason string, d time.Duration) JobOption {
	return Status(func(status *v1alpha1.TrainingJobStatus) {
		condition := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, LastTransitionTime: Time(d)}
		if is {
			condition.Status = metav1.ConditionTrue
		}
		status.Conditions = append(status.Conditions, condition)
	})
}

// Charged says that restarts were charged to a budget at these times after Epoch.
func Charged(name v1alpha1.BudgetName, at ...time.Duration) JobOption {
	return Status(func(status *v1alpha1.TrainingJobStatus) {
		charges := v1alpha1.Charges{Name: name}
		for _, d := range at {
			charges.Times = append(charges.Times, Time(d))
		}
		status.Memory.Charges = append(status.Memory.Charges, charges)
		status.Budgets = append(status.Budgets, v1alpha1.Budget{Name: name, Used: int32(len(at))})
		status.ChargedRestarts += int32(len(at))
	})
}

// Incidents sets status.incidents, newest first.
func Incidents(incidents ...v1alpha1.Incident) JobOption {
	return Status(func(status *v1alpha1.TrainingJobStatus) { status.Incidents = incidents })
}

// Avoided says that the job avoids a node until d after Epoch.
func Avoided(node string, until time.Duration) JobOption {
	return Status(func(status *v1alpha1.TrainingJobStatus) {
		status.AvoidedNodes = append(status.AvoidedNodes, v1alpha1.AvoidedNode{Name: node, Failures: 1, ExpirationTime: Time(until)})
	})
}

// RunsSince says that all replicas run since d after Epoch.
func RunsSince(d time.Duration) JobOption {
	return func(job *v1alpha1.TrainingJob) {
		StartedAt(0)(job)
		Condition(v1alpha1.ConditionRunning, true, v1alpha1.ReasonAllReplicasRunning, d)(job)
	}
}

// Dispatched makes the job a copy that MultiKueue has made, with this carried status. Source: SetMultiKueueMeta in sigs.k8s.io/kueue.
func Dispatched(carried string) JobOption {
	return func(job *v1alpha1.TrainingJob) {
		metav1.SetMetaDataLabel(&job.ObjectMeta, v1alpha1.LabelMultiKueueOrigin, "multikueue")
		metav1.SetMetaDataAnnotation(&job.ObjectMeta, v1alpha1.KueuePrebuiltWorkload, "trainingjob-j-1234")
		metav1.SetMetaDataAnnotation(&job.ObjectMeta, v1alpha1.AnnotationCarriedStatus, carried)
	}
}

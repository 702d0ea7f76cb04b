package serve

import (
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Mirror returns the status of the job that its TrainingJob makes true. roles are the names of the TrainingJob's roles in the job.
func (j *Job) Mirror(child *v1alpha1.TrainingJob, roles map[v1alpha1.Role]string, now time.Time) Status {
	m := j.mirror(child, roles, now)
	switch {
	case m.next.isFinished(): // workflows wait for the last counts
	case j.IsSuspended():
		m.suspend()
	case m.next.is(Suspended):
		m.resume()
		m.goOn()
	default:
		m.goOn()
	}
	return m.next
}

// Refuse returns the status of a job that cannot be served.
func (j *Job) Refuse(why string, now time.Time) Status {
	m := &mirror{job: j, now: now, next: j.Status}
	m.next.Conditions = j.Status.withoutStalled()
	m.set(Failed, corev1.ConditionTrue, "FailedValidation", "%s", why)
	end := metav1.NewTime(now.Truncate(time.Second))
	m.next.CompletionTime = &end
	return m.next
}

// Stall returns the status of a job that has no TrainingJob until a user acts.
func (j *Job) Stall(reason, why string, now time.Time) Status {
	known := j.Status.condition(Stalled)
	if j.Status.isFinished() || known != nil && known.Message == why {
		return j.Status
	}
	m := &mirror{job: j, now: now, next: j.Status}
	m.next.Conditions = j.Status.withoutStalled()
	m.set(Stalled, corev1.ConditionTrue, reason, "%s", why)
	return m.next
}

// mirror makes one status.
type mirror struct {
	job   *Job
	child *v1alpha1.TrainingJob
	roles map[v1alpha1.Role]string
	now   time.Time
	next  Status
}

// mirror returns the start of a status: the one that the job has, and Created.
func (j *Job) mirror(child *v1alpha1.TrainingJob, roles map[v1alpha1.Role]string, now time.Time) *mirror {
	m := &mirror{job: j, child: child, roles: roles, now: now, next: j.Status}
	m.next.Conditions = j.Status.withoutStalled()
	m.next.ReplicaStatuses = maps.Clone(j.Status.ReplicaStatuses)
	if len(m.next.Conditions) == 0 {
		m.set(Created, corev1.ConditionTrue, "Created", "%s %s is created.", j.kind.Name, j.Name)
	}
	return m
}

func (m *mirror) set(kind string, status corev1.ConditionStatus, reason, message string, args ...any) {
	m.next.set(Condition{Type: kind, Status: status, Reason: m.job.kind.Name + reason, Message: fmt.Sprintf(message, args...)}, m.now)
}

// childIs reports whether the condition of that type is True in the TrainingJob.
func (m *mirror) childIs(condition string) bool {
	return meta.IsStatusConditionTrue(m.child.Status.Conditions, condition)
}

func (m *mirror) suspend() {
	kind, name := m.job.kind.Name, m.job.Name
	if m.next.is(Running) {
		m.set(Running, corev1.ConditionFalse, "Suspended", "%s %s is suspended.", kind, name)
	}
	m.set(Suspended, corev1.ConditionTrue, "Suspended", "%s %s is suspended.", kind, name)
	m.count()
}

func (m *mirror) resume() {
	m.set(Suspended, corev1.ConditionFalse, "Resumed", "%s %s is resumed.", m.job.kind.Name, m.job.Name)
	m.next.StartTime = nil
}

// goOn mirrors a job that is not suspended. The conditions of a suspension that is over do not count.
func (m *mirror) goOn() {
	m.begin()
	if m.childIs(v1alpha1.ConditionSuspended) || m.child.Spec.IsSuspended() {
		return
	}
	switch kind := m.job.kind.Name; {
	case m.childIs(v1alpha1.ConditionSucceeded):
		m.set(Succeeded, corev1.ConditionTrue, "Succeeded", "%s", m.successMessage())
		m.next.CompletionTime = m.child.Status.CompletionTime
	case m.childIs(v1alpha1.ConditionFailed):
		m.set(Failed, corev1.ConditionTrue, "Failed", "%s %s is failed. %s", kind, m.job.Name, m.messageOf(v1alpha1.ConditionFailed))
		m.next.CompletionTime = m.child.Status.CompletionTime
	case m.childIs(v1alpha1.ConditionRestarting):
		m.set(Restarting, corev1.ConditionTrue, "Restarting", "%s %s is restarting. %s", kind, m.job.Name, m.messageOf(v1alpha1.ConditionRestarting))
	case m.childIs(v1alpha1.ConditionRunning):
		m.set(Running, corev1.ConditionTrue, "Running", "%s %s is running.", kind, m.named())
	}
	m.count()
}

// begin sets the start of a job that has none.
func (m *mirror) begin() {
	if m.next.StartTime == nil {
		start := metav1.NewTime(m.now.Truncate(time.Second))
		m.next.StartTime = &start
	}
}

func (m *mirror) messageOf(condition string) string {
	return meta.FindStatusCondition(m.child.Status.Conditions, condition).Message
}

// hasNamespace reports whether the messages of the job's kind name its namespace.
func (m *mirror) hasNamespace() bool {
	for _, source := range m.roles {
		if strings.EqualFold(source, string(v1alpha1.Master)) {
			return m.job.kind.hasNamespace[1]
		}
	}
	return m.job.kind.hasNamespace[0]
}

func (m *mirror) named() string {
	if m.hasNamespace() {
		return m.job.Namespace + "/" + m.job.Name
	}
	return m.job.Name
}

func (m *mirror) successMessage() string {
	if m.hasNamespace() {
		return fmt.Sprintf("%s %s successfully completed.", m.job.kind.Name, m.named())
	}
	return fmt.Sprintf("%s %s is successfully completed.", m.job.kind.Name, m.named())
}

// count counts the pods of each role. A pod is active until it is gone or has ended: Kueue frees the quota by that. The counts begin with the
// first pod, which saves a write. What has failed is final at the end of the job only: until then, each failed pod gets a successor.
func (m *mirror) count() {
	if m.child == nil || len(m.child.Status.ReplicaStatuses) == 0 {
		return
	}
	counts, sum := map[string]ReplicaStatus{}, int32(0)
	for role, source := range m.roles {
		counted := m.child.Status.ReplicaStatuses[role]
		sum += counted.Active + counted.Succeeded + counted.Failed
		count := ReplicaStatus{Active: counted.Active, Succeeded: counted.Succeeded, Selector: m.selector(source)}
		if m.next.isFinished() {
			count.Failed = counted.Failed
		}
		counts[source] = count
	}
	if sum == 0 && m.next.ReplicaStatuses == nil {
		return
	}
	m.next.ReplicaStatuses = counts
	m.settle()
}

// settle counts each replica once, at the end of the job. A replica that still ran when the job succeeded has succeeded.
// Source: pkg/controller.v1/common/job.go of Training Operator 1.9.4.
func (m *mirror) settle() {
	if !m.next.isFinished() {
		return
	}
	for role, source := range m.roles {
		count, replicas := m.next.ReplicaStatuses[source], m.child.Spec.Replicas(role)
		if m.next.is(Succeeded) {
			count.Succeeded = min(count.Succeeded+count.Active, replicas)
		}
		count.Failed = min(count.Failed, replicas-count.Succeeded)
		count.Active = 0
		m.next.ReplicaStatuses[source] = count
	}
}

// selector returns the label selector of a role's pods, as text.
func (m *mirror) selector(role string) string {
	return labels.Set{
		v1alpha1.KubeflowLabelJobName:      m.job.Name,
		v1alpha1.KubeflowLabelOperatorName: m.job.kind.operator(),
		v1alpha1.KubeflowLabelReplicaType:  strings.ToLower(role),
	}.String()
}

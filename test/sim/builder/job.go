package builder

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// JobOption changes a job.
type JobOption func(*v1alpha1.TrainingJob)

// Job returns a job of that name in namespace team-a, as the API server would store it: a Custom job unless an
// option says otherwise, with the schema's defaults.
func Job(name string, options ...JobOption) *v1alpha1.TrainingJob {
	job := &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "team-a", UID: types.UID("uid-" + name), Generation: 1, CreationTimestamp: Time(0),
		},
		Spec: v1alpha1.TrainingJobSpec{
			Framework: v1alpha1.Custom, Suspend: ptr.To(false), ReplicaSpecs: map[v1alpha1.Role]v1alpha1.ReplicaSpec{},
		},
	}
	for _, apply := range options {
		apply(job)
	}
	applyDefaults(&job.Spec)
	return job
}

// Submitted returns a job as a user submits it to a real API server, without defaults.
func Submitted(name string, framework v1alpha1.Framework, options ...JobOption) *v1alpha1.TrainingJob {
	job := &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.TrainingJobSpec{Framework: framework, ReplicaSpecs: map[v1alpha1.Role]v1alpha1.ReplicaSpec{}},
	}
	for _, apply := range options {
		apply(job)
	}
	return job
}

// applyDefaults is the one place that repeats the defaults of the CRD's schema; a test holds it against the schema.
func applyDefaults(spec *v1alpha1.TrainingJobSpec) {
	recovery := &spec.Recovery
	for field, value := range map[**int32]int32{
		&recovery.MaxOOMRestarts: 3, &recovery.MaxHangRestarts: 5, &recovery.WindowSeconds: 86400,
		&recovery.NoProgressLimit: 3, &recovery.SameCrashLimit: 3, &recovery.IncidentWindowSeconds: 60, &recovery.AvoidNodesSeconds: 86400,
		&recovery.BackoffSeconds: 5, &recovery.MaxBackoffSeconds: 300, &recovery.TerminationGraceSeconds: 5,
		&spec.RunPolicy.FinishGraceSeconds: 30,
	} {
		*field = cmp.Or(*field, &value)
	}
	spec.SuccessPolicy = cmp.Or(spec.SuccessPolicy, v1alpha1.SuccessLeader)
	spec.RunPolicy.CleanPodPolicy = cmp.Or(spec.RunPolicy.CleanPodPolicy, v1alpha1.CleanRunning)
	for role, replicas := range spec.ReplicaSpecs {
		replicas.Replicas = cmp.Or(replicas.Replicas, ptr.To[int32](1))
		replicas.RestartPolicy = cmp.Or(replicas.RestartPolicy, v1alpha1.RestartOnFailure)
		spec.ReplicaSpecs[role] = replicas
	}
}

// Role returns the role that is written in lower case, as in host names; it panics if there is none.
func Role(name string) v1alpha1.Role {
	for _, role := range v1alpha1.Roles {
		if strings.EqualFold(string(role), name) {
			return role
		}
	}
	return v1alpha1.Role(name) // one of the job's own
}

// Framework sets the framework.
func Framework(f v1alpha1.Framework) JobOption {
	return func(job *v1alpha1.TrainingJob) { job.Spec.Framework = f }
}

// Replicas gives the job n replicas of a role, each with one container named main, and changes them.
func Replicas(role v1alpha1.Role, n int, options ...ReplicaOption) JobOption {
	count := func(replicas *v1alpha1.ReplicaSpec) {
		replicas.Replicas = ptr.To(int32(n))
		if len(replicas.Template.Spec.Containers) == 0 {
			replicas.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "train"}}
		}
	}
	return Of(role, append([]ReplicaOption{count}, options...)...)
}

// Workers gives the job n workers.
func Workers(n int, options ...ReplicaOption) JobOption {
	return Replicas(v1alpha1.Worker, n, options...)
}

// PS gives the job n parameter servers.
func PS(n int, options ...ReplicaOption) JobOption { return Replicas(v1alpha1.PS, n, options...) }

// Evaluators gives the job n evaluators.
func Evaluators(n int, options ...ReplicaOption) JobOption {
	return Replicas(v1alpha1.Evaluator, n, options...)
}

// Leader gives the job a Chief, Master or Launcher.
func Leader(role v1alpha1.Role, options ...ReplicaOption) JobOption {
	return Replicas(role, 1, options...)
}

// Of changes the replicas of a role.
func Of(role v1alpha1.Role, options ...ReplicaOption) JobOption {
	return func(job *v1alpha1.TrainingJob) {
		replicas := job.Spec.ReplicaSpecs[role]
		for _, change := range options {
			change(&replicas)
		}
		job.Spec.ReplicaSpecs[role] = replicas
	}
}

// EveryRole changes the replicas of every role that the job has by now.
func EveryRole(options ...ReplicaOption) JobOption {
	return func(job *v1alpha1.TrainingJob) {
		for role := range job.Spec.ReplicaSpecs {
			Of(role, options...)(job)
		}
	}
}

// Elastic lets the number of workers change within bounds.
func Elastic(least, most int) JobOption {
	return func(job *v1alpha1.TrainingJob) {
		job.Spec.Elastic = &v1alpha1.Elastic{MinReplicas: int32(least), MaxReplicas: int32(most)}
	}
}

// AllWorkers makes success that of all workers.
func AllWorkers() JobOption {
	return func(job *v1alpha1.TrainingJob) { job.Spec.SuccessPolicy = v1alpha1.SuccessAllWorkers }
}

// AnyWorker lets the job succeed with its first worker that exits with code 0.
func AnyWorker() JobOption {
	return func(job *v1alpha1.TrainingJob) { job.Spec.SuccessPolicy = v1alpha1.SuccessAnyWorker }
}

// Suspended sets spec.suspend.
func Suspended() JobOption {
	return func(job *v1alpha1.TrainingJob) { job.Spec.Suspend = ptr.To(true) }
}

// Served makes the job serve a Kubeflow job of its name.
func Served() JobOption {
	return func(job *v1alpha1.TrainingJob) {
		job.OwnerReferences = []metav1.OwnerReference{{APIVersion: "kubeflow.org/v1", Kind: "PyTorchJob", Name: job.Name, UID: "kubeflow", Controller: ptr.To(true)}}
	}
}

// FirstAttempt annotates the job with the attempt that it begins with.
func FirstAttempt(text string) JobOption {
	return func(j *v1alpha1.TrainingJob) {
		if j.Annotations == nil {
			j.Annotations = map[string]string{}
		}
		j.Annotations[v1alpha1.AnnotationFirstAttempt] = text
	}
}

// MaxRestarts sets recovery.maxRestarts.
func MaxRestarts(n int) JobOption {
	return func(job *v1alpha1.TrainingJob) { job.Spec.Recovery.MaxRestarts = ptr.To(int32(n)) }
}

// BackOff sets recovery.backoffSeconds and recovery.maxBackoffSeconds.
func BackOff(seconds, most int) JobOption {
	return func(job *v1alpha1.TrainingJob) {
		job.Spec.Recovery.BackoffSeconds, job.Spec.Recovery.MaxBackoffSeconds = ptr.To(int32(seconds)), ptr.To(int32(most))
	}
}

// MaxOOMRestarts sets recovery.maxOOMRestarts.
func MaxOOMRestarts(n int) JobOption {
	return Recovery(func(r *v1alpha1.Recovery) { r.MaxOOMRestarts = ptr.To(int32(n)) })
}

// Recovery changes spec.recovery.
func Recovery(change func(*v1alpha1.Recovery)) JobOption {
	return func(job *v1alpha1.TrainingJob) { change(&job.Spec.Recovery) }
}

// Rules sets recovery.rules.
func Rules(rules ...v1alpha1.RecoveryRule) JobOption {
	return Recovery(func(r *v1alpha1.Recovery) { r.Rules = rules })
}

// Progress makes the job report its progress by a page of rank 0.
func Progress(stallAfter int32, action v1alpha1.StallAction) JobOption {
	return Page(9500, stallAfter, action)
}

// Page is the same on that port; with port 0 the job has no page, as jobs of former versions that renewed a Lease.
func Page(port, stallAfter int32, action v1alpha1.StallAction) JobOption {
	return func(job *v1alpha1.TrainingJob) {
		job.Spec.Progress = &v1alpha1.Progress{Port: port, StallAfterSeconds: stallAfter, Action: action}
	}
}

// Asking gives the ranks so many seconds to save a checkpoint before they are stopped although they are well.
func Asking(seconds int32) JobOption {
	return func(job *v1alpha1.TrainingJob) {
		if job.Spec.Progress == nil {
			Progress(v1alpha1.DefaultStallAfterSeconds, v1alpha1.StallNotify)(job)
		}
		job.Spec.Progress.CheckpointGraceSeconds = seconds
	}
}

// Clean sets runPolicy.cleanPodPolicy.
func Clean(policy v1alpha1.CleanPodPolicy) JobOption {
	return func(job *v1alpha1.TrainingJob) { job.Spec.RunPolicy.CleanPodPolicy = policy }
}

// FinishGrace says how long ranks that still run when the job succeeds may go on.
func FinishGrace(seconds int32) JobOption {
	return func(job *v1alpha1.TrainingJob) { job.Spec.RunPolicy.FinishGraceSeconds = &seconds }
}

// TTL sets runPolicy.ttlSecondsAfterFinished.
func TTL(seconds int32) JobOption {
	return func(job *v1alpha1.TrainingJob) { job.Spec.RunPolicy.TTLSecondsAfterFinished = &seconds }
}

// Deadline sets runPolicy.activeDeadlineSeconds.
func Deadline(seconds int32) JobOption {
	return func(job *v1alpha1.TrainingJob) { job.Spec.RunPolicy.ActiveDeadlineSeconds = &seconds }
}

// StartupDeadline sets runPolicy.startupDeadlineSeconds.
func StartupDeadline(seconds int32) JobOption {
	return func(job *v1alpha1.TrainingJob) { job.Spec.RunPolicy.StartupDeadlineSeconds = &seconds }
}

// Gang sets who schedules all pods at once or none of them.
func Gang(gang v1alpha1.Gang) JobOption {
	return Scheduling(func(s *v1alpha1.Scheduling) { s.Gang = gang })
}

// InDomain keeps the job's pods in one rack, those of the roles if there are any, and leaves it pending if no rack has room.
func InDomain(roles ...v1alpha1.Role) JobOption {
	return Scheduling(func(s *v1alpha1.Scheduling) {
		s.Topology = &v1alpha1.Topology{Key: "rack", Mode: v1alpha1.TopologyRequired, Roles: roles}
	})
}

// MinAvailable sets how many pods of the gang are enough.
func MinAvailable(n int32) JobOption {
	return Scheduling(func(s *v1alpha1.Scheduling) { s.MinAvailable = &n })
}

// SchedulingTimeout sets scheduling.timeoutSeconds.
func SchedulingTimeout(seconds int32) JobOption {
	return Scheduling(func(s *v1alpha1.Scheduling) { s.TimeoutSeconds = &seconds })
}

// Scheduling changes spec.scheduling.
func Scheduling(change func(*v1alpha1.Scheduling)) JobOption {
	return func(job *v1alpha1.TrainingJob) {
		if job.Spec.Scheduling == nil {
			job.Spec.Scheduling = &v1alpha1.Scheduling{}
		}
		change(job.Spec.Scheduling)
	}
}

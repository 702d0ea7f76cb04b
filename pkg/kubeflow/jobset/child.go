package jobset

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/kubeflow/convert"
	"github.com/trainingjob/operator/pkg/kubeflow/serve"
)

// Serve returns the TrainingJob that serves the JobSet, and the roles of the replicated jobs. It returns an error with a correction if the JobSet has what
// a TrainingJob cannot keep. Overrides that are refused leave the child as it is without them.
func (s *JobSet) Serve() (*serve.Served, error) {
	if err := s.unservable(); err != nil {
		return nil, err
	}
	c, err := s.casting()
	if err != nil {
		return nil, err
	}
	recovery, err := s.recovery(c)
	if err != nil {
		return nil, err
	}
	child := &v1alpha1.TrainingJob{}
	child.APIVersion, child.Kind = v1alpha1.GroupVersion.String(), v1alpha1.Kind
	child.Labels, child.Annotations = maps.Clone(s.Labels), maps.Clone(s.Annotations)
	delete(child.Annotations, corev1.LastAppliedConfigAnnotation)
	delete(child.Annotations, v1alpha1.AnnotationTrainJob)
	if owner := metav1.GetControllerOfNoCopy(s); owner != nil && owner.Kind == v1alpha1.TrainJobKind {
		metav1.SetMetaDataAnnotation(&child.ObjectMeta, v1alpha1.AnnotationTrainJob, owner.Name+"/"+string(owner.UID))
	}
	metav1.SetMetaDataAnnotation(&child.ObjectMeta, v1alpha1.AnnotationReplicaServices, v1alpha1.ReplicaServicesNone)
	child.Spec = v1alpha1.TrainingJobSpec{
		Framework: v1alpha1.Custom, Suspend: ptr.To(s.Spec.Suspend), SuccessPolicy: c.policy, Recovery: recovery,
		RunPolicy:    v1alpha1.RunPolicy{CleanPodPolicy: v1alpha1.CleanRunning, ActiveDeadlineSeconds: s.deadline()},
		ReplicaSpecs: map[v1alpha1.Role]v1alpha1.ReplicaSpec{},
	}
	served := &serve.Served{Child: child, Roles: map[v1alpha1.Role]string{}, Notes: s.notes()}
	for name, role := range c.roles {
		served.Roles[role] = name
	}
	leader := s.address(served.Roles[c.leader()])
	for i := range s.Spec.ReplicatedJobs {
		job := &s.Spec.ReplicatedJobs[i]
		child.Spec.ReplicaSpecs[c.roles[job.Name]] = v1alpha1.ReplicaSpec{
			Replicas: ptr.To(job.size()), Template: s.template(i, leader), RestartPolicy: v1alpha1.RestartOnFailure, RestartScope: v1alpha1.ScopeJob,
		}
	}
	err = served.Finish(s, serve.JobSet)
	child.Name = s.childName()
	return served, err
}

// leader returns the role whose first replica leads the TrainingJob.
func (c *cast) leader() v1alpha1.Role {
	if c.nameOf(v1alpha1.Master) != "" {
		return v1alpha1.Master
	}
	return v1alpha1.Worker
}

// deadline returns the shortest deadline of the Jobs; nil for none.
func (s *JobSet) deadline() (shortest *int32) {
	for i := range s.Spec.ReplicatedJobs {
		if own := s.Spec.ReplicatedJobs[i].Template.Spec.ActiveDeadlineSeconds; own != nil && (shortest == nil || *own < int64(*shortest)) {
			shortest = ptr.To(int32(max(1, min(*own, longestSeconds))))
		}
	}
	return shortest
}

// longestSeconds is the longest deadline of a TrainingJob.
const longestSeconds = 315360000

// notes say what has another meaning than under JobSet's controller.
func (s *JobSet) notes() (notes []convert.Note) {
	changed := func(path, advice string) {
		notes = append(notes, convert.Note{Effect: convert.Changed, Path: path, Advice: advice})
	}
	if s.startsInOrder() {
		changed("spec.startupPolicy", "all pods start at once, and the ranks wait for each other")
	}
	if s.deadline() != nil {
		changed("spec.replicatedJobs.template.spec.activeDeadlineSeconds", "the shortest counts for the JobSet, without suspended time, and fails it")
	}
	return notes
}

// startsInOrder reports whether a replicated job waits for another one.
func (s *JobSet) startsInOrder() bool {
	for i := range s.Spec.ReplicatedJobs {
		if job := &s.Spec.ReplicatedJobs[i]; len(job.awaited()) < len(job.DependsOn) {
			return true
		}
	}
	return s.Spec.StartupPolicy.StartupPolicyOrder == "InOrder"
}

var _ serve.Parent = (*JobSet)(nil)

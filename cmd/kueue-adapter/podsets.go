package main

import (
	"context"
	"fmt"

	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/features"
	"sigs.k8s.io/kueue/pkg/podset"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// annotationPartial is on a job that runs with fewer workers than requested: "2 of 6". It restores the 6 for the next admission, and
// shows whether a user has scaled the job since.
const annotationPartial = v1alpha1.AnnotationAdmittedWorkers

// roles returns the roles that have pods, by rank: the order of the pod sets.
func (j *trainingJob) roles() []v1alpha1.Role {
	var roles []v1alpha1.Role
	for _, role := range j.Spec.Roles() {
		if j.Spec.Replicas(role)+j.spares(role) > 0 {
			roles = append(roles, role)
		}
	}
	return roles
}

// spares returns the number of placeholder pods of the role: they hold nodes, so they need quota.
func (j *trainingJob) spares(role v1alpha1.Role) int32 {
	if spares := j.Spec.ReplicaSpecs[role].Spares; spares != nil {
		return spares.Count
	}
	return 0
}

// PodSets returns what each role needs.
func (j *trainingJob) PodSets(context.Context, client.Client) ([]kueue.PodSet, error) {
	var sets []kueue.PodSet
	for _, role := range j.roles() {
		set, err := j.podSet(role)
		if err != nil {
			return nil, fmt.Errorf("replicaSpecs.%s.template.metadata.annotations: %w", role, err)
		}
		sets = append(sets, set)
	}
	return sets, nil
}

func (j *trainingJob) podSet(role v1alpha1.Role) (kueue.PodSet, error) {
	spec := j.Spec.ReplicaSpecs[role]
	template := spec.Template.DeepCopy()
	set := kueue.PodSet{
		Name:     kueue.NewPodSetReference(string(role)),
		Template: *template,
		Count:    j.Spec.Replicas(role) + j.spares(role),
	}
	if j.Spec.Elastic != nil && role == v1alpha1.Worker {
		set.MinCount = ptr.To(j.Spec.Elastic.MinReplicas + j.spares(role))
	}
	if !features.Enabled(features.TopologyAwareScheduling) {
		return set, nil
	}
	var err error
	set.TopologyRequest, err = jobframework.NewPodSetTopologyRequest(&template.ObjectMeta).PodIndexLabel(ptr.To(v1alpha1.LabelIndex)).Build()
	return set, err
}

// RunWithPodSetsInfo starts the job where and with as many workers as Kueue has admitted.
func (j *trainingJob) RunWithPodSetsInfo(ctx context.Context, _ client.Client, admitted []podset.PodSetInfo) error {
	roles := j.roles()
	if len(admitted) != len(roles) {
		return podset.BadPodSetsInfoLenError(len(roles), len(admitted))
	}
	for i, role := range roles {
		spec := j.Spec.ReplicaSpecs[role]
		if err := podset.Merge(ctrl.LoggerFrom(ctx), &spec.Template.ObjectMeta, &spec.Template.Spec, admitted[i]); err != nil {
			return fmt.Errorf("replicaSpecs.%s.template: %w", role, err)
		}
		if asked, given := j.Spec.Replicas(role), admitted[i].Count-j.spares(role); given != asked {
			spec.Replicas = &given
			j.annotatePartial(fmt.Sprintf("%d of %d", given, asked))
		}
		j.Spec.ReplicaSpecs[role] = spec
	}
	j.Spec.Suspend = ptr.To(false)
	return nil
}

// RestorePodSetsInfo reverts the changes of RunWithPodSetsInfo, but not the scaling by a user since then.
func (j *trainingJob) RestorePodSetsInfo(ctx context.Context, wanted []podset.PodSetInfo) bool {
	roles := j.roles()
	if len(wanted) != len(roles) {
		ctrl.LoggerFrom(ctx).Info("templates are left as they are: the job's roles have changed", "roles", len(roles), "podSets", len(wanted))
		return false
	}
	changed := j.restoreWorkers()
	for i, role := range roles {
		spec := j.Spec.ReplicaSpecs[role]
		changed = podset.RestorePodSpec(&spec.Template.ObjectMeta, &spec.Template.Spec, wanted[i]) || changed
		j.Spec.ReplicaSpecs[role] = spec
	}
	return changed
}

// restoreWorkers ends a partial admission.
func (j *trainingJob) restoreWorkers() bool {
	note, found := j.Annotations[annotationPartial]
	if !found {
		return false
	}
	delete(j.Annotations, annotationPartial)
	var given, asked int32
	if _, err := fmt.Sscanf(note, "%d of %d", &given, &asked); err != nil || given != j.Spec.Replicas(v1alpha1.Worker) {
		return true
	}
	workers := j.Spec.ReplicaSpecs[v1alpha1.Worker]
	workers.Replicas = &asked
	j.Spec.ReplicaSpecs[v1alpha1.Worker] = workers
	return true
}

func (j *trainingJob) annotatePartial(note string) {
	if j.Annotations == nil {
		j.Annotations = map[string]string{}
	}
	j.Annotations[annotationPartial] = note
}

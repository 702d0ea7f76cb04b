package main

import (
	"context"
	"fmt"
	"maps"

	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/constants"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/features"
	"sigs.k8s.io/kueue/pkg/podset"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// annotationPartial is on a job that runs with fewer workers than requested: "2 of 6". It shows whether a user has scaled the job since.
const annotationPartial = v1alpha1.AnnotationAdmittedWorkers

// roles returns the roles that have pods, by rank: the order of the pod sets.
func (j *trainingJob) roles() []v1alpha1.Role {
	var roles []v1alpha1.Role
	for _, role := range j.Spec.Roles() {
		if j.Spec.Replicas(role) > 0 {
			roles = append(roles, role)
		}
	}
	return roles
}

// replicas returns how many replicas of the role need quota. A manifest that is applied again requests all workers of a job that was admitted
// with fewer: the admission stays, and quotas gives the spec the admitted number again.
func (j *trainingJob) replicas(role v1alpha1.Role) int32 {
	if given, isRequested := j.requestedAgain(); isRequested && role == v1alpha1.Worker {
		return given
	}
	return j.Spec.Replicas(role)
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
	template.Name = j.dispatchName()
	set := kueue.PodSet{
		Name:     kueue.NewPodSetReference(string(role)),
		Template: *template,
		Count:    j.replicas(role),
	}
	if j.Spec.Elastic != nil && role == v1alpha1.Worker {
		set.MinCount = ptr.To(j.Spec.Elastic.MinReplicas)
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
	if j.isPaused() {
		return errPaused
	}
	roles := j.roles()
	if len(admitted) != len(roles) {
		return podset.BadPodSetsInfoLenError(len(roles), len(admitted))
	}
	delete(j.Annotations, annotationPartial)
	delete(j.Annotations, v1alpha1.AnnotationQueueResized)
	for i, role := range roles {
		spec := j.Spec.ReplicaSpecs[role]
		if err := podset.Merge(ctrl.LoggerFrom(ctx), &spec.Template.ObjectMeta, &spec.Template.Spec, admitted[i]); err != nil {
			return fmt.Errorf("replicaSpecs.%s.template: %w", role, err)
		}
		if asked, given := j.Spec.Replicas(role), admitted[i].Count; given != asked {
			spec.Replicas = &given
			j.annotatePartial(fmt.Sprintf("%d of %d", given, asked))
		}
		j.Spec.ReplicaSpecs[role] = spec
	}
	j.Spec.Suspend = ptr.To(false)
	if !j.Spec.IsDispatched() {
		controllerutil.AddFinalizer(j.Object(), v1alpha1.FinalizerQuota)
	}
	return nil
}

// RestorePodSetsInfo reverts the changes of RunWithPodSetsInfo, but not the scaling by a user since then. Without the pod sets of the job's
// Workload it removes no more than the label by which isStarted recognizes the admission.
func (j *trainingJob) RestorePodSetsInfo(_ context.Context, wanted []podset.PodSetInfo) bool {
	note, changed := j.Annotations[annotationPartial]
	delete(j.Annotations, annotationPartial)
	given, asked, isPartial := readPartial(note)
	for role, spec := range j.Spec.ReplicaSpecs {
		meta := &spec.Template.ObjectMeta
		for _, former := range wanted {
			if former.Name != kueue.NewPodSetReference(string(role)) {
				continue
			}
			if isPartial && role == v1alpha1.Worker && given == j.Spec.Replicas(role) {
				spec.Replicas = ptr.To(max(given, min(asked, former.Count))) // a user may write the annotation
			}
			changed = podset.RestorePodSpec(meta, &spec.Template.Spec, former) || changed
		}
		if _, isMarked := meta.Labels[constants.PodSetLabel]; isMarked {
			meta.Labels = maps.Clone(meta.Labels)
			delete(meta.Labels, constants.PodSetLabel)
			changed = true
		}
		j.Spec.ReplicaSpecs[role] = spec
	}
	return changed
}

// requestedAgain reports whether the spec of a running job requests all workers again though Kueue has admitted fewer, and how many.
func (j *trainingJob) requestedAgain() (given int32, isRequested bool) {
	given, asked, isPartial := readPartial(j.Annotations[annotationPartial])
	return given, isPartial && !j.IsSuspended() && given < asked && asked == j.Spec.Replicas(v1alpha1.Worker)
}

// readPartial reads "2 of 6".
func readPartial(note string) (given, asked int32, isPartial bool) {
	_, err := fmt.Sscanf(note, "%d of %d", &given, &asked)
	return given, asked, err == nil
}

func (j *trainingJob) annotatePartial(note string) {
	if j.Annotations == nil {
		j.Annotations = map[string]string{}
	}
	j.Annotations[annotationPartial] = note
}

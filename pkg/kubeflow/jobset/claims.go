package jobset

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/kubeflow/serve"
)

// ClaimPolicy is claims that the replicated jobs of a JobSet share. They go with it, or outlive it.
type ClaimPolicy struct {
	Templates       []corev1.PersistentVolumeClaim `json:"templates"`
	RetentionPolicy struct {
		WhenDeleted string `json:"whenDeleted"` // Delete, the default, or Retain
	} `json:"retentionPolicy"`
}

// claims returns the claims of spec.volumeClaimPolicies, TEMPLATE-JOBSET by name. Source: pkg/controllers/volume_claim_policy.go of JobSet 0.12.
func (s *JobSet) claims() (claims []*corev1.PersistentVolumeClaim) {
	for _, policy := range s.Spec.VolumeClaimPolicies {
		for _, template := range policy.Templates {
			claim := &corev1.PersistentVolumeClaim{Spec: template.Spec, ObjectMeta: metav1.ObjectMeta{
				Namespace: s.Namespace, Name: template.Name + "-" + s.Name, Annotations: template.Annotations,
				Labels: merged(template.Labels, map[string]string{prefix + "jobset-name": s.Name}),
			}}
			if policy.RetentionPolicy.WhenDeleted != "Retain" {
				claim.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s, serve.JobSet.GroupVersionKind())}
			}
			claims = append(claims, claim)
		}
	}
	return claims
}

// mountClaims gives the pod the volumes of those claims that its containers mount, with the names of their templates.
func (s *JobSet) mountClaims(pod *corev1.PodSpec) {
	for _, claim := range s.claims() {
		name := strings.TrimSuffix(claim.Name, "-"+s.Name)
		mounts := func(c corev1.Container) bool {
			return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == name })
		}
		if slices.ContainsFunc(slices.Concat(pod.InitContainers, pod.Containers), mounts) {
			source := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name}
			pod.Volumes = append(pod.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: source}})
		}
	}
}

// createClaims creates the claims that are absent, until the last part runs: pods that run keep theirs. The operator has no right to read claims, so no
// cache shows them.
func (r *reconciler) createClaims(ctx context.Context, last *part) error {
	if last.IsSuspended() || last.IsFinished() || last.has(v1alpha1.ConditionRunning) {
		return nil
	}
	for _, claim := range last.claims() {
		if err := r.Client.Create(ctx, claim, serve.FieldOwner, client.DisableReadYourWritesConsistency); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating PersistentVolumeClaim %s of spec.volumeClaimPolicies: %w", claim.Name, err)
		}
	}
	return nil
}

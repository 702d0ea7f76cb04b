package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// verify compares a job that this process sees for the first time, and its pods, with the API server: another leader may have
// written last. A job without a status whose name is not on the startup list has no pods, and its first status write fails if it is old. If
// this process has verified an earlier job of that name, only the cache shows the pods of that one.
func (c *Cluster) verify(ctx context.Context, job *v1alpha1.TrainingJob, cached []corev1.Pod) error {
	if c.memo(job, nil).verified || meta.IsStatusConditionTrue(job.Status.Conditions, v1alpha1.ConditionFinished) {
		return nil
	}
	seen := make(map[types.UID]bool, len(cached))
	for i := range cached {
		seen[cached[i].UID] = true
	}
	known, fresh, err := c.isFresh(ctx, job, seen)
	switch {
	case err != nil:
		return err
	case !known && job.Status.ObservedGeneration == 0:
		return nil
	case !fresh:
		if err := c.compare(ctx, job, seen); err != nil {
			return err
		}
	}
	c.startup.remove(job)
	c.memo(job, func(m *jobMemo) { m.verified = true })
	return nil
}

// compare returns a conflict error if the API server has another version of the job, or an unseen pod. Pods of an earlier job of
// its name count too, because the present job waits for them.
func (c *Cluster) compare(ctx context.Context, job *v1alpha1.TrainingJob, seen map[types.UID]bool) error {
	var live v1alpha1.TrainingJob
	if err := c.live.Get(ctx, client.ObjectKeyFromObject(job), &live); err != nil {
		return fmt.Errorf("reading the job from the API server: %w", err)
	}
	if live.UID != job.UID || live.ResourceVersion != job.ResourceVersion {
		return staleCache(job, fmt.Sprintf("it has resourceVersion %s, the API server has %s", job.ResourceVersion, live.ResourceVersion))
	}
	unseen := ""
	err := c.eachLive(ctx, podList, func(pod *metav1.PartialObjectMetadata) {
		if ref := state.OwnerOf(pod); ref != nil && ref.Name == job.Name && !seen[pod.UID] {
			unseen = pod.Name
		}
	}, client.InNamespace(job.Namespace), client.HasLabels{v1alpha1.LabelJobUID}, client.MatchingLabels{v1alpha1.KubeflowLabelJobName: job.Name})
	switch {
	case err != nil:
		return fmt.Errorf("listing the pods from the API server: %w", err)
	case unseen != "":
		return staleCache(job, "it does not show pod "+unseen)
	default:
		return nil
	}
}

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/plan"
)

// Parallelism is how many writes to children an operator has under way at most, of all jobs together: more would only
// queue in the API server, where the scheduler and the nodes wait as well. The jobs of one namespace have a quarter of them.
const Parallelism = 32

// Act takes the steps, stage by stage, and stops at the first error. What the API server refuses for good becomes the refusal of the job's next
// snapshot and is no error; everything else that fails is.
func (c *Cluster) Act(ctx context.Context, job *v1alpha1.TrainingJob, steps []plan.Step) error {
	if len(steps) == 0 {
		return nil
	}
	c.memo(job, func(m *jobMemo) { m.found = nil })
	build := plan.Pods(job)
	var stages [plan.After + 1][]plan.Step
	for _, step := range steps {
		stages[plan.StageOf(step)] = append(stages[plan.StageOf(step)], step)
	}
	for _, step := range stages[plan.Before] {
		if err := c.take(ctx, job, step, build); err != nil {
			return c.handleRefusal(job, err)
		}
	}
	if len(stages[plan.Before])+len(stages[plan.Together])+len(stages[plan.Then]) > 0 {
		err := c.takeInParallel(ctx, job, stages[plan.Together], build)
		if err == nil {
			err = c.takeInParallel(ctx, job, stages[plan.Then], build)
		}
		if err := c.handleRefusal(job, err); err != nil {
			return err
		}
	}
	if len(stages[plan.After]) == 0 {
		return nil
	}
	return c.handleSpareRefusal(job, c.takeInParallel(ctx, job, stages[plan.After], build))
}

// takeInParallel takes the steps and returns the first error. After it, or when the job has changed, no further step is taken; what is under way
// goes on, as a write whose answer nobody waits for may be done all the same. A conflict concerns its own step only: it is returned last.
func (c *Cluster) takeInParallel(ctx context.Context, job *v1alpha1.TrainingJob, steps []plan.Step, build func(plan.CreatePod) *corev1.Pod) error {
	group, goesOn := errgroup.WithContext(ctx)
	group.SetLimit(int(c.writes.share))
	var changed atomic.Bool
	for i, step := range steps {
		if goesOn.Err() != nil {
			break
		}
		if i%lookEvery == lookEvery-1 && c.hasChanged(goesOn, job) {
			changed.Store(true)
			break
		}
		group.Go(func() error {
			release, err := c.writes.acquire(goesOn, job.Namespace)
			if err != nil {
				return err // another step has failed first, or the operator is ending
			}
			defer release()
			err = c.take(ctx, job, step, build)
			if apierrors.IsConflict(err) {
				changed.Store(true)
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil || !changed.Load() {
		return err
	}
	return staleCache(job, "the job or a pod has changed since it was read")
}

// lookEvery is after how many writes to pods a pass looks whether somebody has suspended, changed or deleted the job meanwhile.
const lookEvery = 100

// hasChanged reports whether the cache shows that the job is not any more what was decided about.
func (c *Cluster) hasChanged(ctx context.Context, job *v1alpha1.TrainingJob) bool {
	var now v1alpha1.TrainingJob
	err := c.client.Get(ctx, client.ObjectKeyFromObject(job), &now, client.DisableReadYourWritesConsistency)
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	return now.UID != job.UID || now.Generation != job.Generation || !now.DeletionTimestamp.Equal(job.DeletionTimestamp)
}

func (c *Cluster) take(ctx context.Context, job *v1alpha1.TrainingJob, step plan.Step, build func(plan.CreatePod) *corev1.Pod) error {
	switch step := step.(type) {
	case plan.CreateService:
		_, err := c.create(ctx, job, step.Service, &corev1.Service{})
		return err
	case plan.CreateLease:
		_, err := c.create(ctx, job, step.Lease, &coordinationv1.Lease{})
		return err
	case plan.CreateSSHKey:
		return c.createSSHKey(ctx, job)
	case plan.CreateGroup:
		return c.createGroup(ctx, job, step.Group)
	case plan.ResizeGroup:
		return c.resize(ctx, job, step)
	case plan.DeleteGroup:
		step.Empty.SetNamespace(job.Namespace)
		step.Empty.SetName(step.Name)
		return c.delete(ctx, step.Empty, client.Preconditions{UID: &step.UID})
	case plan.FencePod:
		return c.fence(ctx, job, step)
	case plan.CreatePod:
		uid, err := c.create(ctx, job, build(step), &corev1.Pod{}, client.DisableReadYourWritesConsistency)
		if err == nil {
			c.expectWrite(job, uid, false)
		}
		return err
	case plan.RestartPod:
		return c.restartPod(ctx, job, step)
	case plan.AskPod:
		return c.askPod(ctx, job, step)
	case plan.DeletePod:
		return c.deletePod(ctx, job, step)
	case plan.DeleteJob:
		return orMissingRight(adviceOnTTL,
			c.delete(ctx, job.DeepCopy(), client.Preconditions{UID: &step.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	default:
		return fmt.Errorf("no way to take a step of type %T", step)
	}
}

// resize patches the pod group if it still has the UID. One that is gone, another or going unseen is a conflict: no pod may join it.
func (c *Cluster) resize(ctx context.Context, job *v1alpha1.TrainingJob, step plan.ResizeGroup) error {
	step.Empty.SetNamespace(job.Namespace)
	step.Empty.SetName(step.Name)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": step.UID}, "spec": step.Spec})
	if err == nil {
		err = c.client.Patch(ctx, step.Empty, client.RawPatch(types.MergePatchType, patch))
	}
	switch {
	case err == nil && (step.Going || step.Empty.GetDeletionTimestamp() == nil):
		return nil
	case err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) || isAnother(err):
		return staleCache(job, "pod group "+step.Name+" is going, gone or another")
	default:
		return fmt.Errorf("resizing pod group %s: %w", step.Name, err)
	}
}

// createGroup creates the pod group. That the job's own exists already is a conflict: it may need another number of pods than the
// new one would, or be on its way out, and no pod may join it before somebody has looked.
func (c *Cluster) createGroup(ctx context.Context, job *v1alpha1.TrainingJob, group client.Object) error {
	existing, isObject := group.DeepCopyObject().(client.Object)
	if !isObject {
		return fmt.Errorf("a pod group of type %T is no object", group)
	}
	uid, err := c.create(ctx, job, group, existing)
	if err == nil && uid != group.GetUID() {
		return staleCache(job, "it does not show pod group "+group.GetName())
	}
	return err
}

// isAnother reports whether the API server refused a patch because the object of that name has another UID: it calls that
// invalid, as nobody can change a UID, and not a conflict.
func isAnother(err error) bool {
	cause, found := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid)
	return apierrors.IsInvalid(err) && found && cause.Field == "metadata.uid"
}

// isGoing reports whether the object leaves its name soon: it was deleted, or a former job of that name has left it behind.
func isGoing(o client.Object, job *v1alpha1.TrainingJob) bool {
	ref := controllerOf(o)
	return !o.GetDeletionTimestamp().IsZero() || ref != nil && ref.Name == job.Name && ref.UID != job.UID
}

// create creates a child and returns its UID. One that exists already is as good as created if the job controls it, else its name
// is held for a while, or for good.
func (c *Cluster) create(ctx context.Context, job *v1alpha1.TrainingJob, child, existing client.Object, options ...client.CreateOption) (types.UID, error) {
	err := c.client.Create(ctx, child, options...)
	if err == nil {
		return child.GetUID(), nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("creating %T %s: %w", child, child.GetName(), err)
	}
	if err := c.live.Get(ctx, client.ObjectKeyFromObject(child), existing); err != nil {
		return "", fmt.Errorf("reading %T %s, which exists already: %w", child, child.GetName(), err)
	}
	if !isControlledBy(existing, job) {
		if isGoing(existing, job) {
			return "", &nameHeld{name: child.GetName()}
		}
		return "", newNameConflict(child, existing, job)
	}
	return existing.GetUID(), nil
}

// delete deletes the object if it still has the UID of the precondition; one that is gone or another is nothing to do.
func (c *Cluster) delete(ctx context.Context, o client.Object, options ...client.DeleteOption) error {
	err := c.client.Delete(ctx, o, options...)
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("deleting %T %s: %w", o, o.GetName(), err)
}

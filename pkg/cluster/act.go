package cluster

import (
	"context"
	"encoding/json"
	"errors"
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
	a := acting{Cluster: c, job: job, build: plan.Pods(job)}
	var stages [plan.After + 1][]plan.Step
	for _, step := range steps {
		stages[plan.StageOf(step)] = append(stages[plan.StageOf(step)], step)
	}
	for _, step := range stages[plan.Before] {
		if err := c.take(ctx, job, step, a.build); err != nil {
			return c.handleRefusal(job, err)
		}
	}
	if len(stages[plan.Before])+len(stages[plan.Together])+len(stages[plan.Then]) > 0 {
		err := a.takeInParallel(ctx, stages[plan.Together])
		if err == nil {
			err = a.takeInParallel(ctx, stages[plan.Then])
		}
		if err := a.settle(err, c.handleRefusal); err != nil {
			return err
		}
	}
	if len(stages[plan.After]) == 0 {
		return nil
	}
	spares := acting{Cluster: c, job: job, build: a.build}
	return spares.settle(spares.takeInParallel(ctx, stages[plan.After]), c.handleSpareRefusal)
}

// acting is one pass's steps under way.
type acting struct {
	*Cluster
	job     *v1alpha1.TrainingJob
	build   func(plan.CreatePod) *corev1.Pod
	refused refusedPods
}

// settle hands what was refused to handle, and returns every other error.
func (a *acting) settle(err error, handle func(*v1alpha1.TrainingJob, error) error) error {
	if refused := a.refused.orNil(); refused != nil && refusalReason(err) == "" {
		return errors.Join(handle(a.job, refused), err)
	}
	return handle(a.job, err)
}

// takeInParallel takes the steps and returns the first error. After an error, or a change of the job, it takes no further step. Steps
// under way continue, because their writes may take effect anyway. A conflict concerns only its own step: it is returned last. The
// refusal of a pod concerns only that pod, and is no error here.
func (a *acting) takeInParallel(ctx context.Context, steps []plan.Step) error {
	group, goesOn := errgroup.WithContext(ctx)
	group.SetLimit(int(a.writes.share))
	var changed atomic.Bool
	for i, step := range steps {
		if goesOn.Err() != nil {
			break
		}
		if i%lookEvery == lookEvery-1 && a.hasChanged(goesOn, a.job) {
			changed.Store(true)
			break
		}
		group.Go(func() error {
			release, err := a.writes.acquire(goesOn, a.job.Namespace)
			if err != nil {
				return err // another step has failed first, or the operator is ending
			}
			defer release()
			err = a.takeOne(ctx, step)
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
	return staleCache(a.job, "the job or a pod has changed since it was read")
}

// takeOne takes a step. That a pod is refused is noted.
func (a *acting) takeOne(ctx context.Context, step plan.Step) error {
	create, isCreate := step.(plan.CreatePod)
	if isCreate && a.refused.covers(create) {
		return nil
	}
	err := a.take(ctx, a.job, step, a.build)
	if isCreate && isRefusal(err) {
		a.refused.add(create, err)
		return nil
	}
	return err
}

// lookEvery is the number of writes to pods after which a reconcile checks whether a user has suspended, changed or deleted the job
// meanwhile.
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

// createGroup creates the pod group. If the job's own group exists already, that is a conflict: it may need another number of pods than
// the new one, or be in deletion, and no pod may join it before the next reconcile.
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

// isAnother reports whether the API server refused a patch because the object of that name has another UID. The API server returns
// Invalid and not Conflict, because a UID cannot change.
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

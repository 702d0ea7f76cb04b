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
	"github.com/trainingjob/operator/pkg/state"
)

// Parallelism is how many writes to children an operator makes at once, for all jobs together. More would only queue in the API
// server, where the scheduler and the nodes wait as well. The jobs of one namespace get a quarter of them.
const Parallelism = 32

// Act takes the steps, stage by stage, and stops at the first error. A refusal that lasts becomes part of the job's next snapshot
// and is no error.
func (c *Cluster) Act(ctx context.Context, job *v1alpha1.TrainingJob, steps []plan.Step) error {
	if len(steps) == 0 {
		return nil
	}
	c.memo(job, func(m *jobMemo) { clear(m.found) })
	a := acting{Cluster: c, job: job, build: plan.Pods(job)}
	stages := map[plan.Stage][]plan.Step{}
	for _, step := range steps {
		stages[plan.StageOf(step)] = append(stages[plan.StageOf(step)], step)
	}
	for _, step := range stages[plan.Prerequisites] {
		if err := c.take(ctx, job, step, a.build); err != nil {
			return c.handleRefusal(job, err)
		}
	}
	if len(stages[plan.Spares]) < len(steps) {
		err := a.takeInParallel(ctx, stages[plan.Replicas])
		if err == nil {
			err = a.takeInParallel(ctx, stages[plan.Displaced])
		}
		if err := a.settle(err, c.handleRefusal); err != nil {
			return err
		}
	}
	if len(stages[plan.Spares]) == 0 {
		return nil
	}
	spares := acting{Cluster: c, job: job, build: a.build}
	return spares.settle(spares.takeInParallel(ctx, stages[plan.Spares]), c.handleSpareRefusal)
}

// acting holds the steps of one reconcile while they are taken.
type acting struct {
	*Cluster
	job     *v1alpha1.TrainingJob
	build   func(plan.CreatePod) *corev1.Pod
	refused refusedPods
}

// settle passes the refusals to handle, and returns every other error.
func (a *acting) settle(err error, handle func(*v1alpha1.TrainingJob, error) error) error {
	if a.refused.first != nil && refusalReason(err) == "" {
		return errors.Join(handle(a.job, &a.refused), err)
	}
	return handle(a.job, err)
}

// takeInParallel takes the steps and returns the first error. After an error, or when the job has changed, it takes no further
// step. Writes under way continue: an abandoned write may still succeed. A conflict concerns only its own step and is returned
// last. A refused pod concerns only itself and is no error here.
func (a *acting) takeInParallel(ctx context.Context, steps []plan.Step) error {
	group, goesOn := errgroup.WithContext(ctx)
	group.SetLimit(int(a.writes.share))
	var changed atomic.Bool
	for i, step := range steps {
		if goesOn.Err() != nil {
			break
		}
		if i%checkEvery == checkEvery-1 && a.hasChanged(goesOn, a.job) {
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

// takeOne takes a step. It records a refused pod: such an error concerns the pod alone, and others may still be created.
func (a *acting) takeOne(ctx context.Context, step plan.Step) error {
	create, isCreate := step.(plan.CreatePod)
	if isCreate && a.refused.covers(create) {
		return nil
	}
	err := a.take(ctx, a.job, step, a.build)
	if held := (*nameHeld)(nil); isCreate && (refusalReason(err) != "" || errors.As(err, &held)) {
		a.refused.add(create, err)
		return nil
	}
	return err
}

// checkEvery is after how many writes to pods the reconcile checks whether a user has suspended, changed or deleted the job
// meanwhile.
const checkEvery = 100

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

// resize patches the pod group if it still has the UID. A group that was deleted or replaced is a conflict: no pod may join it.
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
		return staleCache(job, "pod group "+step.Name+" was deleted or replaced")
	default:
		return fmt.Errorf("resizing pod group %s: %w", step.Name, err)
	}
}

// createGroup creates the pod group. If the job's own group exists already, that is a conflict: it may have another minimum, or
// be in deletion. No pod may join it before the next reconcile.
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

// isGoing reports whether the object frees its name soon: it was deleted, or an earlier job of that name has left it behind.
func isGoing(o client.Object, job *v1alpha1.TrainingJob) bool {
	ref := state.OwnerOf(o)
	return !o.GetDeletionTimestamp().IsZero() || ref != nil && ref.Name == job.Name && ref.UID != job.UID
}

// create creates a child and returns its UID. An existing child of the job is as good as created. Any other object holds the
// name, for a while or for good.
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
	if !isOwnedBy(existing, job) {
		if isGoing(existing, job) {
			return "", &nameHeld{name: child.GetName()}
		}
		return "", newNameConflict(child, existing, job)
	}
	return existing.GetUID(), nil
}

// delete deletes the object if it still has the UID of the precondition. It does nothing if the object is gone or was replaced.
func (c *Cluster) delete(ctx context.Context, o client.Object, options ...client.DeleteOption) error {
	err := c.client.Delete(ctx, o, options...)
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("deleting %T %s: %w", o, o.GetName(), err)
}

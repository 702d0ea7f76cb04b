package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
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
	first, rest := firstOfRoles(stages[plan.Replicas])
	err := a.takeInParallel(ctx, first)
	if err == nil {
		err = a.takeInParallel(ctx, rest)
	}
	return a.settle(err)
}

// firstOfRoles returns the steps that create the first pod of each role, and all others: if the API server calls one of the first invalid, it gets no
// others, which would hold their nodes for nothing. Pods of one role are alike, so there the first steps are none.
func firstOfRoles(steps []plan.Step) (first, rest []plan.Step) {
	seen := map[v1alpha1.Role]bool{}
	for _, step := range steps {
		create, isCreate := step.(plan.CreatePod)
		if isCreate && !seen[create.Slot.Role] {
			first = append(first, step)
			seen[create.Slot.Role] = true
		} else {
			rest = append(rest, step)
		}
	}
	if len(first) < 2 {
		return nil, steps
	}
	return first, rest
}

// acting holds the steps of one reconcile while they are taken.
type acting struct {
	*Cluster
	job     *v1alpha1.TrainingJob
	build   func(plan.CreatePod) *corev1.Pod
	refused refusedPods
}

// settle remembers the refusals, and returns every other error.
func (a *acting) settle(err error) error {
	if a.refused.first != nil && refusalReason(err) == "" {
		return errors.Join(a.handleRefusal(a.job, &a.refused), err)
	}
	return a.handleRefusal(a.job, err)
}

// takeInParallel takes the steps and returns the first error. After an error, or when the job has changed, it takes no further
// step. Writes under way continue: an abandoned write may still succeed. A conflict concerns only its own step and is returned
// last. A refused pod concerns only itself and is no error here.
func (a *acting) takeInParallel(ctx context.Context, steps []plan.Step) error {
	group, goesOn := errgroup.WithContext(ctx)
	group.SetLimit(a.writes.Share())
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
			release, err := a.writes.Acquire(goesOn, a.job.Namespace)
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
		_, err := c.create(ctx, job, step.Service)
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
		uid, err := c.create(ctx, job, build(step), client.DisableReadYourWritesConsistency)
		if err == nil {
			c.expectWrite(job, uid, false)
		}
		return err
	case plan.RestartPod:
		return c.restartPod(ctx, job, step)
	case plan.SetGate:
		return c.setGate(ctx, job, step)
	case plan.EndPod:
		return c.endPod(ctx, job, step)
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

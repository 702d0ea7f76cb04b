package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

func recoveryCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "recovery",
		Short: "Measures a whole-job restart beside deleting and making all pods by hand, a single replacement, and a lost node",
		Args:  cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := newMeteredBench(*o)
			if err != nil {
				return err
			}
			for _, measure := range []func(context.Context) error{b.wholeRestart, b.allEnd, b.replacement, b.nodeLoss} {
				ctx, cancel := context.WithTimeout(cmd.Context(), scalePatience*time.Duration(b.rounds))
				err := measure(ctx)
				cancel()
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// wholeRestart compares a collective's restart after one pod was killed, with new pods and in place, with deleting all of its pods by hand
// and making them again.
func (b *bench) wholeRestart(ctx context.Context) error {
	fmt.Printf("Whole-job restart of %d pods, from one kill until all run again:\n", b.workers)
	var bare, same, ours, kept []float64
	var writes, keptWrites float64
	for range b.rounds {
		seconds, err := b.remakeByHand(ctx, b.barePod)
		if err != nil {
			return err
		}
		bare = append(bare, seconds)
		if seconds, err = b.remakeSame(ctx); err != nil {
			return err
		}
		same = append(same, seconds)
		recreated := b.recovering(v1alpha1.PyTorch)
		recreated.Spec.Recovery.RestartMethod = v1alpha1.RestartRecreate
		seconds, spent, err := b.restart(ctx, recreated, b.workers)
		if err != nil {
			return err
		}
		ours, writes = append(ours, seconds), spent.writes
		inPlace := b.recovering(v1alpha1.PyTorch)
		inPlace.Spec.Recovery.RestartMethod = v1alpha1.RestartInPlace
		if seconds, spent, err = b.restart(ctx, inPlace, 1); err != nil {
			return err
		}
		kept, keptWrites = append(kept, seconds), spent.writes
	}
	limit := middle(bare)
	fmt.Printf("  by hand       %5.1f s  1.00\n  same by hand  %5.1f s  %.2f\n", limit, middle(same), middle(same)/limit)
	for _, way := range []struct {
		name   string
		times  []float64
		writes float64
	}{{"TrainingJob", ours, writes}, {"in place", kept, keptWrites}} {
		fmt.Printf("  %-12s  %5.1f s  %.2f  %.2f writes per replica, Events included\n", way.name, middle(way.times), middle(way.times)/limit, way.writes/float64(b.workers))
	}
	fmt.Printf("  in place to new pods: %.2f\n\n", middle(kept)/middle(ours))
	return nil
}

// allEnd compares the restart of a collective whose pods have all ended: their processes alone, in pods that the operator keeps, or whole.
func (b *bench) allEnd(ctx context.Context) error {
	fmt.Printf("Whole-job restart of %d pods that all end, from the first end until all run again:\n", b.workers)
	var kept, made []float64
	for range b.rounds {
		for _, way := range []struct {
			method v1alpha1.RestartMethod
			phase  corev1.PodPhase
			times  *[]float64
		}{{v1alpha1.RestartInPlace, corev1.PodRunning, &kept}, {v1alpha1.RestartRecreate, corev1.PodFailed, &made}} {
			job := b.recovering(v1alpha1.PyTorch)
			job.Spec.Recovery.RestartMethod = way.method
			seconds, err := b.restartEnded(ctx, job, way.phase)
			if err != nil {
				return err
			}
			*way.times = append(*way.times, seconds)
		}
	}
	fmt.Printf("  kept          %5.1f s\n  new pods      %5.1f s\n  kept to new pods: %.2f\n\n", middle(kept), middle(made), middle(kept)/middle(made))
	return nil
}

// restartEnded runs the job, ends all its pods, which have that phase then, and returns how long it takes from the first end until all run.
func (b *bench) restartEnded(ctx context.Context, job *v1alpha1.TrainingJob, phase corev1.PodPhase) (float64, error) {
	if err := b.start(ctx, job); err != nil {
		return 0, err
	}
	if _, err := b.spentWhenQuiet(ctx); err != nil { // all gates are closed
		return 0, err
	}
	begin := time.Now()
	err := b.each(ctx, func(ctx context.Context, i int) error {
		err := b.tell(ctx, state.PodName(job.Name, state.Slot{Role: v1alpha1.Worker, Index: i}, state.Life{}), func(pod *corev1.PodStatus) {
			pod.Phase = phase
			for i := range pod.ContainerStatuses {
				pod.ContainerStatuses[i].State = killed()
				pod.ContainerStatuses[i].State.Terminated.ContainerID = pod.ContainerStatuses[i].ContainerID
			}
		})
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) { // the operator was faster
			return nil
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	if err := b.awaitRestarted(ctx, job); err != nil {
		return 0, err
	}
	return time.Since(begin).Seconds(), b.cleanUp(ctx, maker{kinds: []client.Object{&v1alpha1.TrainingJob{}}})
}

// replacement measures how one worker of a large job is replaced.
func (b *bench) replacement(ctx context.Context) error {
	var times []float64
	var last *spending
	for range b.rounds {
		seconds, spent, err := b.restart(ctx, b.recovering(v1alpha1.Custom), 1)
		if err != nil {
			return err
		}
		times, last = append(times, seconds), spent
	}
	fmt.Printf("One pod replaced in a job of %d, from its exit until it runs again:\n  %.2f s, %.0f requests, %.0f of them writes, Events included\n\n",
		b.workers, middle(times), last.requests, last.writes)
	return nil
}

// recovering returns a job that restarts as soon as it may.
func (b *bench) recovering(f v1alpha1.Framework) *v1alpha1.TrainingJob {
	job := b.trainingJob("recovery", 0, shape{1, b.workers})
	job.Spec.Framework = f
	job.Spec.Recovery.BackoffSeconds = ptr.To[int32](0)
	return job
}

// restart runs the job, kills one of its pods and returns how long it takes until so many new pods run and the job says that all do, and
// what the operator spent on that.
func (b *bench) restart(ctx context.Context, job *v1alpha1.TrainingJob, fresh int) (float64, *spending, error) {
	if err := b.start(ctx, job); err != nil {
		return 0, nil, err
	}
	before, err := b.spentWhenQuiet(ctx)
	if err != nil {
		return 0, nil, err
	}
	running, err := b.watchRunning(ctx)
	if err != nil {
		return 0, nil, err
	}
	defer running.Stop()
	begin := time.Now()
	if err := b.fail(ctx, state.PodName(job.Name, state.Slot{Role: v1alpha1.Worker, Index: b.workers / 2}, state.Life{})); err != nil {
		return 0, nil, err
	}
	if err := awaitRunning(ctx, running, fresh); err != nil {
		return 0, nil, err
	}
	if err := b.awaitRestarted(ctx, job); err != nil {
		return 0, nil, err
	}
	seconds := time.Since(begin).Seconds()
	after, err := b.spentWhenQuiet(ctx)
	if err != nil {
		return 0, nil, err
	}
	return seconds, after.since(before), b.cleanUp(ctx, maker{kinds: []client.Object{&v1alpha1.TrainingJob{}}})
}

// start submits the job and waits until it runs in full.
func (b *bench) start(ctx context.Context, job *v1alpha1.TrainingJob) error {
	running, err := b.watchRunning(ctx)
	if err != nil {
		return err
	}
	defer running.Stop()
	if err := b.client.Create(ctx, job); err != nil {
		return fmt.Errorf("submitting: %w", err)
	}
	return awaitRunning(ctx, running, b.workers)
}

// awaitRestarted waits until the job has restarted, the whole of it or one replica, and says that all run.
func (b *bench) awaitRestarted(ctx context.Context, job *v1alpha1.TrainingJob) error {
	return wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := b.client.Get(ctx, client.ObjectKeyFromObject(job), job)
		return job.Status.Restarts > 0 && int(job.Status.ReadyReplicas) == b.workers && meta.IsStatusConditionTrue(job.Status.Conditions, v1alpha1.ConditionRunning), err
	})
}

// killed is how a kubelet shows a container that was killed. Of an exit with a code of its own a collective first waits for what the other
// ranks say.
func killed() corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "Error", FinishedAt: metav1.Now()}}
}

// fail makes the pod one whose containers were killed.
func (b *bench) fail(ctx context.Context, name string) error {
	return b.tell(ctx, name, func(pod *corev1.PodStatus) {
		pod.Phase = corev1.PodFailed
		for i := range pod.ContainerStatuses {
			pod.ContainerStatuses[i].State = killed()
		}
	})
}

// restartContainer makes the pod one whose containers were killed and have started again.
func (b *bench) restartContainer(ctx context.Context, name string) error {
	return b.tell(ctx, name, func(pod *corev1.PodStatus) {
		for i := range pod.ContainerStatuses {
			pod.ContainerStatuses[i].LastTerminationState = killed()
			pod.ContainerStatuses[i].RestartCount++
		}
	})
}

// tell changes the status of a pod as its kubelet would.
func (b *bench) tell(ctx context.Context, name string, change func(*corev1.PodStatus)) error {
	pod := &corev1.Pod{}
	if err := b.client.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: name}, pod); err != nil {
		return fmt.Errorf("reading the pod to break: %w", err)
	}
	change(&pod.Status)
	return b.client.Status().Update(ctx, pod)
}

// remakeByHand makes the pods, and returns how long it takes to delete them all and to make them again once they are gone.
func (b *bench) remakeByHand(ctx context.Context, pod func(int) *corev1.Pod) (float64, error) {
	if err := b.createAll(ctx, pod); err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := b.each(ctx, func(ctx context.Context, i int) error { return b.client.Delete(ctx, pod(i)) }); err != nil {
		return 0, fmt.Errorf("deleting by hand: %w", err)
	}
	if err := b.noneLeft(ctx, 20*time.Millisecond); err != nil {
		return 0, err
	}
	again := func(i int) *corev1.Pod { // kwok may yet delete a pod by its name that is gone
		next := pod(i)
		next.Name += "-again"
		return next
	}
	if err := b.createAll(ctx, again); err != nil {
		return 0, err
	}
	seconds := time.Since(begin).Seconds()
	return seconds, b.cleanUp(ctx, maker{kinds: []client.Object{&corev1.Pod{}, &corev1.Service{}}})
}

func (b *bench) createAll(ctx context.Context, pod func(int) *corev1.Pod) error {
	running, err := b.watchRunning(ctx)
	if err != nil {
		return err
	}
	defer running.Stop()
	if err := b.each(ctx, func(ctx context.Context, i int) error { return b.client.Create(ctx, pod(i)) }); err != nil {
		return fmt.Errorf("creating by hand: %w", err)
	}
	return awaitRunning(ctx, running, b.workers)
}

func (b *bench) each(ctx context.Context, do func(context.Context, int) error) error {
	return eachOf(ctx, b.workers, do)
}

// eachOf does so for 0 to n-1, byHandParallel at a time.
func eachOf(ctx context.Context, n int, do func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(byHandParallel)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}

func (b *bench) noneLeft(ctx context.Context, every time.Duration) error {
	return wait.PollUntilContextCancel(ctx, every, true, func(ctx context.Context) (bool, error) {
		left := podMetadata()
		err := b.client.List(ctx, left, client.InNamespace(b.namespace), client.MatchingLabels{benchLabel: "pod"}, client.Limit(1))
		return len(left.Items) == 0, err
	})
}

func (b *bench) barePod(i int) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: b.meta("hand", i), Spec: b.template().Spec}
}

// remakeSame remakes by hand, behind a Service as a TrainingJob has it, the pods that a TrainingJob has.
func (b *bench) remakeSame(ctx context.Context) (float64, error) {
	job := b.recovering(v1alpha1.PyTorch)
	job.Name, job.UID = "bench-same-0", "bench-0"
	if err := b.client.Create(ctx, serviceOf(job)); err != nil {
		return 0, fmt.Errorf("creating the Service by hand: %w", err)
	}
	return b.remakeByHand(ctx, podsOf(job))
}

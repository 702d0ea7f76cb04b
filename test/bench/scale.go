package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// scalePatience bounds one measurement with thousands of pods.
const scalePatience = 30 * time.Minute

// scaleOptions are the sizes to measure.
type scaleOptions struct {
	sizes []int
	jobs  int
	rest  time.Duration
	large int
}

func scaleCommand(o *options) *cobra.Command {
	var s scaleOptions
	cmd := &cobra.Command{
		Use:   "scale",
		Short: "Measures what the operator spends on jobs of thousands of pods and on thousands of jobs; pods get their nodes by their index, without the scheduler",
		Args:  cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := newMeteredBench(*o)
			if err != nil {
				return err
			}
			return b.scale(cmd.Context(), s)
		},
	}
	cmd.Flags().IntSliceVar(&s.sizes, "sizes", []int{5000, 10_000}, "pods of the one job")
	cmd.Flags().IntVar(&s.jobs, "small-jobs", 2000, "number of jobs of two pods; 0 leaves them out")
	cmd.Flags().DurationVar(&s.rest, "rest", time.Minute, "how long they are watched when all run")
	cmd.Flags().IntVar(&s.large, "large", 2000, "pods of each of the four jobs beside which a job of one pod starts; 0 leaves them out")
	return cmd
}

func (b *bench) scale(ctx context.Context, s scaleOptions) error {
	stop, err := b.placeByIndex(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if s.large > 0 {
		if err := b.besideLarge(ctx, s.large); err != nil {
			return fmt.Errorf("a small job beside large ones: %w", err)
		}
	}
	for _, pods := range s.sizes {
		if err := b.oneLarge(ctx, pods); err != nil {
			return fmt.Errorf("a job of %d pods: %w", pods, err)
		}
	}
	if s.jobs > 0 {
		if err := b.manyAtRest(ctx, s.jobs, s.rest); err != nil {
			return fmt.Errorf("%d jobs: %w", s.jobs, err)
		}
	}
	return nil
}

// oneLarge starts one job, has one of its pods replaced and the whole of it restarted, and prints what each took.
func (b *bench) oneLarge(ctx context.Context, pods int) error {
	ctx, cancel := context.WithTimeout(ctx, scalePatience)
	defer cancel()
	b.workers = pods
	job := b.recovering(v1alpha1.Custom)
	fmt.Printf("A job of %d pods, which get their nodes by index:\n", pods)
	peak := b.watchMemory(ctx)
	start := func(ctx context.Context) error {
		if err := b.client.Create(ctx, job); err != nil {
			return fmt.Errorf("submitting: %w", err)
		}
		return b.awaitFull(ctx, job, 0)
	}
	replace := func(ctx context.Context) error {
		if err := b.fail(ctx, state.PodName(job.Name, state.Slot{Role: v1alpha1.Worker, Index: pods / 2}, state.Life{})); err != nil {
			return err
		}
		return b.awaitFull(ctx, job, 1)
	}
	restart := func(ctx context.Context) error {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"bench"}}}`, v1alpha1.AnnotationRestart)
		if err := b.client.Patch(ctx, job, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
			return err
		}
		return b.awaitFull(ctx, job, 2)
	}
	for _, phase := range []struct {
		name string
		do   func(context.Context) error
	}{{"start", start}, {"one replaced", replace}, {"whole restart", restart}} {
		seconds, spent, events, err := b.spentOn(ctx, job, phase.do)
		if err != nil {
			return fmt.Errorf("%s: %w", phase.name, err)
		}
		fmt.Printf("  %-14s %7.2f s  %5.0f requests, %5.0f writes, %.2f a pod, %3.0f passes, %d Events, %.1f s of CPU\n",
			phase.name, seconds, spent.requests, spent.writes, spent.writes/float64(pods), spent.passes, events, spent.cpu)
	}
	fmt.Printf("  status %d bytes, memory of the operator at most %.0f MB\n\n", jsonBytes(job.Status), peak()/1e6)
	return b.cleanUp(ctx, maker{kinds: []client.Object{&v1alpha1.TrainingJob{}}})
}

// spentOn returns how long it took, what the operator spent on it and how many Events it told of the job.
func (b *bench) spentOn(ctx context.Context, job *v1alpha1.TrainingJob, do func(context.Context) error) (float64, *spending, int, error) {
	before, err := b.spentWhenQuiet(ctx)
	if err != nil {
		return 0, nil, 0, err
	}
	told, err := b.events(ctx, job)
	if err != nil {
		return 0, nil, 0, err
	}
	begin := time.Now()
	if err := do(ctx); err != nil {
		return 0, nil, 0, err
	}
	seconds := time.Since(begin).Seconds()
	after, err := b.spentWhenQuiet(ctx)
	if err != nil {
		return 0, nil, 0, err
	}
	tells, err := b.events(ctx, job)
	return seconds, after.since(before), tells - told, err
}

// events returns how many Events there are about the job.
func (b *bench) events(ctx context.Context, job *v1alpha1.TrainingJob) (int, error) {
	var list eventsv1.EventList
	err := b.client.List(ctx, &list, client.InNamespace(b.namespace))
	count := 0
	for i := range list.Items {
		if e := &list.Items[i]; e.Regarding.Kind == v1alpha1.Kind && e.Regarding.Name == job.Name {
			count++
		}
	}
	return count, err
}

// awaitFull waits until the job has restarted so often and says that all of its replicas run.
func (b *bench) awaitFull(ctx context.Context, job *v1alpha1.TrainingJob, restarts int32) error {
	return wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := b.client.Get(ctx, client.ObjectKeyFromObject(job), job)
		return job.Status.Restarts == restarts && job.Status.Phase == v1alpha1.PhaseRunning && int(job.Status.ReadyReplicas) == b.workers, err
	})
}

// watchMemory notes the operator's memory once a second until it is asked for the most.
func (b *bench) watchMemory(ctx context.Context) (most func() float64) {
	ctx, stop := context.WithCancel(ctx)
	found := make(chan float64, 1)
	go func() {
		peak := 0.0
		for ctx.Err() == nil {
			if s, err := b.spent(ctx); err == nil {
				peak = max(peak, s.memory)
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
		found <- peak
	}()
	return func() float64 { stop(); return <-found }
}

// manyAtRest starts many jobs of two pods and prints what the operator spends while nothing happens to them.
func (b *bench) manyAtRest(ctx context.Context, jobs int, rest time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, scalePatience)
	defer cancel()
	running, err := b.watchRunning(ctx)
	if err != nil {
		return err
	}
	defer running.Stop()
	s, begin := shape{jobs, 2}, time.Now()
	if err := trainingJobs(ctx, b, s); err != nil {
		return err
	}
	if err := awaitRunning(ctx, running, jobs*2); err != nil {
		return err
	}
	started := time.Since(begin)
	before, err := b.spentWhenQuiet(ctx)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(rest):
	}
	after, err := b.spent(ctx)
	if err != nil {
		return err
	}
	spent := after.since(before)
	fmt.Printf("%s pods: all run after %.1f s; in %v at rest %.0f requests, %.0f passes, %.2f s of CPU, %.0f MB\n\n",
		s, started.Seconds(), rest, spent.requests, spent.passes, spent.cpu, after.memory/1e6)
	return b.cleanUp(ctx, maker{kinds: []client.Object{&v1alpha1.TrainingJob{}}})
}

// awaitBegun waits until so many jobs have a pod.
func (b *bench) awaitBegun(ctx context.Context, jobs int) error {
	return wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		var pods corev1.PodList
		err := b.client.List(ctx, &pods, client.InNamespace(b.namespace), client.HasLabels{v1alpha1.LabelIndex})
		begun := map[string]bool{}
		for i := range pods.Items {
			begun[pods.Items[i].Labels[v1alpha1.LabelJobName]] = true
		}
		return len(begun) == jobs, err
	})
}

// besideLarge submits four large jobs, and a moment later one of a single pod in the same namespace, and prints how long that takes to run.
func (b *bench) besideLarge(ctx context.Context, pods int) error {
	ctx, cancel := context.WithTimeout(ctx, scalePatience)
	defer cancel()
	if err := trainingJobs(ctx, b, shape{4, pods}); err != nil {
		return err
	}
	if err := b.awaitBegun(ctx, 4); err != nil {
		return err
	}
	b.workers = 1
	small := b.recovering(v1alpha1.Custom)
	small.Name, small.Spec.ReplicaSpecs[v1alpha1.Worker] = "bench-small", v1alpha1.ReplicaSpec{Replicas: ptr.To[int32](1), Template: b.template()}
	begin := time.Now()
	if err := b.client.Create(ctx, small); err != nil {
		return err
	}
	if err := b.awaitFull(ctx, small, 0); err != nil {
		return err
	}
	seconds := time.Since(begin).Seconds()
	var made corev1.PodList
	if err := b.client.List(ctx, &made, client.InNamespace(b.namespace), client.HasLabels{v1alpha1.LabelIndex}); err != nil {
		return err
	}
	fmt.Printf("A job of one pod beside four that start with %s pods each: it runs after %.2f s, when they have %d pods\n\n", strconv.Itoa(pods), seconds, len(made.Items)-1)
	return b.cleanUp(ctx, maker{kinds: []client.Object{&v1alpha1.TrainingJob{}}})
}

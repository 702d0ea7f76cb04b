package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// queuedName is the name of the bench's queue, its ClusterQueue and its flavor.
const queuedName = "bench"

// admittedPods is the quota of the bench's queue: all other pods wait.
const admittedPods = 80

func queuedCommand(o *options) *cobra.Command {
	var pods int
	var sizes []int
	cmd := &cobra.Command{
		Use:   "queued",
		Short: "Measures the memory of Kueue's adapter while jobs with 10,000 pods wait in a queue of Kueue, as jobs of eight pods and as jobs of one",
		Long: `Measures the memory of Kueue's adapter while jobs with 10,000 pods wait in a queue of Kueue, as jobs of eight pods and as jobs of one.
The jobs are suspended, so their pods do not exist yet. --metrics is the URL of the adapter's metrics.`,
		Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := newMeteredBench(*o)
			if err != nil {
				return err
			}
			var shapes []shape
			for _, size := range sizes {
				shapes = append(shapes, shape{pods / size, size})
			}
			return b.queued(cmd.Context(), shapes)
		},
	}
	cmd.Flags().IntVar(&pods, "pods", 10_000, "pods of all jobs together")
	cmd.Flags().IntSliceVar(&sizes, "sizes", []int{8, 1}, "pods of each job")
	return cmd
}

// queued fills a queue with the jobs of each shape, and prints what the adapter has spent once Kueue has seen all of them.
func (b *bench) queued(ctx context.Context, shapes []shape) error {
	ctx, cancel := context.WithTimeout(ctx, 4*scalePatience)
	defer cancel()
	drop, err := b.makeQueue(ctx)
	if err != nil {
		return err
	}
	defer drop()
	for _, s := range shapes {
		if err := b.fillQueue(ctx, s); err != nil {
			return fmt.Errorf("%s pods: %w", s, err)
		}
		b.another()
	}
	return nil
}

// fillQueue submits the jobs of a shape to the queue.
func (b *bench) fillQueue(ctx context.Context, s shape) error {
	before, err := b.spentWhenQuiet(ctx)
	if err != nil {
		return err
	}
	peak, begin := b.watchMemory(ctx), time.Now()
	err = eachJob(s, func(i int) error {
		job := b.trainingJob("queued", i, s)
		job.Labels[v1alpha1.LabelQueue] = queuedName
		return retry.OnError(retry.DefaultBackoff, apierrors.IsTimeout, func() error {
			return client.IgnoreAlreadyExists(b.client.Create(ctx, job.DeepCopy()))
		})
	})
	if err != nil {
		return fmt.Errorf("submitting: %w", err)
	}
	waiting, err := b.awaitQueued(ctx, s)
	if err != nil {
		return err
	}
	after, err := b.spentWhenQuiet(ctx)
	if err != nil {
		return err
	}
	spent := after.since(before)
	fmt.Printf("%s pods in a queue, %d jobs wait after %.0f s: the adapter has %.0f MB, at most %.0f MB; %.1f requests a job, %.1f s of CPU\n",
		s, waiting, time.Since(begin).Seconds(), after.memory/1e6, peak()/1e6, spent.requests/float64(s.jobs), spent.cpu)
	return b.cleanUp(ctx, maker{kinds: []client.Object{&v1alpha1.TrainingJob{}}})
}

// awaitQueued waits until Kueue has admitted as many jobs as the quota has room for and counts all others as waiting, and returns how many
// wait.
func (b *bench) awaitQueued(ctx context.Context, s shape) (waiting int64, err error) {
	admitted := int64(min(s.jobs, admittedPods/s.pods))
	err = wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		queue := kueueObject("ClusterQueue", nil)
		if err := b.client.Get(ctx, client.ObjectKeyFromObject(queue), queue); err != nil {
			return false, err
		}
		waiting, _, _ = unstructured.NestedInt64(queue.Object, "status", "pendingWorkloads")
		runs, _, _ := unstructured.NestedInt64(queue.Object, "status", "admittedWorkloads")
		return runs == admitted && waiting == int64(s.jobs)-admitted, nil
	})
	return waiting, err
}

// makeQueue makes a queue in the bench's namespace. Its quota counts pods alone.
func (b *bench) makeQueue(ctx context.Context) (drop func(), err error) {
	quota := map[string]any{"name": "pods", "nominalQuota": int64(admittedPods)}
	local := kueueObject("LocalQueue", map[string]any{"clusterQueue": queuedName})
	local.SetNamespace(b.namespace)
	objects := []*unstructured.Unstructured{local, kueueObject("ResourceFlavor", map[string]any{}), kueueObject("ClusterQueue", map[string]any{
		"namespaceSelector": map[string]any{},
		"resourceGroups": []any{map[string]any{
			"coveredResources": []any{"pods"},
			"flavors":          []any{map[string]any{"name": queuedName, "resources": []any{quota}}},
		}},
	})}
	drop = func() {
		for _, o := range objects {
			_ = b.client.Delete(context.WithoutCancel(ctx), o)
		}
	}
	for _, o := range objects {
		if err := b.client.Create(ctx, o); err != nil {
			drop()
			return nil, fmt.Errorf("making the %s: %w", o.GetKind(), err)
		}
	}
	return drop, nil
}

func kueueObject(kind string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind}}
	o.SetName(queuedName)
	if spec != nil {
		o.Object["spec"] = spec
	}
	return o
}

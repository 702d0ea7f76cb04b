package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// quietPods are the pods of the job whose start is measured.
const quietPods = 8

// tenantOptions say how much the tenant that misbehaves does.
type tenantOptions struct {
	starts  int
	hanging int
	large   int
	rate    int
}

func tenantsCommand(o *options) *cobra.Command {
	var t tenantOptions
	cmd := &cobra.Command{
		Use:   "tenants",
		Short: "Measures how much longer a job of 8 pods takes to start beside a tenant of another namespace that misbehaves, and pods made by hand",
		Long: `Measures how much longer a job of 8 pods takes to start beside a tenant of another namespace that misbehaves, and pods made by
hand. What slows those down is the cluster; what slows the job down more than them is the operator.`,
		Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := newBench(*o)
			if err != nil {
				return err
			}
			return b.tenants(cmd.Context(), t)
		},
	}
	cmd.Flags().IntVar(&t.starts, "starts", 15, "how often the job is started alone, and beside each tenant; the median counts")
	cmd.Flags().IntVar(&t.hanging, "hanging", 80, "jobs whose pods wait for the webhook; by default more than the operator's --concurrent-jobs")
	cmd.Flags().IntVar(&t.large, "large", 10_000, "replicas of the one large job")
	cmd.Flags().IntVar(&t.rate, "rate", 200, "changes a second of pods")
	return cmd
}

// tenants prints a line for each way to misbehave.
func (b *bench) tenants(ctx context.Context, t tenantOptions) error {
	quiet, loud := b.in("bench-quiet"), b.in("bench-loud")
	for _, tenant := range []*bench{quiet, loud} {
		if err := tenant.enter(ctx); err != nil {
			return err
		}
		defer tenant.leave()
	}
	fmt.Printf("A job of %d pods, and as many pods made by hand, from the first request until all run, alone and beside a tenant of another namespace:\n", quietPods)
	for _, m := range misdeeds {
		if err := quiet.beside(ctx, m, loud, t); err != nil {
			return fmt.Errorf("beside %s: %w", m.name, err)
		}
	}
	return nil
}

// beside measures the start alone, then beside the tenant that misbehaves, and prints the ratios.
func (b *bench) beside(ctx context.Context, m misdeed, loud *bench, t tenantOptions) error {
	ctx, cancel := context.WithTimeout(ctx, scalePatience)
	defer cancel()
	jobAlone, handAlone, err := b.starts(ctx, t.starts)
	if err != nil {
		return err
	}
	ctxOfDeed, stop := context.WithCancel(ctx)
	defer stop()
	if err := m.begin(ctxOfDeed, loud, t); err != nil {
		return err
	}
	job, hand, err := b.starts(ctx, t.starts)
	if err != nil {
		return err
	}
	ratio, ofCluster := job/jobAlone, hand/handAlone
	fmt.Printf("  %-34s job %5.2f s to %5.2f s, ratio %.2f; by hand %5.2f s to %5.2f s, ratio %.2f; the operator's part %.2f\n",
		m.name, jobAlone, job, ratio, handAlone, hand, ofCluster, ratio/ofCluster)
	// The jobs go before the deed ends, as pods that a webhook has held up would all come then; their pods after it, as kwok ends none
	// that changes all the time.
	if err := loud.client.DeleteAllOf(ctx, &v1alpha1.TrainingJob{}, client.InNamespace(loud.namespace)); err != nil {
		return err
	}
	stop()
	return loud.cleanUp(ctx, maker{kinds: []client.Object{&v1alpha1.TrainingJob{}}})
}

// starts returns the medians of how long a job, and pods made by hand, take until all pods run.
func (b *bench) starts(ctx context.Context, n int) (job, hand float64, err error) {
	var jobs, hands []float64
	for range n {
		for _, way := range []struct {
			times *[]float64
			start func(context.Context) error
			kind  client.Object
		}{
			{&jobs, b.startJob, &v1alpha1.TrainingJob{}},
			{&hands, func(ctx context.Context) error { return byHand(ctx, b, shape{1, quietPods}) }, &corev1.Pod{}},
		} {
			b.another()
			seconds, err := b.timed(ctx, way.start)
			if err != nil {
				return 0, 0, err
			}
			*way.times = append(*way.times, seconds)
			if err := b.cleanUp(ctx, maker{kinds: []client.Object{way.kind}}); err != nil {
				return 0, 0, err
			}
		}
	}
	return middle(jobs), middle(hands), nil
}

func (b *bench) startJob(ctx context.Context) error { return trainingJobs(ctx, b, shape{1, quietPods}) }

// timed returns how long it takes until the pods that start makes run.
func (b *bench) timed(ctx context.Context, start func(context.Context) error) (float64, error) {
	running, err := b.watchRunning(ctx)
	if err != nil {
		return 0, err
	}
	defer running.Stop()
	begin := time.Now()
	if err := start(ctx); err != nil {
		return 0, err
	}
	err = awaitRunning(ctx, running, quietPods)
	return time.Since(begin).Seconds(), err
}

// in returns a bench that works in another namespace.
func (b *bench) in(namespace string) *bench {
	other := *b
	other.namespace = namespace
	return &other
}

// enter makes the bench's namespace, and waits until pods can be made there.
func (b *bench) enter(ctx context.Context) error {
	if err := b.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.namespace}}); err != nil {
		return fmt.Errorf("making the namespace %s, which must not be there: %w", b.namespace, err)
	}
	account := client.ObjectKey{Namespace: b.namespace, Name: "default"}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return b.client.Get(ctx, account, &corev1.ServiceAccount{}) == nil, nil
	})
}

// leave deletes the bench's namespace, whatever became of the measurement.
func (b *bench) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := b.client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.namespace}}); err != nil {
		fmt.Println("bench:", err)
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// floodOptions say how many jobs come in which time.
type floodOptions struct {
	jobs   int
	within time.Duration
}

func floodCommand(o *options) *cobra.Command {
	var f floodOptions
	cmd := &cobra.Command{
		Use:   "flood",
		Short: "Submits thousands of jobs of one pod within a minute, counts what was lost when all run, and deletes them; pods get their nodes by index",
		Args:  cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := newMeteredBench(*o)
			if err != nil {
				return err
			}
			return b.flood(cmd.Context(), f)
		},
	}
	cmd.Flags().IntVar(&f.jobs, "jobs-of-one", 5000, "jobs of one pod")
	cmd.Flags().DurationVar(&f.within, "within", time.Minute, "the time in which they are submitted")
	return cmd
}

// flood prints how long the jobs took to come, to run and to go, and returns an error if a job or a count was lost.
func (b *bench) flood(ctx context.Context, f floodOptions) error {
	ctx, cancel := context.WithTimeout(ctx, scalePatience)
	defer cancel()
	stop, err := b.placeByIndex(ctx)
	if err != nil {
		return err
	}
	defer stop()
	running, err := b.watchRunning(ctx)
	if err != nil {
		return err
	}
	defer running.Stop()
	peak, begin, s := b.watchMemory(ctx), time.Now(), shape{f.jobs, 1}
	if err := b.submitAt(ctx, s, rate.Limit(float64(f.jobs)/f.within.Seconds())); err != nil {
		return fmt.Errorf("submitting: %w", err)
	}
	submitted := time.Since(begin)
	if err := awaitRunning(ctx, running, f.jobs); err != nil {
		return err
	}
	allRun := time.Since(begin)
	lost := b.lost(ctx, f.jobs)
	begin = time.Now()
	if err := b.cleanUp(ctx, maker{kinds: []client.Object{&v1alpha1.TrainingJob{}}}); err != nil {
		return err
	}
	fmt.Printf("%s pods submitted within %.0f s: all run after %.0f s, all jobs and pods are gone %.0f s after their deletion; memory of the operator at most %.0f MB\n",
		s, submitted.Seconds(), allRun.Seconds(), time.Since(begin).Seconds(), peak()/1e6)
	return lost
}

// submitAt creates the jobs at that rate.
func (b *bench) submitAt(ctx context.Context, s shape, limit rate.Limit) error {
	pace := rate.NewLimiter(limit, 1)
	return eachJob(s, func(i int) error {
		if err := pace.Wait(ctx); err != nil {
			return err
		}
		return retry.OnError(retry.DefaultBackoff, apierrors.IsTimeout, func() error {
			return client.IgnoreAlreadyExists(b.client.Create(ctx, b.trainingJob("flood", i, s)))
		})
	})
}

// lost returns an error that names the jobs that are missing, and those with a restart: none has a reason for one.
func (b *bench) lost(ctx context.Context, jobs int) error {
	var list v1alpha1.TrainingJobList
	if err := b.client.List(ctx, &list, client.InNamespace(b.namespace)); err != nil {
		return err
	}
	var lost []error
	if missing := jobs - len(list.Items); missing != 0 {
		lost = append(lost, fmt.Errorf("%d jobs are missing", missing))
	}
	for i := range list.Items {
		if status := &list.Items[i].Status; status.Restarts != 0 || status.Phase == v1alpha1.PhaseFailed {
			lost = append(lost, fmt.Errorf("%s is %s after %d restarts: %s", list.Items[i].Name, status.Phase, status.Restarts, status.Message))
		}
	}
	return errors.Join(lost...)
}

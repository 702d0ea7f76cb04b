package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

// gangShapes are the gangs whose time until all run is measured.
var gangShapes = []shape{{1, 64}, {1, 512}, {1, 2000}, {100, 8}}

func gangsCommand(o *options) *cobra.Command {
	known := []string{string(v1alpha1.GangNative), string(v1alpha1.GangVolcano), string(v1alpha1.GangCoscheduling)}
	var schedulers []string
	var crowdOnly bool
	cmd := &cobra.Command{
		Use:   "gangs",
		Short: "Measures how long gangs take until all of their pods run, beside the same jobs without a gang",
		Args:  cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkNames("schedulers", schedulers, known); err != nil {
				return err
			}
			b, err := newBench(*o)
			if err != nil {
				return err
			}
			if !crowdOnly {
				if err := b.gangs(cmd.Context(), schedulers); err != nil {
					return err
				}
			}
			for _, s := range schedulers {
				if err := b.crowd(cmd.Context(), v1alpha1.Gang(s)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringSliceVar(&schedulers, "schedulers", []string{"Native"}, "gang schedulers that the cluster has: "+strings.Join(known, ", "))
	cmd.Flags().BoolVar(&crowdOnly, "crowd-only", false, "measure only the hundred gangs of which few fit at a time")
	return cmd
}

// gangs compares the schedulers' gangs of every shape with the same jobs without a gang.
func (b *bench) gangs(ctx context.Context, schedulers []string) error {
	makers := []maker{gangMaker(v1alpha1.GangNone)}
	for _, s := range schedulers {
		makers = append(makers, gangMaker(v1alpha1.Gang(s)))
	}
	for _, s := range gangShapes {
		if err := b.compare(ctx, s, makers); err != nil {
			return err
		}
	}
	return nil
}

// gangMaker makes TrainingJobs whose pods that scheduler schedules all at once.
func gangMaker(scheduler v1alpha1.Gang) maker {
	return maker{name: "gang " + string(scheduler), kinds: []client.Object{&v1alpha1.TrainingJob{}}, isOurs: true,
		make: func(ctx context.Context, b *bench, s shape) error {
			return eachJob(s, func(i int) error { return b.client.Create(ctx, b.gang(scheduler, i, s)) })
		}}
}

func (b *bench) gang(scheduler v1alpha1.Gang, i int, s shape) *v1alpha1.TrainingJob {
	job := b.trainingJob("gang", i, s)
	job.Spec.Scheduling = &v1alpha1.Scheduling{Gang: scheduler}
	return job
}

// crowd submits the hundred small gangs at once, each pod of a whole node, where few of them fit at a time, and returns an
// error unless all come to their end.
func (b *bench) crowd(ctx context.Context, scheduler v1alpha1.Gang) error {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	s := shape{b.jobs, b.replicas}
	begin := time.Now()
	err := eachJob(s, func(i int) error {
		job := b.gang(scheduler, i, s)
		worker := job.Spec.ReplicaSpecs[v1alpha1.Worker]
		worker.Template.Annotations = map[string]string{builder.LabPrefix + "run-for": "1s"}
		worker.Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}
		job.Spec.ReplicaSpecs[v1alpha1.Worker] = worker
		return b.client.Create(ctx, job)
	})
	if err != nil {
		return fmt.Errorf("submitting: %w", err)
	}
	if err := b.allSucceed(ctx, s.jobs); err != nil {
		return fmt.Errorf("%s gangs of whole nodes under %s: %w", s, scheduler, err)
	}
	fmt.Printf("%s gangs of whole nodes submitted at once under %s, each runs for 1 s: all succeeded after %.1f s\n", s, scheduler, time.Since(begin).Seconds())
	return b.cleanUp(ctx, maker{kinds: []client.Object{&v1alpha1.TrainingJob{}}})
}

func (b *bench) allSucceed(ctx context.Context, jobs int) error {
	done := 0
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		var list v1alpha1.TrainingJobList
		err := b.client.List(ctx, &list, client.InNamespace(b.namespace), client.HasLabels{benchLabel})
		done = 0
		for i := range list.Items {
			if list.Items[i].Status.Phase == v1alpha1.PhaseSucceeded {
				done++
			}
		}
		return done == jobs, err
	})
	if err != nil {
		return fmt.Errorf("%d of %d jobs succeeded: %w", done, jobs, err)
	}
	return nil
}

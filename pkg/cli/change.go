package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/advice"
	"github.com/trainingjob/operator/pkg/job/state"
)

const fieldOwner = client.FieldOwner("kubectl-tj")

// onJobs returns what does something with each of the jobs that the arguments name. One that fails does not keep it from the others.
func (t *tool) onJobs(do func(context.Context, *connection, *v1alpha1.TrainingJob) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, names []string) error {
		c, err := t.connect()
		if err != nil {
			return err
		}
		var failed error
		for _, name := range names {
			job, err := c.job(cmd.Context(), name)
			if err == nil {
				err = do(cmd.Context(), c, job)
			}
			if err != nil && len(names) > 1 {
				fmt.Fprintf(t.ErrOut, "kubectl tj: %s: %s\n", name, explain(err, t.flags))
				err = exitError(1)
			}
			failed = errors.Join(failed, err)
		}
		return failed
	}
}

func (t *tool) suspendCommand() *cobra.Command {
	return t.verb("suspend", "Stop the pods of a job, and keep the job with its counters", mostNames, t.onJobs(t.setSuspend(true)))
}

func (t *tool) resumeCommand() *cobra.Command {
	return t.verb("resume", "Start the pods of a suspended job again", mostNames, t.onJobs(t.setSuspend(false)))
}

// setSuspend returns what suspends or resumes a job that has not finished.
func (t *tool) setSuspend(suspend bool) func(context.Context, *connection, *v1alpha1.TrainingJob) error {
	return func(ctx context.Context, c *connection, job *v1alpha1.TrainingJob) error {
		did := map[bool]string{true: "suspended", false: "resumed"}[suspend]
		if state.HasFinished(job) {
			return fmt.Errorf("%s has finished (%s), so it cannot be %s: submit it as another job", nameOf(job), job.Status.Phase, did)
		}
		changed, err := c.target(ctx, job)
		if err == nil && state.ServedJob(job) != nil && changed.GetLabels()[v1alpha1.LabelQueue] != "" {
			byJob, failed := c.workloads(ctx, job.Namespace)
			changed.workload, err = byJob[changed.GetUID()], failed
		}
		switch {
		case err != nil:
			return err
		case changed.isPaused() == suspend:
			fmt.Fprintf(t.Out, "%s/%s is %s already\n", changed.word, changed.GetName(), did)
			return nil
		}
		if err := c.setSuspend(ctx, changed, suspend); err != nil {
			return err
		}
		if queue := changed.GetLabels()[v1alpha1.LabelQueue]; queue != "" && !suspend {
			did += ": it waits in queue " + queue + " until Kueue admits it"
		}
		fmt.Fprintf(t.Out, "%s/%s %s\n", changed.word, changed.GetName(), did)
		return nil
	}
}

func (t *tool) scaleCommand() *cobra.Command {
	replicas := int32(-1)
	cmd := &cobra.Command{
		Use: "scale NAME --replicas N", Args: jobNames(1, 1, 0), ValidArgsFunction: t.completeJobs(1),
		Short:   "Change the number of workers of an elastic or suspended job",
		Example: "  kubectl tj scale mnist --replicas 6",
		RunE: t.onJobs(func(ctx context.Context, c *connection, job *v1alpha1.TrainingJob) error {
			if err := mayScale(job, replicas); err != nil {
				return err
			}
			changed, err := c.target(ctx, job)
			if err != nil {
				return err
			}
			if changed.workers == nil {
				return fmt.Errorf("the size of a %s is in several fields: write parallelism and completions of its replicated job, or numNodes of its TrainJob", changed.word)
			}
			before := job.Spec.Replicas(v1alpha1.Worker)
			if err := c.set(ctx, changed, field{changed.workers, int64(replicas)}); err != nil {
				return err
			}
			fmt.Fprintf(t.Out, "%s/%s scaled from %d to %d workers\n", changed.word, changed.GetName(), before, replicas)
			return nil
		}),
	}
	cmd.Flags().Int32Var(&replicas, "replicas", replicas, "how many workers the job shall have")
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if !cmd.Flags().Changed("replicas") {
			return fmt.Errorf("scale to how many workers? Write kubectl tj scale %s --replicas N", args[0])
		}
		return nil
	}
	return cmd
}

// mayScale returns an error with an alternative if the job cannot have that many workers now.
func mayScale(job *v1alpha1.TrainingJob, replicas int32) error {
	elastic := job.Spec.Elastic
	_, hasWorkers := job.Spec.ReplicaSpecs[v1alpha1.Worker]
	switch {
	case replicas < 0:
		return fmt.Errorf("--replicas %d: write a number from 0 on", replicas)
	case state.HasFinished(job):
		return fmt.Errorf("%s has finished (%s): there is nothing to scale", nameOf(job), job.Status.Phase)
	case !hasWorkers:
		return fmt.Errorf("%s has no role Worker, and only workers can be scaled", nameOf(job))
	case elastic == nil && !job.Spec.IsSuspended():
		return fmt.Errorf("%s is not elastic, so its number of workers is fixed while it runs: %s, scale it, and %s", nameOf(job), advice.Of(job, "").Command(advice.Suspend), advice.Of(job, "").Command(advice.Resume))
	case elastic != nil && (replicas < elastic.MinReplicas || replicas > elastic.MaxReplicas):
		return fmt.Errorf("--replicas %d: %s has between %d and %d workers (spec.elastic)", replicas, nameOf(job), elastic.MinReplicas, elastic.MaxReplicas)
	}
	return nil
}

func (t *tool) deleteCommand() *cobra.Command {
	return t.verb("delete", "Delete a job with its pods and its history", mostNames, t.onJobs(func(ctx context.Context, c *connection, job *v1alpha1.TrainingJob) error {
		unwanted, err := c.target(ctx, job)
		if err != nil {
			return err
		}
		uid, did := unwanted.GetUID(), "deleted"
		err = c.kube.Delete(ctx, unwanted.Object, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if apierrors.IsNotFound(err) {
			did, err = "is gone already", nil
		}
		if err == nil {
			fmt.Fprintf(t.Out, "%s/%s %s\n", unwanted.word, unwanted.GetName(), did)
		}
		return err
	}))
}

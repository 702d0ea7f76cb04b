package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
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
	return &cobra.Command{
		Use: "suspend NAME...", Args: jobNames(1, mostNames, 0), ValidArgsFunction: t.completeJobs(mostNames),
		Short:   "Take a job's pods away and keep everything that was counted",
		Example: "  kubectl tj suspend mnist",
		RunE:    t.onJobs(t.setSuspend(true)),
	}
}

func (t *tool) resumeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "resume NAME...", Args: jobNames(1, mostNames, 0), ValidArgsFunction: t.completeJobs(mostNames),
		Short:   "Start a suspended job again",
		Example: "  kubectl tj resume mnist",
		RunE:    t.onJobs(t.setSuspend(false)),
	}
}

// setSuspend returns what suspends or resumes a job that has not finished.
func (t *tool) setSuspend(suspend bool) func(context.Context, *connection, *v1alpha1.TrainingJob) error {
	return func(ctx context.Context, c *connection, job *v1alpha1.TrainingJob) error {
		did := map[bool]string{true: "suspended", false: "resumed"}[suspend]
		queue, isSuspended := job.Labels[v1alpha1.LabelQueue], job.Spec.IsSuspended()
		if queue != "" {
			_, isSuspended = job.Annotations[v1alpha1.AnnotationQueuePaused]
		}
		switch {
		case isFinished(job):
			return fmt.Errorf("%s has finished (%s), so it cannot be %s: submit it as another job", job.Name, job.Status.Phase, did)
		case isSuspended == suspend:
			fmt.Fprintf(t.Out, "trainingjob/%s is %s already\n", job.Name, did)
			return nil
		}
		if err := patchJob(ctx, c, job, suspension(job, suspend)); err != nil {
			return err
		}
		if queue != "" && !suspend {
			did += ": it waits in queue " + queue + " until Kueue admits it"
		}
		fmt.Fprintf(t.Out, "trainingjob/%s %s\n", job.Name, did)
		return nil
	}
}

// suspension returns the change that suspends or resumes a job. A job of a queue is paused, because only the queue starts it.
func suspension(job *v1alpha1.TrainingJob, suspend bool) map[string]any {
	metadata := map[string]any{"uid": job.UID}
	change := map[string]any{"metadata": metadata, "spec": map[string]any{"suspend": suspend}}
	if job.Labels[v1alpha1.LabelQueue] == "" {
		return change
	}
	var paused any = "true"
	if !suspend { // null removes it
		paused = nil
		delete(change, "spec")
	}
	metadata["annotations"] = map[string]any{v1alpha1.AnnotationQueuePaused: paused}
	return change
}

// patchSpec changes fields of a job's spec, if it is still the same job.
func patchSpec(ctx context.Context, c *connection, job *v1alpha1.TrainingJob, spec map[string]any) error {
	return patchJob(ctx, c, job, map[string]any{"metadata": map[string]any{"uid": job.UID}, "spec": spec})
}

func patchJob(ctx context.Context, c *connection, job *v1alpha1.TrainingJob, change map[string]any) error {
	patch, err := json.Marshal(change)
	if err != nil {
		return err
	}
	return c.kube.Patch(ctx, job.DeepCopy(), client.RawPatch(types.MergePatchType, patch), fieldOwner)
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
			before := job.Spec.Replicas(v1alpha1.Worker)
			workers := map[string]any{string(v1alpha1.Worker): map[string]any{"replicas": replicas}}
			if err := patchSpec(ctx, c, job, map[string]any{"replicaSpecs": workers}); err != nil {
				return err
			}
			fmt.Fprintf(t.Out, "trainingjob/%s scaled from %d to %d workers\n", job.Name, before, replicas)
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
	case isFinished(job):
		return fmt.Errorf("%s has finished (%s): there is nothing to scale", job.Name, job.Status.Phase)
	case !hasWorkers:
		return fmt.Errorf("%s has no role Worker, and only workers can be scaled", job.Name)
	case elastic == nil && !job.Spec.IsSuspended():
		return fmt.Errorf("%s is not elastic, so its number of workers is fixed while it runs: kubectl tj suspend %s, scale it, and kubectl tj resume %s", job.Name, job.Name, job.Name)
	case elastic != nil && (replicas < elastic.MinReplicas || replicas > elastic.MaxReplicas):
		return fmt.Errorf("--replicas %d: %s has between %d and %d workers (spec.elastic)", replicas, job.Name, elastic.MinReplicas, elastic.MaxReplicas)
	}
	return nil
}

func (t *tool) deleteCommand() *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME...", Args: jobNames(1, mostNames, 0), ValidArgsFunction: t.completeJobs(mostNames),
		Short:   "Delete a job with its pods and its record",
		Example: "  kubectl tj delete mnist",
		RunE: t.onJobs(func(ctx context.Context, c *connection, job *v1alpha1.TrainingJob) error {
			err := c.kube.Delete(ctx, job, client.Preconditions{UID: &job.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
			if client.IgnoreNotFound(err) != nil {
				return err
			}
			if apierrors.IsNotFound(err) {
				fmt.Fprintf(t.Out, "trainingjob/%s is gone already\n", job.Name)
				return nil
			}
			fmt.Fprintf(t.Out, "trainingjob/%s deleted\n", job.Name)
			return nil
		}),
	}
}

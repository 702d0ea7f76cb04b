package cli

import (
	"context"
	"fmt"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/advice"
	"github.com/trainingjob/operator/pkg/cli/nearest"
	"github.com/trainingjob/operator/pkg/cli/story"
	"github.com/trainingjob/operator/pkg/job/state"
)

func (t *tool) restartCommand() *cobra.Command {
	reason := ""
	cmd := &cobra.Command{
		Use: "restart NAME [REPLICA]", Args: jobNames(1, 1, 1), ValidArgsFunction: t.completeJobs(1),
		Short: "Restart a job or one replica, without using up its restarts",
		Long: `Restart a job, or one replica of it, such as worker-3.

The command sets the annotation trainingjob.dev/restart. The operator counts a restart of cause Requested, which is no failure. A restart of
the whole job follows recovery.restartMethod: in place or with new pods. A named replica gets a new pod. If the other ranks cannot continue
without it, the whole job restarts, and the output shows it.`,
		Example: "  kubectl tj restart mnist\n  kubectl tj restart mnist worker-3 --reason 'its loader hangs'",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, job, err := t.find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			pods, err := c.pods(cmd.Context(), job)
			if err != nil {
				return err
			}
			r, err := restartOf(&story.View{Job: job, Pods: pods, Now: t.now()}, args[1:])
			if err != nil {
				return err
			}
			r.reason = reason
			return t.restart(cmd.Context(), c, r)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the incident in the status")
	return cmd
}

// restart is a restart that a user requests.
type restart struct {
	job *v1alpha1.TrainingJob
	// replica is the replica to restart; empty for the whole job. what is what restarts: "the whole job".
	replica string
	what    string
	reason  string
}

// cannotRestart returns an error with an alternative if nothing runs that could restart.
func cannotRestart(job *v1alpha1.TrainingJob) error {
	switch {
	case state.HasFinished(job):
		return fmt.Errorf("%s has finished (%s), and a job that has finished does not start again: submit it as another job", nameOf(job), job.Status.Phase)
	case job.Spec.IsSuspended():
		return fmt.Errorf("%s is suspended: start it with %s", nameOf(job), advice.Of(job, "").Command(advice.Resume))
	case job.Spec.IsDispatched():
		return fmt.Errorf("%s runs in cluster %s, and restarts there: use kubectl tj restart with the --context of that cluster", job.Name, state.ClusterOf(job))
	case job.Spec.IsManagedElsewhere():
		return fmt.Errorf("%s is run by %s (spec.managedBy): ask that to restart it", job.Name, job.Spec.ManagedBy)
	default:
		return nil
	}
}

// restartOf returns the restart of the whole job, or of the named replica. It returns an error with an alternative if
// nothing runs that could restart.
func restartOf(v *story.View, replica []string) (*restart, error) {
	job := v.Job
	if err := cannotRestart(job); err != nil {
		return nil, err
	}
	s, err := v.Snapshot()
	if err != nil {
		return nil, err
	}
	r := &restart{job: job, what: "the whole job"}
	canRestart := false
	var names []string
	for row := range s.Replicas() {
		names = append(names, row.Slot.String())
		if len(replica) > 0 && !strings.EqualFold(row.Slot.String(), replica[0]) {
			continue
		}
		canRestart = canRestart || row.State != state.Succeeded // one without a pod waits for its next life, which then begins at once
		if len(replica) > 0 {
			r.replica, r.what = row.Slot.String(), whatRestarts(job, row.Slot)
		}
	}
	if len(replica) > 0 && r.replica == "" {
		return nil, unknownReplica(job.Name, replica[0], names)
	}
	if !canRestart {
		return nil, fmt.Errorf("%s has succeeded, and is not restarted: see %s", strings.Join(append([]string{job.Name}, replica...), " "), advice.Of(job, "").Command(advice.Status))
	}
	return r, nil
}

// whatRestarts returns what the operator restarts with the replica of a slot.
func whatRestarts(job *v1alpha1.TrainingJob, slot state.Slot) string {
	switch job.Status.ReplicaStatuses[slot.Role].RestartScope {
	case v1alpha1.ScopeJob:
		return fmt.Sprintf("the whole job, because the other ranks cannot continue without %s", slot)
	case v1alpha1.ScopeRole:
		return fmt.Sprintf("all replicas of role %s, by its restartScope", slot.Role)
	default:
		return slot.String() + " alone"
	}
}

func unknownReplica(job, name string, names []string) error {
	number := name[strings.LastIndex(name, "-")+1:]
	if near := nearest.Name(name, names); near != "" && strings.HasSuffix(near, "-"+number) { // another number is no slip of the pen
		return fmt.Errorf("%s has no replica %s; did you mean %s?", job, name, near)
	}
	return fmt.Errorf("%s has no replica %s: its replicas are %s to %s", job, name, names[0], names[len(names)-1])
}

// restart writes the annotation that requests the restart.
func (t *tool) restart(ctx context.Context, c *connection, r *restart) error {
	words := fmt.Sprintf("%s, %s with kubectl tj", t.now().UTC().Format("2006-01-02T15:04:05.000Z"), who())
	if r.replica != "" {
		words = r.replica + ": " + words
	}
	if r.reason != "" {
		words += ": " + r.reason
	}
	changed, err := c.target(ctx, r.job)
	if err != nil {
		return err
	}
	if err := c.set(ctx, changed, field{[]string{"metadata", "annotations", v1alpha1.AnnotationRestart}, words}); err != nil {
		return err
	}
	fmt.Fprintf(t.Out, "%s/%s restarts: %s; no budget is charged\n", changed.word, r.job.Name, r.what)
	return nil
}

// who returns the name of the user at this machine.
func who() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "an unknown user"
}

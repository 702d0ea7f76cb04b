package cli

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/nearest"
	"github.com/trainingjob/operator/pkg/cli/story"
	"github.com/trainingjob/operator/pkg/state"
)

func (t *tool) restartCommand() *cobra.Command {
	reason := ""
	cmd := &cobra.Command{
		Use: "restart NAME [REPLICA]", Args: jobNames(1, 1, 1), ValidArgsFunction: t.completeJobs(1),
		Short: "Restart a job, or one replica of it, without a charge",
		Long: `Restart a job, or one replica of it, such as worker-3.

For the whole job the command sets the annotation trainingjob.dev/restart. The operator counts a restart of cause Requested, and follows
recovery.restartMethod: in place or with new pods. For one replica the command emits an Event and deletes the pod: a restart of cause
Infrastructure and reason Deleted. If the ranks depend on each other, the whole job restarts, and the output shows it.`,
		Example: "  kubectl tj restart mnist\n  kubectl tj restart mnist worker-3 --reason 'its loader hangs'",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := t.connect()
			if err != nil {
				return err
			}
			job, err := c.job(cmd.Context(), args[0])
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
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the Event on the job")
	return cmd
}

// restart is a restart that a user requests.
type restart struct {
	job *v1alpha1.TrainingJob
	// pods are those to delete.
	pods []*state.Pod
	// whole is whether the request is for the whole job; what is what restarts: "the whole job".
	whole  bool
	what   string
	reason string
}

// restartOf returns what to delete for a restart of the whole job, or of the named replica. It returns an error with an alternative if
// nothing runs that could restart.
func restartOf(v *story.View, replica []string) (*restart, error) {
	job := v.Job
	switch {
	case isFinished(job):
		return nil, fmt.Errorf("%s has finished (%s), and a job that has finished does not start again: submit it as another job", nameOf(job), job.Status.Phase)
	case job.Spec.IsSuspended():
		return nil, fmt.Errorf("%s is suspended: start it with kubectl tj resume %s", nameOf(job), nameOf(job))
	case job.Spec.IsManagedElsewhere():
		return nil, fmt.Errorf("%s is run by %s (spec.managedBy): ask that to restart it", job.Name, job.Spec.ManagedBy)
	}
	s, err := v.Snapshot()
	if err != nil {
		return nil, err
	}
	r := &restart{job: job, whole: len(replica) == 0, what: "the whole job"}
	found := r.whole
	var names []string
	for row := range s.Replicas() {
		names = append(names, row.Slot.String())
		if len(replica) > 0 && !strings.EqualFold(row.Slot.String(), replica[0]) {
			continue
		}
		found = true
		if row.Pod != nil && row.State != state.Succeeded && row.Pod.Deleted.IsZero() {
			r.pods = append(r.pods, row.Pod)
		}
		if len(replica) > 0 {
			r.what = whatRestarts(job, row.Slot)
		}
	}
	if !found {
		return nil, unknownReplica(job.Name, replica[0], names)
	}
	if len(r.pods) == 0 {
		return nil, fmt.Errorf("%s has no pod that could be restarted: see kubectl tj status %s", strings.Join(append([]string{job.Name}, replica...), " "), job.Name)
	}
	return r, nil
}

// whatRestarts returns what the operator restarts when the pod of a slot is deleted.
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
	if near := nearest.Name(name, names); near != "" {
		return fmt.Errorf("%s has no replica %s; did you mean %s?", job, name, near)
	}
	return fmt.Errorf("%s has no replica %s: its replicas are %s to %s", job, name, names[0], names[len(names)-1])
}

// restart requests the restart of a whole job. For a replica it emits an Event with the user, then deletes the pods. It ignores a pod
// that was replaced meanwhile.
func (t *tool) restart(ctx context.Context, c *connection, r *restart) error {
	if r.whole {
		return t.askForRestart(ctx, c, r)
	}
	untold := c.kube.Create(ctx, t.request(r))
	deleted := 0
	for _, p := range r.pods {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: r.job.Namespace, Name: p.Name}}
		err := c.kube.Delete(ctx, pod, client.Preconditions{UID: &p.UID}, client.GracePeriodSeconds(grace(r.job, p.Slot.Role)))
		switch {
		case err == nil:
			deleted++
		case !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
			return err
		}
	}
	if untold != nil {
		fmt.Fprintln(t.ErrOut, "No Event reports it:", explain(untold, t.flags))
	}
	if deleted == 0 {
		return errors.New("its pods were replaced at this moment: see kubectl tj status " + r.job.Name)
	}
	fmt.Fprintf(t.Out, "%s restarts: %s; nothing is charged\n", withKind(r.job), r.what)
	return nil
}

// askForRestart writes the annotation that requests a restart of the whole job.
func (t *tool) askForRestart(ctx context.Context, c *connection, r *restart) error {
	words := fmt.Sprintf("%s, %s with kubectl tj", t.now().UTC().Format(time.RFC3339Nano), who())
	if r.reason != "" {
		words += ": " + r.reason
	}
	changed, err := c.target(ctx, r.job)
	if err != nil {
		return err
	}
	if err := c.set(ctx, changed, []string{"metadata", "annotations", v1alpha1.AnnotationRestart}, words); err != nil {
		return err
	}
	fmt.Fprintf(t.Out, "%s/%s restarts: %s; nothing is charged\n", changed.word, r.job.Name, r.what)
	return nil
}

// who returns the name of the user at this machine.
func who() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "an unknown user"
}

// grace returns how many seconds a pod has to end in a restart: what the operator would give it.
func grace(job *v1alpha1.TrainingJob, role v1alpha1.Role) int64 {
	own := ptr.Deref(job.Spec.ReplicaSpecs[role].Template.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	return min(own, int64(ptr.Deref(job.Spec.Recovery.TerminationGraceSeconds, v1alpha1.DefaultTerminationGraceSeconds)))
}

// request returns the Event with the user and the reason of the restart.
func (t *tool) request(r *restart) *corev1.Event {
	message := fmt.Sprintf("%s asked with kubectl tj for a restart of %s.", who(), r.what)
	if r.reason != "" {
		message += " Reason: " + r.reason
	}
	now := metav1.NewTime(t.now())
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: r.job.Name + "-", Namespace: r.job.Namespace},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.Kind, Namespace: r.job.Namespace, Name: r.job.Name, UID: r.job.UID,
		},
		Type: corev1.EventTypeNormal, Reason: story.EventRequested, Message: message,
		FirstTimestamp: now, LastTimestamp: now, Count: 1, Source: corev1.EventSource{Component: "kubectl-tj"},
	}
}

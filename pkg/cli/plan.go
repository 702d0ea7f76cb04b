package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/forecast"
	"github.com/trainingjob/operator/pkg/cli/schema"
	"github.com/trainingjob/operator/pkg/cli/story"
	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/pkg/job/state"
)

func (t *tool) planCommand() *cobra.Command {
	var files []string
	cmd := &cobra.Command{
		Use: "plan {NAME | -f FILE}", Args: jobNames(0, 1, 0), ValidArgsFunction: t.completeJobs(1),
		Short: "Show what the operator would do with a file or a job",
		Long: `Show what the operator would do with the jobs of a file, or next with a job of the cluster. It calls the operator's own function, and
changes nothing. A file needs no cluster: defaults and checks come from the CRD in this program. With a cluster it sends one pod of each role
as a dry run too, which shows what quotas, Pod Security, service accounts and webhooks refuse.`,
		Example: "  kubectl tj plan -f mnist.yaml\n  kubectl tj plan mnist",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(files) > 0 && len(args) > 0:
				return errors.New("a file or a job, not both: leave --filename or the name out")
			case len(files) > 0:
				return t.planFiles(cmd.Context(), files)
			case len(args) == 1:
				return t.planJob(cmd.Context(), args[0])
			default:
				return errors.New("plan of what? Give the name of a job, or a file with -f")
			}
		},
	}
	cmd.Flags().StringSliceVarP(&files, "filename", "f", nil, "show what the operator would do with the jobs of these files; - is standard input")
	return cmd
}

func (t *tool) planFiles(ctx context.Context, files []string) error {
	c, err := t.connect()
	switch {
	case err != nil:
		t.say("The pods were not tried in a dry run: " + explain(err, t.flags))
		c = nil
	case c.folder != "": // a local run admits every pod
		c = nil
	}
	planned := 0
	for _, name := range files {
		documents, err := readDocuments(name, t.In)
		if err != nil {
			return err
		}
		for _, document := range documents {
			switch err := t.planDocument(ctx, c, name, document); {
			case errors.Is(err, schema.ErrOtherKind):
				t.say(fmt.Sprintf("%s: left out: %v", name, err))
			case err != nil:
				return err
			default:
				planned++
			}
		}
	}
	if planned == 0 {
		return fmt.Errorf("%s: there is no TrainingJob to plan: of a job of Kubeflow write kubectl tj convert -f FILE | kubectl tj plan -f -", strings.Join(files, ", "))
	}
	return nil
}

// planDocument prints what the operator would do with a document of a file, and what the cluster would refuse, if there is one. It returns ErrOtherKind
// for one that is no TrainingJob.
func (t *tool) planDocument(ctx context.Context, c *connection, name string, document []byte) error {
	job, err := schema.Job(document)
	switch {
	case errors.Is(err, schema.ErrOtherKind):
		return err
	case err != nil:
		return fmt.Errorf("%s: the API server would refuse it: %w", name, err)
	}
	if job.Namespace == "" {
		job.Namespace = "default"
		if c != nil {
			job.Namespace = c.namespace
		}
	}
	text, err := forecast.Of(job, t.now())
	if err != nil {
		return err
	}
	if _, err = io.WriteString(t.Out, text); err != nil || c == nil {
		return err
	}
	tried := c.tryPods(ctx, job)
	for _, note := range tried.notes {
		t.say(note)
	}
	return tried.refusal()
}

func (t *tool) planJob(ctx context.Context, name string) error {
	c, job, err := t.find(ctx, name)
	if err != nil {
		return err
	}
	observed, err := c.observe(ctx, t, job)
	if err != nil {
		return err
	}
	text, err := forecast.Next(observed)
	if err != nil {
		return err
	}
	_, err = io.WriteString(t.Out, text)
	return err
}

// observe reads what the operator would of a job, as far as the caller may.
func (c *connection) observe(ctx context.Context, t *tool, job *v1alpha1.TrainingJob) (*state.Observed, error) {
	pods, err := c.pods(ctx, job)
	if err != nil {
		return nil, err
	}
	o := (&story.View{Job: job, Pods: pods, Now: t.now()}).Observed()
	o.LostAfter = forecast.LostAfter
	var service corev1.Service
	if err := c.kube.Get(ctx, client.ObjectKeyFromObject(job), &service); client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	o.HasService = state.IsOwnedBy(&service, job)
	forecast.AssumeGang(o)
	return o, c.addNodes(ctx, t, o)
}

// addNodes adds the nodes in trouble that hold pods of the job. Few users may read nodes; without, none counts as lost.
func (c *connection) addNodes(ctx context.Context, t *tool, o *state.Observed) error {
	asked := map[string]bool{}
	for i := range o.Pods {
		name := o.Pods[i].Node
		if name == "" || asked[name] || !o.Pods[i].CanRun() {
			continue
		}
		asked[name] = true
		var node corev1.Node
		err := c.kube.Get(ctx, client.ObjectKey{Name: name}, &node)
		switch {
		case apierrors.IsForbidden(err):
			t.say("You may not read nodes: whether one is lost is not looked at.")
			return nil
		case apierrors.IsNotFound(err):
			o.Nodes = append(o.Nodes, nodes.Deleted(name, o.Now))
		case err != nil:
			return err
		default:
			if n := nodes.Of(&node, o.LostAfter, nodes.DefaultSignals()); n.Loss.Reason != "" {
				o.Nodes = append(o.Nodes, n)
			}
		}
	}
	return nil
}

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/trainingjob/operator/pkg/cli/story"
)

func (t *tool) whyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "why NAME", Args: jobNames(1, 1, 0), ValidArgsFunction: t.completeJobs(1),
		Short:   "Explain why a job waits, restarts or has failed, and what to do next",
		Example: "  kubectl tj why mnist",
		RunE: t.tell(func(ctx context.Context, c *connection, v *story.View) (string, error) {
			if v.MissesHangs() {
				c.addNewest(ctx, t, v)
			}
			e, err := story.Why(v)
			return e.String(), err
		}),
	}
}

func (t *tool) timelineCommand() *cobra.Command {
	return &cobra.Command{
		Use: "timeline NAME", Args: jobNames(1, 1, 0), ValidArgsFunction: t.completeJobs(1),
		Short:   "Show the attempts, the incidents and the lost time of a job",
		Example: "  kubectl tj timeline mnist",
		RunE: t.tell(func(_ context.Context, _ *connection, v *story.View) (string, error) {
			return story.Timeline(v, t.screen.picture(), t.screen.marks), nil
		}),
	}
}

// tell returns the function of a verb that describes one job.
func (t *tool) tell(tale func(context.Context, *connection, *story.View) (string, error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, job, err := t.find(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		v, err := c.view(cmd.Context(), t, job)
		if err != nil {
			return err
		}
		text, err := tale(cmd.Context(), c, v)
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(t.Out, text)
		return err
	}
}

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/trainingjob/operator/pkg/cli/story"
)

func (t *tool) whyCommand() *cobra.Command {
	return t.verb("why", "Explain why a job waits, restarts or has failed, and what to do next", 1, t.tell(func(ctx context.Context, c *connection, v *story.View) (string, error) {
		if v.MissesHangs() {
			c.addNewest(ctx, t, v)
		}
		e, err := story.Why(v)
		return e.String(), err
	}))
}

func (t *tool) timelineCommand() *cobra.Command {
	return t.verb("timeline", "Show the attempts, the incidents and the lost time of a job", 1, t.tell(func(_ context.Context, _ *connection, v *story.View) (string, error) {
		return story.Timeline(v, t.screen.picture(), t.screen.marks), nil
	}))
}

// see returns the connection, and what it shows of the job.
func (t *tool) see(ctx context.Context, name string) (*connection, *story.View, error) {
	c, job, err := t.find(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	v, err := c.view(ctx, t, job)
	return c, v, err
}

// tell returns the function of a verb that describes one job.
func (t *tool) tell(tale func(context.Context, *connection, *story.View) (string, error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, v, err := t.see(cmd.Context(), args[0])
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

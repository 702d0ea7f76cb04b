package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/logs"
	"github.com/trainingjob/operator/pkg/cli/story"
	"github.com/trainingjob/operator/pkg/job/state"
)

const (
	// mostRows is how many replicas the table shows one by one.
	mostRows = 32
	// repaint is how often the ages in a live table grow.
	repaint = time.Second
	// gather is how long changes are gathered before a live table is painted again.
	gather = 200 * time.Millisecond
)

// statusFlags are the flags of status.
type statusFlags struct {
	watch, all bool
	output     string
}

func (t *tool) statusCommand() *cobra.Command {
	o := &statusFlags{}
	cmd := &cobra.Command{
		Use: "status NAME", Args: jobNames(1, 1, 0), ValidArgsFunction: t.completeJobs(1),
		Short: "Show the state of a job and of each replica",
		Long: `Show the state of a job and of each replica.

With --watch it goes on until the job has finished, as a table that stays in its place on a terminal, and elsewhere as a line for
each change. Its exit status is then the job's: 0 for success.`,
		Example: "  kubectl tj status mnist\n  kubectl tj status mnist --watch",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, job, err := t.find(cmd.Context(), args[0])
			switch {
			case err != nil:
				return err
			case o.output != "":
				return t.printObject(job, o.output)
			case o.watch:
				return t.watchStatus(cmd.Context(), c, job, o)
			}
			pods, err := c.pods(cmd.Context(), job)
			if err != nil {
				return err
			}
			v := &story.View{Job: c.asQueued(cmd.Context(), job), Pods: pods, Local: t.local, Now: t.now()}
			c.readEnds(cmd.Context(), v)
			text, err := t.statusText(v, o)
			fmt.Fprint(t.Out, text)
			return err
		},
	}
	addOutput(cmd, &o.output)
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "go on until the job has finished")
	cmd.Flags().BoolVar(&o.all, "all", false, fmt.Sprintf("show every replica; without, those that are alike share a row if there are more than %d", mostRows))
	return cmd
}

// statusText returns the whole picture: how the job is, then its replicas.
func (t *tool) statusText(v *story.View, o *statusFlags) (string, error) {
	most := mostRows
	if o.all {
		most = len(v.Pods) + 1<<20
	}
	lines, err := story.Replicas(v, most)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	head := t.headline(v)
	b.WriteString(t.screen.fit(head))
	rows := [][]string{{"RANK", "REPLICA", "STATE", "NODE", "STARTS", "AGE", "WHY"}}
	for _, l := range lines {
		rows = append(rows, []string{l.Ranks, l.Names, l.State, cmp.Or(l.Node, "-"), fmt.Sprint(l.Starts), cmp.Or(l.Age, "-"), cmp.Or(l.Why, "-")})
	}
	b.WriteString("\n" + t.columns(rows))
	return b.String(), nil
}

// readiness returns how many replicas are ready, or nothing of a job that should have no pods.
func readiness(before string, s *v1alpha1.TrainingJobStatus) string {
	if s.Ready == "" || s.Ready == "-" {
		return ""
	}
	return before + s.Ready + " ready"
}

// headline sums the job up in a few lines.
func (t *tool) headline(v *story.View) string {
	s := &v.Job.Status
	text := fmt.Sprintf("%s: %s%s, attempt %d, %s\n", v.Name(), cmp.Or(string(s.Phase), "not seen by the operator yet"), readiness(", ", s), s.Attempt, story.Count(s.Restarts, "restart"))
	if s.Message != "" {
		text += state.Printable(s.Message) + "\n"
	}
	if s.Progress != nil {
		text += progressOf(s.Progress) + "\n"
	}
	return text
}

// progressOf returns what the training reported: its step, checkpoint and metrics.
func progressOf(p *v1alpha1.ProgressStatus) string {
	text := fmt.Sprintf("step %d", p.Step)
	if p.Checkpoint != "" {
		text += ", checkpoint " + p.Checkpoint
	}
	for _, name := range slices.Sorted(maps.Keys(p.Metrics)) {
		text += ", " + name + " " + p.Metrics[name]
	}
	return state.Printable(text)
}

// watchStatus shows the job until it has finished.
func (t *tool) watchStatus(ctx context.Context, c *connection, job *v1alpha1.TrainingJob, o *statusFlags) error {
	w, err := c.watch(ctx, job, t.say)
	if err != nil {
		return err
	}
	show := t.lineByLine()
	if t.screen.isTerminal {
		show = t.livePicture(o)
	}
	return w.each(ctx, repaint, func(scene logs.Scene) (bool, error) {
		v := &story.View{Job: c.asQueued(ctx, scene.Job), Pods: scene.Pods, Local: t.local, Now: t.now()}
		if err := show(v); err != nil {
			return true, err
		}
		if state.HasFinished(scene.Job) {
			return true, verdictOf(scene.Job)
		}
		if scene.Gone {
			return true, errGone
		}
		if t.screen.isTerminal {
			wait(ctx, gather)
		}
		return false, nil
	})
}

// verdictOf returns how a job that has finished ends a verb that waits for it: with what the replica exited with that failed it.
func verdictOf(job *v1alpha1.TrainingJob) error {
	f := job.Status.LastFailure
	switch {
	case job.Status.Phase == v1alpha1.PhaseSucceeded:
		return nil
	case f != nil && f.ExitCode != nil && *f.ExitCode > 0:
		return exitError(*f.ExitCode)
	default:
		return exitError(1)
	}
}

// say shows a message to the user that is not output.
func (t *tool) say(text string) { fmt.Fprintln(t.ErrOut, text) }

// livePicture returns what paints the picture in the place of the one before.
func (t *tool) livePicture(o *statusFlags) func(*story.View) error {
	painted := 0
	return func(v *story.View) error {
		text, err := t.statusText(v, o)
		if err != nil {
			return err
		}
		text = t.screen.cut(text) // lines that have left the screen cannot be painted again
		if painted > 0 {
			fmt.Fprintf(t.Out, "\x1b[%dA\x1b[J", painted)
		}
		painted = strings.Count(text, "\n")
		_, err = fmt.Fprint(t.Out, text)
		return err
	}
}

// lineByLine returns what prints a line whenever the job's own words change.
func (t *tool) lineByLine() func(*story.View) error {
	before := ""
	return func(v *story.View) error {
		s := &v.Job.Status
		text := fmt.Sprintf("%s%s, attempt %d, %s: %s", cmp.Or(string(s.Phase), "-"), readiness(" ", s), s.Attempt, story.Count(s.Restarts, "restart"), cmp.Or(state.Printable(s.Message), "-"))
		if text == before {
			return nil
		}
		before = text
		_, err := fmt.Fprintln(t.Out, v.Now.UTC().Format(time.TimeOnly), text)
		return err
	}
}

// wait waits, or until the context ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// selectorOf selects the pods of a job, of every life, those that were taken out of its Service included.
func selectorOf(job *v1alpha1.TrainingJob) labels.Selector {
	return labels.SelectorFromSet(labels.Set{v1alpha1.LabelJobUID: string(job.UID)})
}

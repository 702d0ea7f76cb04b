package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/report"
	"github.com/trainingjob/operator/pkg/cli/story"
	"github.com/trainingjob/operator/pkg/journal"
)

// reportFlags are the flags of report.
type reportFlags struct {
	logs   []string
	output string
}

func (t *tool) reportCommand() *cobra.Command {
	o := &reportFlags{}
	cmd := &cobra.Command{
		Use: "report NAME", Args: jobNames(1, 1, 0), ValidArgsFunction: t.completeJobs(1),
		Short: "Write the story of a job as one HTML page, or as JSON",
		Long: `Write the history of a job as one HTML page, without scripts or other files: attempts, the state of each replica over time, the cost
of each incident, lost time, and the status and Events.

A status keeps ten incidents and is deleted with its job. The operator's log has all incidents: with --log the page shows every one,
also for a deleted job.`,
		Example: `  kubectl tj report mnist > mnist.html
  kubectl -n trainingjob-system logs deployment/trainingjob-operator | kubectl tj report mnist --log - > mnist.html
  kubectl tj report mnist -o json | jq '.incidents[] | [.number, .cause, .costSeconds]'`,
		RunE: func(cmd *cobra.Command, args []string) error { return t.report(cmd.Context(), args[0], o) },
	}
	cmd.Flags().StringArrayVar(&o.logs, "log", nil, "read a log of the operator, in JSON, too; - is standard input (may be repeated)")
	cmd.Flags().StringVarP(&o.output, "output", "o", "html", "html or json")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"html", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (t *tool) report(ctx context.Context, name string, o *reportFlags) error {
	switch {
	case o.output != "html" && o.output != "json":
		return fmt.Errorf("--output %q: write html or json", o.output)
	case o.output == "html" && t.screen.isTerminal:
		return fmt.Errorf("the report is a page for a browser: write it to a file, kubectl tj report %s > %s.html", name, plainName(name))
	}
	lines, err := t.readLogs(o.logs)
	if err != nil {
		return err
	}
	v, about, sources, err := t.storyOf(ctx, name, lines, len(o.logs) > 0)
	if err != nil {
		return err
	}
	r := report.Make(v, about)
	r.Sources = sources
	if o.output == "json" {
		encoder := json.NewEncoder(t.Out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	return r.HTML(t.Out, nil)
}

// readLogs returns the lines about jobs of the logs.
func (t *tool) readLogs(names []string) ([]journal.Line, error) {
	var lines []journal.Line
	for _, name := range names {
		found, err := t.readLog(name)
		switch {
		case err != nil:
			return nil, fmt.Errorf("--log %s: %w", name, err)
		case len(found) == 0:
			return nil, fmt.Errorf("--log %s: it has no line about a job: give the operator's log, written with --log-format=json and --log-level=info", name)
		}
		lines = append(lines, found...)
	}
	return lines, nil
}

func (t *tool) readLog(name string) ([]journal.Line, error) {
	in := t.In
	if name != "-" {
		file, err := os.Open(name)
		if errors.Is(err, os.ErrNotExist) {
			return nil, errors.New("there is no such file")
		} else if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	return journal.Read(in)
}

// storyOf returns what the report is made of: the job in the cluster with its lines of the log, or, of a job that is not there, the
// lines alone.
func (t *tool) storyOf(ctx context.Context, name string, lines []journal.Line, hasLog bool) (*story.View, []journal.Line, []string, error) {
	job, c, err := t.jobForReport(ctx, name)
	if err != nil && !hasLog {
		return nil, nil, nil, err
	}
	if err == nil {
		v, err := c.view(ctx, t, job)
		if err != nil {
			return nil, nil, nil, err
		}
		about, _ := report.Of(lines, job.Namespace, job.Name, job.UID)
		sources := []string{"the status", story.Count(len(v.Pods), "pod"), story.Count(len(v.Events), "Event")}
		if hasLog {
			sources = append(sources, fmt.Sprintf("%d lines of the operator's log", len(about)))
		}
		return v, about, sources, nil
	}
	namespace := t.namespaceOf(c)
	about, others := report.Of(lines, namespace, plainName(name), "")
	if len(about) == 0 {
		return nil, nil, nil, fmt.Errorf("%w The log has no line about %s/%s either", errors.New(sentence(explain(err, t.flags))), namespace, name)
	}
	t.say(fmt.Sprintf("%s comes from the log alone: %s", name, explain(err, t.flags)))
	if others > 0 {
		t.say(fmt.Sprintf("The log has %d earlier jobs of that name; this is the latest.", others))
	}
	gone, now := report.JobOf(about)
	return &story.View{Job: gone, Now: now}, about, []string{fmt.Sprintf("%d lines of the operator's log alone", len(about))}, nil
}

// jobForReport returns the job and the connection to its cluster; the connection is nil if there is none.
func (t *tool) jobForReport(ctx context.Context, name string) (*v1alpha1.TrainingJob, *connection, error) {
	c, err := t.connect()
	if err != nil {
		return nil, nil, err
	}
	job, err := c.job(ctx, name)
	return job, c, err
}

// namespaceOf returns the namespace that the caller means, with or without a cluster.
func (t *tool) namespaceOf(c *connection) string {
	if c != nil {
		return c.namespace
	}
	namespace, _, err := t.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "default"
	}
	return cmp.Or(namespace, "default")
}

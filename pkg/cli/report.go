package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/trainingjob/operator/pkg/cli/advice"
	"github.com/trainingjob/operator/pkg/cli/report"
	"github.com/trainingjob/operator/pkg/cli/story"
)

func (t *tool) reportCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "report NAME", Args: jobNames(1, 1, 0), ValidArgsFunction: t.completeJobs(1),
		Short: "Write the history of a job as an HTML page, or as JSON",
		Long: `Write the history of a job as one HTML page, without scripts or other files: attempts, the state of each replica over time, the cost
of each incident, lost time, and the status and Events.

A status keeps ten incidents and is deleted with its job. The operator's log has all incidents.`,
		Example: `  kubectl tj report mnist > mnist.html
  kubectl tj report mnist -o json | jq '.incidents[] | [.number, .cause, .costSeconds]'`,
		RunE: func(cmd *cobra.Command, args []string) error { return t.report(cmd.Context(), args[0], output) },
	}
	cmd.Flags().StringVarP(&output, "output", "o", "html", "html or json")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"html", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (t *tool) report(ctx context.Context, name, output string) error {
	switch {
	case output != "html" && output != "json":
		return fmt.Errorf("--output %q: write html or json", output)
	case output == "html" && t.screen.isTerminal:
		return fmt.Errorf("the report is a page for a browser: write it to a file, %s > %s.html", advice.Reader{Job: name, Folder: t.local}.Command(advice.Report), plainName(name))
	}
	_, v, err := t.see(ctx, name)
	if err != nil {
		return err
	}
	r := reportOf(v)
	if output == "json" {
		encoder := json.NewEncoder(t.Out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	return r.HTML(t.Out, nil)
}

// reportOf returns the report of what a connection shows.
func reportOf(v *story.View) report.Report {
	r := report.Make(v, nil)
	r.Sources = []string{"the status", story.Count(len(v.Pods), "pod"), story.Count(len(v.Events), "Event")}
	return r
}

package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trainingjob/operator/pkg/cli/advice"
	"github.com/trainingjob/operator/pkg/cli/nearest"
)

// mostNames is how many jobs a verb takes at a time.
const mostNames = 100

// jobNames returns the check that a verb gets from least to most names of jobs, and no more than rest arguments behind them. It makes the names
// canonical, in place: the verb gets the slice that was checked.
func jobNames(least, most, rest int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return fmt.Errorf("%s needs the NAME of a job: %s shows the names", cmd.Name(), advice.Reader{Folder: folderOf(cmd)}.Command(advice.List))
		case len(args) > most+rest:
			return fmt.Errorf("%q is one argument too many: write %s", args[most+rest], strings.TrimSuffix(cmd.UseLine(), " [flags]"))
		}
		for i := range args[:min(len(args), most)] {
			switch name, err := canonical(args[i]); {
			case err == nil:
				args[i] = name
			case folderOf(cmd) == "": // a local run has no Kubeflow jobs, and no job of this name
				return err
			}
		}
		return nil
	}
}

// verb returns a verb without flags that takes the names of 1 to most jobs.
func (t *tool) verb(name, short string, most int, run func(*cobra.Command, []string) error) *cobra.Command {
	use := name + " NAME"
	if most > 1 {
		use += "..."
	}
	return &cobra.Command{Use: use, Short: short, Example: "  kubectl tj " + name + " mnist", Args: jobNames(1, most, 0), ValidArgsFunction: t.completeJobs(most), RunE: run}
}

// folderOf returns the folder of the local run that the verb reads; empty for a cluster.
func folderOf(cmd *cobra.Command) string {
	if flag := cmd.Flag("local"); flag != nil {
		return flag.Value.String()
	}
	return ""
}

// noNames is the check of a verb that is about no job.
func noNames(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%q is one argument too many: %s takes flags only", args[0], cmd.CommandPath())
	}
	return nil
}

// unknownVerb runs kubectl tj without a verb that it knows.
func unknownVerb(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return root.Help()
	}
	var verbs []string
	for _, verb := range root.Commands() {
		verbs = append(append(verbs, verb.Name()), verb.Aliases...)
	}
	if near := nearest.Name(args[0], verbs); near != "" {
		return fmt.Errorf("there is no verb %s; did you mean kubectl tj %s?", args[0], near)
	}
	return fmt.Errorf("there is no verb %s: kubectl tj --help lists them", args[0])
}

// numbers are the types of flags whose value is a number.
var numbers = []string{"int", "int32", "int64"}

// wrongFlag returns the error about a flag as a sentence with the right flag.
func wrongFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var empty *pflag.ValueRequiredError
	switch {
	case errors.As(err, &unknown):
		return unknownFlag(cmd, unknown.GetSpecifiedName())
	case errors.As(err, &invalid):
		flag, value := invalid.GetFlag(), invalid.GetValue()
		switch kind := flag.Value.Type(); {
		case slices.Contains(numbers, kind):
			return fmt.Errorf("--%s %q: write a whole number", flag.Name, value)
		case kind == "duration":
			return fmt.Errorf("--%s %q: write a time such as 90s, 10m or 2h", flag.Name, value)
		case kind == "bool":
			return fmt.Errorf("--%s=%s: write true or false, or the flag alone", flag.Name, value)
		}
	case errors.As(err, &empty):
		return fmt.Errorf("--%s needs a value: %s --help shows which", empty.GetFlag().Name, cmd.CommandPath())
	}
	return err
}

// unknownFlag returns the error about a flag that the verb does not have, with the nearest one that it has.
func unknownFlag(cmd *cobra.Command, name string) error {
	written := "--" + name
	if len(name) == 1 {
		return fmt.Errorf("%s has no flag -%s: see %s --help", cmd.CommandPath(), name, cmd.CommandPath())
	}
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	if near := nearest.Name(name, names); near != "" {
		return fmt.Errorf("%s has no flag %s; did you mean --%s?", cmd.CommandPath(), written, near)
	}
	return fmt.Errorf("%s has no flag %s: see %s --help", cmd.CommandPath(), written, cmd.CommandPath())
}

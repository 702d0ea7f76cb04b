package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// tool is what all verbs share.
type tool struct {
	genericiooptions.IOStreams
	version string
	flags   *genericclioptions.ConfigFlags
	// local is the folder of the local run to read; empty for a cluster.
	local  string
	screen screen
	now    func() time.Time
	// connect returns the connection that the flags ask for; tests replace it.
	connect func() (*connection, error)
}

// exitError ends the program with its own status, after its messages are printed.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// Run runs kubectl tj with these arguments and returns its exit status.
func Run(ctx context.Context, streams genericiooptions.IOStreams, version string, args []string) int {
	klog.LogToStderr(false) // client-go's own words are no sentences for users
	klog.SetOutput(io.Discard)
	log.SetLogger(logr.Discard())
	t := &tool{
		IOStreams: streams, version: version, screen: screenOf(streams.Out), now: time.Now,
		flags: genericclioptions.NewConfigFlags(true),
	}
	t.connect = t.dial
	return t.run(ctx, args)
}

func (t *tool) run(ctx context.Context, args []string) int {
	root := t.command()
	root.SetArgs(args)
	root.SetIn(t.In)
	root.SetOut(t.Out)
	root.SetErr(t.ErrOut)
	err := root.ExecuteContext(ctx)
	var status exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	case ctx.Err() != nil:
		return 130 // interrupted, as shells say it
	}
	fmt.Fprintln(t.ErrOut, "kubectl tj:", explain(err, t.flags))
	return 1
}

// command returns kubectl tj with all its verbs.
func (t *tool) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-tj",
		Short: "See and change TrainingJobs",
		Long: `See and change TrainingJobs: what they do, why they wait, what broke, and every rank's log.

It uses the kubeconfig and context of kubectl, and needs only the rights of the verb.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl tj"},
		Args:          cobra.ArbitraryArgs,
		RunE:          unknownVerb,
	}
	root.SetFlagErrorFunc(wrongFlag)
	t.flags.AddFlags(root.PersistentFlags())
	t.completeNamespaces(root)
	root.AddGroup(&cobra.Group{ID: "see", Title: "See:"}, &cobra.Group{ID: "steer", Title: "Change:"}, &cobra.Group{ID: "check", Title: "Check:"})
	for group, verbs := range map[string][]*cobra.Command{
		"see":   {t.listCommand(), t.statusCommand(), t.whyCommand(), t.timelineCommand(), t.logsCommand(), t.stacksCommand(), t.reportCommand(), t.uiCommand()},
		"steer": {t.submitCommand(), t.runCommand(), t.suspendCommand(), t.resumeCommand(), t.restartCommand(), t.scaleCommand(), t.deleteCommand()},
		"check": {t.planCommand(), t.convertCommand(), t.doctorCommand(), t.versionCommand()},
	} {
		for _, verb := range verbs {
			verb.GroupID = group
			if group == "see" {
				verb.Flags().StringVar(&t.local, "local", "", "read the local run of this folder, which kubectl tj run shows at its start, and no cluster")
			}
			root.AddCommand(verb)
		}
	}
	return root
}

// Command demo shows what the operator does. On a lab of its own it submits three of the examples, breaks replicas and a node, and prints
// what happens, one line an event. With an image of examples/hello-ps it runs on real nodes, where the example trains. On a terminal it
// leaves the lab running until the user presses Enter. It exits with status 1 if a recovery differs from what the documents promise.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/trainingjob/operator/test/api/testbed"
)

// patience bounds the whole demo, without the lab's start.
const patience = 5 * time.Minute

type options struct {
	lab, operator, plugin, crds, examples string
	// image is the archive of the image of examples/hello-ps, for the demo on real nodes.
	image string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Shows on a lab how the operator schedules, recovers and ends training jobs",
		Args:  cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.lab, "lab", "bin/lab", "the lab's binary")
	cmd.Flags().StringVar(&o.operator, "operator", "bin/operator", "the operator's binary")
	cmd.Flags().StringVar(&o.plugin, "kubectl-tj", "bin/kubectl-tj", "the binary of the plug-in kubectl tj")
	cmd.Flags().StringVar(&o.crds, "crds", "manifests/crd", "file or folder with the CRD")
	cmd.Flags().StringVar(&o.examples, "examples", "examples", "folder with the examples")
	cmd.Flags().StringVar(&o.image, "image", "", "archive with the image of examples/hello-ps: the demo is on real nodes then (root, Debian or Ubuntu)")
	return cmd
}

func run(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "trainingjob-demo-")
	if err != nil {
		return fmt.Errorf("making a work folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	l := lab{testbed.Lab{Binary: o.lab, Dir: filepath.Join(dir, "lab")}}
	defer func() { err = errors.Join(err, l.down()) }()
	if err := l.up(ctx, o); err != nil {
		return err
	}
	if err := errors.Join(play(ctx, l, o), l.result(ctx, o)); err != nil {
		return err
	}
	fmt.Println("\nAll checks passed: which replicas restarted, their names and ranks, the charges, and how each job ended.")
	l.stay(ctx, o)
	return nil
}

func play(ctx context.Context, l lab, o options) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s, err := newStage(ctx, l.Kubeconfig(), o.examples)
	if err != nil {
		return err
	}
	if o.image != "" {
		return s.train(ctx, l)
	}
	return s.play(ctx)
}

// Command operator runs TrainingJobs on a Kubernetes cluster.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/trainingjob/operator/pkg/operator/memory"
)

// version is set by the linker.
var version = "dev"

// heapGrowth is by how many percent the heap grows until the next collection.
const heapGrowth = 50

func main() {
	if err := command().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "operator:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	o := defaults()
	cmd := &cobra.Command{
		Use:   "operator",
		Short: "Runs TrainingJobs: distributed training on Kubernetes",
		Long: `Runs TrainingJobs (trainingjob.dev/v1alpha1): creates pods that find each other, and when one fails,
replaces that replica or restarts the whole job.

It needs the CRD in manifests/crd and the permissions in manifests/base. Without --kubeconfig it uses the
KUBECONFIG environment variable, or the pod's own service account.`,
		Version:       version,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func run(ctx context.Context, o *options) error {
	if err := o.validate(); err != nil {
		return err
	}
	log := o.logger()
	ctrl.SetLogger(log)
	memory.Bound(log, heapGrowth)
	server, err := o.apiServer(log)
	if err != nil {
		return err
	}
	if err := server.Wait(ctx, o.healthAddress); err != nil || ctx.Err() != nil {
		return err
	}
	mgr, err := newManager(ctx, o, server)
	if err != nil {
		return err
	}
	log.Info("starting", "version", version, "namespaces", o.namespaces, "leaderElection", o.leaderElect, "nodeSignals", o.clusterOptions().Signals.String())
	client, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	tellKubernetes(client, log)
	return mgr.Start(ctx)
}

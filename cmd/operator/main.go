// Command operator runs TrainingJobs on a Kubernetes cluster.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"
)

// version is set by the linker.
var version = "dev"

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

// memoryShare is the part of the container's memory limit up to which the heap may grow before garbage is collected at any price. The rest
// is for stacks and buffers.
const memoryShare = 0.9

// limitMemory sets Go's memory limit from the container's, if the variable GOMEMLIMIT does not. Without a container there is none.
func limitMemory(log logr.Logger) {
	limit, err := memlimit.SetGoMemLimitWithOpts(memlimit.WithRatio(memoryShare), memlimit.WithProvider(memlimit.FromCgroup))
	if err != nil {
		log.V(1).Info("the container has no memory limit", "error", err.Error())
		return
	}
	log.V(1).Info("the heap is limited", "bytes", limit)
}

// collectEarly has garbage collected when the heap has grown by half, and not when it has doubled, if the variable GOGC does not say: most of
// the heap is the cache of pods, and most garbage what their changes were decoded from.
func collectEarly() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

func run(ctx context.Context, o *options) error {
	if err := o.validate(); err != nil {
		return err
	}
	log := o.logger()
	ctrl.SetLogger(log)
	collectEarly()
	limitMemory(log)
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

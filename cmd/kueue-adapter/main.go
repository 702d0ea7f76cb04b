// Command kueue-adapter lets TrainingJobs wait in Kueue's queues.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/trainingjob/operator/pkg/operator/memory"
)

// version is set by the linker.
var version = "dev"

// heapGrowth is by how many percent the heap grows until the next collection. The heap is two objects for each job that waits, and few of them
// change at the same time.
const heapGrowth = 25

func main() {
	if err := command().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "kueue-adapter:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	o := defaults()
	cmd := &cobra.Command{
		Use:   "kueue-adapter",
		Short: "Lets TrainingJobs wait in Kueue's queues",
		Long: `Lets TrainingJobs (trainingjob.dev/v1alpha1) wait in Kueue's queues: gives each one with the label
kueue.x-k8s.io/queue-name a Workload, starts it when Kueue admits that, and suspends it when Kueue takes the admission back.
It creates no pods; that is the operator's work.

It needs Kueue 0.19, whose configuration names TrainingJob.v1alpha1.trainingjob.dev under integrations.externalFrameworks, and
the permissions and the admission policy in manifests/components/kueue. Without --kubeconfig it uses the KUBECONFIG
environment variable, or the pod's own service account.`,
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
	log.Info("starting", "version", version, "leaderElection", o.leaderElect)
	return mgr.Start(ctx)
}

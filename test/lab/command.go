//go:build linux

package main

import (
	"context"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trainingjob/operator/test/lab/cluster"
)

func newCommand() *cobra.Command {
	// cobra offers what is on the global set, and Kubernetes' packages put theirs there.
	pflag.CommandLine = pflag.NewFlagSet("lab", pflag.ContinueOnError)
	root := &cobra.Command{
		Use:   "lab",
		Short: "A real Kubernetes control plane with fake GPU nodes, on this machine alone",
		Long: `lab runs etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok as
processes of this machine, with fake GPU nodes that do to pods what annotations on the
pods say (run for so long, exit with this code, never start, never go away ...): see
test/lab/README.md for all of them. No container runtime and no network are needed.
With --real there are real nodes beside them, whose pods run: as root, on Debian or Ubuntu.

This binary is also each of these programs itself, and kubectl:

  lab kubectl get nodes
  lab etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kwok|kubelet --help`,
		Example: `  lab up --nodes 16 --crds manifests/crd --operator bin/operator
  . .lab/env && kubectl get nodes
  lab down`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.AddCommand(upCommand(), downCommand(), addNodesCommand(), restartCommand(), peerCommand(), nodeCommand(), podCommand(), imageCommand(), browserCommand(), nodeInitCommand())
	return root
}

func upCommand() *cobra.Command {
	var options cluster.Options
	command := &cobra.Command{
		Use:   "up",
		Short: "Start a lab and leave it running",
		Long: `up starts the control plane, creates the nodes, installs CRDs, starts the operator,
waits for each to be ready, and leaves all of it running in the background. Logs, the
kubeconfig, audit.log and a file "env" to source are in the work folder. If anything
fails, everything that was started is ended again.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return cluster.Up(command.Context(), options, command.OutOrStdout())
		},
	}
	flags := command.Flags()
	dirFlag(command, &options.Dir)
	flags.IntVar(&options.Nodes, "nodes", 16, "number of fake nodes, gpu-0 and so on")
	flags.IntVar(&options.GPUs, "gpus", 8, "GPUs (nvidia.com/gpu) of each node")
	flags.StringArrayVar(&options.CRDs, "crds", nil, "file or folder with CustomResourceDefinitions to install (may be repeated)")
	flags.StringArrayVar(&options.With, "with", nil,
		"an add-on to run beside the default scheduler: "+strings.Join(cluster.AddonNames(), ", ")+" (may be repeated)")
	flags.StringArrayVar(&options.Peers, "peer", nil,
		"a controller of training jobs by others to install, for lab peer start: "+strings.Join(cluster.PeerNames(), ", ")+" (may be repeated)")
	flags.StringVar(&options.Operator, "operator", "", "operator binary to run; none if empty")
	flags.StringVar(&options.OperatorManifests, "operator-manifests", "",
		"folder with the kustomization whose service account, roles and admission policies the operator gets; an administrator's rights if empty")
	flags.StringArrayVar(&options.OperatorArgs, "operator-args", nil, "one further argument for the operator (may be repeated)")
	flags.StringVar(&options.ControlPlane, "control-plane", "",
		"folder with kube-apiserver, kube-controller-manager and kube-scheduler of another version of Kubernetes; needs --without-native-gangs")
	flags.StringVar(&options.Kubelet, "kubelet", "", "kubelet of another version of Kubernetes for the real nodes: make bin/versions/1.35/kubelet")
	flags.BoolVar(&options.WithoutNativeGangs, "without-native-gangs", false, "leave Kubernetes' own gangs off, as a cluster does by default")
	flags.DurationVar(&options.NodeMonitorGracePeriod, "node-monitor-grace-period", 0,
		"how long a node may be silent before it counts as lost; 0 means Kubernetes' own, 50s")
	flags.DurationVar(&options.PodsReadyTimeout, "pods-ready-timeout", 0,
		"with --with kueue: how long an admitted job may take until it runs, before Kueue evicts it; 0 is for ever")
	flags.IntVar(&options.Real, "real", 0, "number of real nodes, real-0 and so on: root, and Debian or Ubuntu")
	flags.IntVar(&options.RealGPUs, "real-gpus", 0, "GPUs (nvidia.com/gpu) that each real node claims to have")
	flags.StringArrayVar(&options.Images, "image", nil, "image archive to import into the real nodes (may be repeated)")
	return command
}

func downCommand() *cobra.Command {
	var dir string
	var keepFiles bool
	command := &cobra.Command{
		Use:   "down",
		Short: "End a lab and remove its work folder",
		Long: `down ends every process that up started, the operator first and etcd last, and removes
the work folder with all that is in it. Where there is no lab it says so and succeeds.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return cluster.Down(dir, keepFiles, command.OutOrStdout())
		},
	}
	dirFlag(command, &dir)
	command.Flags().BoolVar(&keepFiles, "keep-files", false, "leave the work folder, with the logs and the audit log, for inspection")
	return command
}

func addNodesCommand() *cobra.Command {
	var dir string
	var count int
	command := &cobra.Command{
		Use:   "add-nodes",
		Short: "Give a running lab more nodes",
		Long:  `add-nodes creates further nodes of the lab's kind; their names continue where the last ended.`,
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return cluster.AddNodes(command.Context(), dir, count, command.OutOrStdout())
		},
	}
	dirFlag(command, &dir)
	command.Flags().IntVar(&count, "count", 1, "how many")
	return command
}

func restartCommand() *cobra.Command {
	var dir, component string
	var dead time.Duration
	command := &cobra.Command{
		Use:   "restart",
		Short: "Kill a component and start it again",
		Long: `restart kills one of etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok
with SIGKILL, as a crash would, starts it again with the same data, port and flags, and
waits until it is ready.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return cluster.Restart(command.Context(), dir, component, dead, command.OutOrStdout())
		},
	}
	dirFlag(command, &dir)
	command.Flags().StringVar(&component, "component", "", "which one")
	command.Flags().DurationVar(&dead, "dead-for", 0, "how long it stays dead")
	return command
}

func peerCommand() *cobra.Command {
	var dir, speed string
	var more []string
	command := &cobra.Command{
		Use:   "peer",
		Short: "Run controllers of training jobs by others, to compare",
	}
	start := &cobra.Command{
		Use:   "start PEER",
		Short: "Start a peer that up --peer has installed",
		Args:  cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return cluster.StartPeer(command.Context(), dir, args[0], cluster.PeerOptions{Speed: cluster.Speed(speed), Args: more}, command.OutOrStdout())
		},
	}
	start.Flags().StringVar(&speed, "speed", string(cluster.Tuned), "shipped: limits and threads as upstream ships them; tuned: as fast as its settings let it be")
	start.Flags().StringArrayVar(&more, "arg", nil, "a further argument of its program: --arg=--gang-scheduler-name=volcano (may be repeated); not for Volcano")
	stop := &cobra.Command{
		Use:   "stop PEER",
		Short: "End a peer, with its webhooks",
		Args:  cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return cluster.StopPeer(command.Context(), dir, args[0], command.OutOrStdout())
		},
	}
	command.PersistentFlags().StringVar(&dir, "dir", ".lab", "work folder of the lab")
	command.AddCommand(start, stop)
	return command
}

func dirFlag(command *cobra.Command, dir *string) {
	command.Flags().StringVar(dir, "dir", ".lab", "work folder of the lab")
}

// interruptible ends with Ctrl-C or SIGTERM, which a lab in the making answers by ending
// what it has started.
func interruptible() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
}

//go:build linux

package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/trainingjob/operator/test/lab/cluster"
	"github.com/trainingjob/operator/test/lab/debian"
	"github.com/trainingjob/operator/test/lab/realnode"
)

// nodeInitCommand is what real nodes run as their first process.
func nodeInitCommand() *cobra.Command {
	return &cobra.Command{
		Use:    realnode.InitCommand + " DIR",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return realnode.Init(command.Context(), args[0])
		},
	}
}

// browserCommand fetches a browser for tests.
func browserCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "browser DIR",
		Short: "Fetch a browser for tests into a folder, and print its program",
		Long: `browser downloads Debian's Chromium, the one without a screen, and the libraries that it needs, unpacks them into
the folder and prints the program. Nothing is installed. What is there already is not fetched again.`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			folder, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			program, err := debian.Cache(folder).FetchBrowser(command.Context(), func(format string, args ...any) {
				fmt.Fprintf(command.ErrOrStderr(), format+"\n", args...)
			})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(command.OutOrStdout(), program)
			return err
		},
	}
}

func imageCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "image",
		Short: "Images of real nodes",
	}
	command.AddCommand(imageBuildCommand(), imageImportCommand(), imageRemoveCommand())
	return command
}

// nodeCommand has a command for each fault of a real node.
func nodeCommand() *cobra.Command {
	parent := &cobra.Command{
		Use:   "node",
		Short: "Break real nodes, and mend them",
		Long:  `node has the faults of real nodes. Fake nodes die by an annotation (test/lab/README.md).`,
	}
	for _, fault := range cluster.NodeFaults() {
		var dir string
		command := &cobra.Command{
			Use:     fault.Name + " NODE",
			Short:   fault.Short,
			Long:    fault.Long,
			Example: "  lab node " + fault.Name + " real-0",
			Args:    cobra.ExactArgs(1),
			RunE: func(command *cobra.Command, args []string) error {
				return fault.Do(command.Context(), dir, args[0], command.OutOrStdout())
			},
		}
		dirFlag(command, &dir)
		parent.AddCommand(command)
	}
	return parent
}

// podCommand has a command for each signal that a process of a pod is broken with.
func podCommand() *cobra.Command {
	parent := &cobra.Command{
		Use:   "pod",
		Short: "Break the processes of pods on real nodes",
		Long: `pod sends signals to the main process of a container on a real node, from outside: nothing
of it passes through Kubernetes.`,
	}
	parent.AddCommand(
		podSignalCommand("kill", "SIGKILL", "Kill a container's main process, as the kernel or a crash would"),
		podSignalCommand("stop", "SIGSTOP", "Stop a container's main process: it hangs, with open connections"),
		podSignalCommand("cont", "SIGCONT", "Let a stopped process go on"),
	)
	return parent
}

func podSignalCommand(name, signal, short string) *cobra.Command {
	var chosen cluster.PodSignal
	command := &cobra.Command{
		Use:     name + " POD",
		Short:   short,
		Long:    short + " (" + signal + ").",
		Example: "  lab pod " + name + " mnist-worker-1 --namespace team-a",
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			chosen.Pod = args[0]
			return chosen.Send(command.Context(), command.OutOrStdout())
		},
	}
	dirFlag(command, &chosen.Dir)
	flags := command.Flags()
	flags.StringVarP(&chosen.Namespace, "namespace", "n", "default", "namespace of the pod")
	flags.StringVarP(&chosen.Container, "container", "c", "", "which container, if the pod has several")
	chosen.Signal = signal
	if name == "kill" {
		flags.StringVarP(&chosen.Signal, "signal", "s", signal, "another signal")
	}
	return command
}

func imageImportCommand() *cobra.Command {
	var dir string
	command := &cobra.Command{
		Use:   "import ARCHIVE",
		Short: "Load an image archive into all real nodes",
		Long: `import loads an image archive, such as "docker save" writes, into the containerd of every real
node, unless the node has the same image already. Pods name it with imagePullPolicy
Never or IfNotPresent: there is no registry.`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return cluster.ImportImage(command.Context(), dir, args[0], command.OutOrStdout())
		},
	}
	dirFlag(command, &dir)
	return command
}

func imageRemoveCommand() *cobra.Command {
	var dir string
	command := &cobra.Command{
		Use:   "remove IMAGE NODE",
		Short: "Remove an image from a real node",
		Long: `remove takes an image and all its names from the containerd of one real node, as a kubelet that needs room does. Containers
of it run on. lab image import brings it back.`,
		Example: "  lab image remove lab.local/trainer:1 real-0",
		Args:    cobra.ExactArgs(2),
		RunE: func(command *cobra.Command, args []string) error {
			return cluster.RemoveImage(command.Context(), dir, args[0], args[1], command.OutOrStdout())
		},
	}
	dirFlag(command, &dir)
	return command
}

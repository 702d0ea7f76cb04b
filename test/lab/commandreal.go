package main

import (
	"github.com/spf13/cobra"

	"github.com/trainingjob/operator/test/lab/cluster"
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

func imageCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "image",
		Short: "Images of real nodes",
	}
	command.AddCommand(imageImportCommand())
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

//go:build linux

package main

import (
	"github.com/spf13/cobra"

	"github.com/trainingjob/operator/test/lab/image"
)

func imageBuildCommand() *cobra.Command {
	options := image.Options{}
	command := &cobra.Command{
		Use:   "build DIR",
		Short: "Make a container image from a folder with a Dockerfile, without a container engine",
		Long: `build makes an image archive, as docker save writes it, for lab image import. Its base,
debian:bookworm-slim, comes from Debian's packages, so no image registry is needed. Layers and
downloaded packages are kept in the cache folder, and steps that have not changed take no time.
It needs root, on Debian or Ubuntu.`,
		Example: `  lab image build examples/hello-ps --tag registry.example.com/examples/hello-ps:v1 -o bin/images/hello-ps.tar`,
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			options.Dir = args[0]
			return image.Build(command.Context(), options, command.OutOrStdout())
		},
	}
	flags := command.Flags()
	flags.StringVar(&options.Tag, "tag", "", "name of the image, as a pod's template has it")
	flags.StringVarP(&options.Out, "output", "o", "", "the archive to write")
	flags.StringVar(&options.Cache, "cache", "bin/images/cache", "folder for layers and downloaded packages")
	_ = command.MarkFlagRequired("tag")
	_ = command.MarkFlagRequired("output")
	return command
}

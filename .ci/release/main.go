// Command release makes what a release of the operator consists of, out of the commit that is checked out, and the same bytes each time:
//
//	release all --version v0.1.0 --registry registry.example.com/team --out dist
//
// It needs Go, git and python3 with the modules build and setuptools; no Docker, no registry and no cluster. make release runs it.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

func main() {
	if err := command().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	root := &cobra.Command{Use: "release", Short: "Makes a release of the TrainingJob operator", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(allCommand(), installCommand(), imageCommand(), archiveCommand())
	return root
}

func allCommand() *cobra.Command {
	r, names := new(release), []string(nil)
	cmd := &cobra.Command{
		Use: "all", Short: "Writes everything of a release into a folder", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if r.platforms, err = choose(names); err != nil {
				return err
			}
			if err := r.prepare(cmd.Context()); err != nil {
				return err
			}
			return r.all(cmd.Context())
		},
	}
	r.addFlags(cmd)
	cmd.Flags().StringVar(&r.out, "out", "dist", "folder that is made, in place of what it had")
	all := "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64"
	cmd.Flags().StringSliceVar(&names, "platforms", strings.Split(all, ","), "platforms that it is for; fewer make a trial")
	cmd.Flags().StringVar(&r.python, "python", "python3", "Python with the modules build and setuptools")
	return cmd
}

func installCommand() *cobra.Command {
	r, out := new(release), ""
	cmd := &cobra.Command{
		Use: "install", Short: "Writes manifests/base with the image of a registry as one file, for images that make image has built", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := r.checkNames(); err != nil {
				return err
			}
			rendered, err := r.render("manifests/base", "", reference{tag: r.version})
			if err != nil {
				return err
			}
			return write(out, rendered)
		},
	}
	r.addFlags(cmd)
	cmd.Flags().StringVar(&out, "out", "install.yaml", "file that is written")
	return cmd
}

func imageCommand() *cobra.Command {
	r, manifests := new(release), ""
	cmd := &cobra.Command{
		Use: "image", Short: "Writes the operator's image as an archive, for a cluster without a registry, and the manifests for it", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.local(cmd.Context(), manifests) },
	}
	r.addFlags(cmd)
	cmd.Flags().StringVar(&r.out, "out", "operator.tar", "file that is written: an OCI archive, which Docker loads too")
	cmd.Flags().StringVar(&manifests, "install", "install.yaml", "file that is written: manifests/base with this image")
	return cmd
}

func archiveCommand() *cobra.Command {
	var layout, name, platform, out string
	cmd := &cobra.Command{
		Use: "archive", Short: "Writes one platform of an OCI layout as an archive, for nodes without a registry", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			image, err := imageIn(layout, platform)
			if err != nil {
				return err
			}
			config, err := image.ConfigFile()
			if err != nil {
				return err
			}
			return writeArchive(image, name, config.Created.Time, out)
		},
	}
	f := cmd.Flags()
	f.StringVar(&layout, "layout", "dist/images/operator", "OCI layout that release all has made")
	f.StringVar(&name, "name", "", "name of the image, with its tag")
	f.StringVar(&platform, "platform", "linux/amd64", "which of its platforms")
	f.StringVar(&out, "out", "operator.tar", "file that is written")
	return cmd
}

package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

func (t *tool) versionCommand() *cobra.Command {
	own := false
	cmd := &cobra.Command{
		Use: "version", Args: noNames,
		Short: "Print the versions of kubectl tj, the cluster and its TrainingJob API",
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintln(t.Out, "kubectl tj:", t.version)
			if own {
				return nil
			}
			c, err := t.connect()
			if err != nil {
				return err
			}
			server, err := c.discovery.ServerVersion()
			if err != nil {
				return err
			}
			fmt.Fprintln(t.Out, "Kubernetes:", server.GitVersion)
			served := v1alpha1.GroupVersion.String()
			if c.resources(served) == nil {
				served = "not installed"
			}
			fmt.Fprintln(t.Out, "TrainingJob:", served)
			return nil
		},
	}
	cmd.Flags().BoolVar(&own, "client", false, "print the version of kubectl tj only")
	return cmd
}

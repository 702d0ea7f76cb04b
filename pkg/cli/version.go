package cli

import (
	"fmt"
	"strings"

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
			groups, err := c.discovery.ServerGroups()
			if err != nil {
				return err
			}
			var versions []string
			for i := range groups.Groups {
				if groups.Groups[i].Name == v1alpha1.Group {
					for _, v := range groups.Groups[i].Versions {
						versions = append(versions, v.GroupVersion)
					}
				}
			}
			if len(versions) == 0 {
				versions = []string{"not installed"}
			}
			fmt.Fprintln(t.Out, "TrainingJob:", strings.Join(versions, ", "))
			return nil
		},
	}
	cmd.Flags().BoolVar(&own, "client", false, "print the version of kubectl tj only")
	return cmd
}

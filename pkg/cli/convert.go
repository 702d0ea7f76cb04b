package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/trainingjob/operator/pkg/convert"
)

func (t *tool) convertCommand() *cobra.Command {
	var files []string
	cmd := &cobra.Command{
		Use: "convert -f FILE", Args: cobra.NoArgs,
		Short: "Make TrainingJobs of Kubeflow's jobs",
		Long: `Make TrainingJobs of the TFJobs, PyTorchJobs, JAXJobs, XGBoostJobs, PaddleJobs and MPIJobs of files. The jobs go to standard output, and
a report of every value that is not as it was to standard error. No cluster is needed.`,
		Example: "  kubectl tj convert -f job.yaml > trainingjob.yaml\n  kubectl get pytorchjobs -o yaml | kubectl tj convert -f -",
		RunE: func(*cobra.Command, []string) error {
			if len(files) == 0 {
				return errors.New("convert what? Give files with -f; - is standard input")
			}
			for i, name := range files {
				if i > 0 {
					fmt.Fprintln(t.Out, "---")
				}
				if err := t.convertFile(name); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			return nil
		},
	}
	cmd.Flags().StringSliceVarP(&files, "filename", "f", nil, "convert the jobs of these files; - is standard input")
	return cmd
}

// convertFile converts a file; - is standard input.
func (t *tool) convertFile(name string) error {
	in := t.In
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	report, err := convert.Stream(in, t.Out)
	if text := report.String(); text != "" {
		_, _ = io.WriteString(t.ErrOut, text)
	}
	return err
}

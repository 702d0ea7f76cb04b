package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/kubeflow/convert"
)

// conversion is what the flags of convert say.
type conversion struct {
	files       []string
	fromCluster []string
	report      string
}

func (t *tool) convertCommand() *cobra.Command {
	c := &conversion{}
	cmd := &cobra.Command{
		Use: "convert (-f FILE... | --from-cluster KIND/NAME...)", Args: noNames,
		Short: "Convert Kubeflow's jobs to TrainingJobs: PyTorchJobs, TFJobs, MPIJobs and others",
		Long: `Convert jobs of Kubeflow's training operator v1 (TFJob, PyTorchJob, JAXJob, XGBoostJob, PaddleJob, MPIJob) and of the
MPI operator (MPIJob v2beta1) to TrainingJobs. The YAML goes to the output, and the report of changes to the
terminal. The command creates nothing: use kubectl apply.`,
		Example: `  kubectl tj convert -f pytorchjob.yaml > trainingjob.yaml
  kubectl get tfjobs -o yaml | kubectl tj convert -f -
  kubectl tj convert --from-cluster mpijob/horovod`,
		RunE: func(cmd *cobra.Command, _ []string) error { return t.convert(cmd.Context(), c) },
	}
	cmd.Flags().StringArrayVarP(&c.files, "filename", "f", nil, "file with jobs, - for the standard input (may be repeated)")
	cmd.Flags().StringArrayVar(&c.fromCluster, "from-cluster", nil, "a job of the cluster, as KIND/NAME (may be repeated)")
	cmd.Flags().StringVar(&c.report, "report", "text", "how the report is written: text, json or none")
	return cmd
}

// convert writes what becomes of all files and jobs, or nothing if one of them cannot be converted.
func (t *tool) convert(ctx context.Context, c *conversion) error {
	if len(c.files)+len(c.fromCluster) == 0 {
		return errors.New("convert what? Give a file with -f FILE, or a job of the cluster with --from-cluster KIND/NAME")
	}
	if c.report != "text" && c.report != "json" && c.report != "none" {
		return fmt.Errorf("--report=%s: write text, json or none", c.report)
	}
	sources, err := t.sources(ctx, c)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	var whole convert.Report
	var failed error
	for _, s := range sources {
		var own bytes.Buffer
		report, err := convert.Stream(bytes.NewReader(s.text), &own)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", s.name, err))
		}
		whole.Jobs += report.Jobs
		whole.Notes = append(whole.Notes, report.Notes...)
		if out.Len() > 0 {
			out.WriteString("---\n")
		}
		out.Write(own.Bytes())
	}
	if failed != nil {
		return failed
	}
	if err := t.writeReport(c.report, whole); err != nil {
		return err
	}
	_, err = out.WriteTo(t.Out)
	return err
}

func (t *tool) writeReport(form string, report convert.Report) error {
	switch form {
	case "none":
		return nil
	case "json":
		return json.NewEncoder(t.ErrOut).Encode(report)
	}
	_, err := fmt.Fprintf(t.ErrOut, "%s%d converted, %d notes; docs/migrating.md explains them\n", report, report.Jobs, len(report.Notes))
	return err
}

// source is a text with jobs, and where it is from.
type source struct {
	name string
	text []byte
}

// sources reads the files, then the jobs of the cluster.
func (t *tool) sources(ctx context.Context, c *conversion) ([]source, error) {
	var sources []source
	for _, file := range c.files {
		read := func() ([]byte, error) { return os.ReadFile(file) }
		if file == "-" {
			file, read = "standard input", func() ([]byte, error) { return io.ReadAll(t.In) }
		}
		text, err := read()
		if err != nil {
			return nil, fmt.Errorf("reading jobs: %w", err)
		}
		sources = append(sources, source{file, text})
	}
	if len(c.fromCluster) == 0 {
		return sources, nil
	}
	cluster, err := t.connect()
	if err != nil {
		return nil, err
	}
	for _, name := range c.fromCluster {
		text, err := cluster.foreignJob(ctx, name)
		if err != nil {
			return nil, err
		}
		sources = append(sources, source{name, text})
	}
	return sources, nil
}

// foreignJob returns a job of Kubeflow's as YAML. It is named as KIND/NAME, in any case, singular or plural.
func (c *connection) foreignJob(ctx context.Context, name string) ([]byte, error) {
	kind, job, both := strings.Cut(name, "/")
	if !both || kind == "" || job == "" {
		return nil, fmt.Errorf("--from-cluster=%s: write KIND/NAME, for example pytorchjob/mnist", name)
	}
	gvk, err := c.kube.RESTMapper().KindFor(schema.GroupVersionResource{Group: v1alpha1.KubeflowGroup, Resource: strings.ToLower(kind)})
	if err != nil {
		return nil, fmt.Errorf("the cluster has no kind %s of kubeflow.org: write tfjob, pytorchjob, jaxjob, xgboostjob, paddlejob or mpijob, or convert a file with -f", kind)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	if err := c.kube.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: job}, object); err != nil {
		return nil, fmt.Errorf("reading %s in namespace %s: %w", name, c.namespace, err)
	}
	return yaml.Marshal(object.Object)
}

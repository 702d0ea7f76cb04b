package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/advice"
	"github.com/trainingjob/operator/pkg/cli/forecast"
	"github.com/trainingjob/operator/pkg/cli/schema"
	"github.com/trainingjob/operator/pkg/job/state"
)

// submission are the flags of submit.
type submission struct {
	files     []string
	dryRun    bool
	framework string
	image     string
	workers   int32
	ps        int32
	cpu       string
	memory    string
	gpus      int64
	env       []string
	queue     string
	elastic   string
	after     int32
}

func (t *tool) submitCommand() *cobra.Command {
	o := &submission{}
	cmd := &cobra.Command{
		Use:   "submit [NAME] [flags] [-- COMMAND ARGS...]",
		Short: "Create a job from flags, or jobs from files",
		Long: `Create a job from flags, or jobs from files.

Before it creates a job, it sends one pod of each role as a dry run, and shows what the cluster would refuse. With --dry-run nothing is created: the job is checked as the API server would and printed as YAML, to be kept in a file and changed.

With --after a job goes on where another one ended: it begins with the attempt behind the one that is named, so that the checkpoints of the
other job, whose names begin with their attempt, count as earlier ones.`,
		Example: `  kubectl tj submit mnist --framework PyTorch --image train:1 --workers 4 --gpus 8 -- python train.py
  kubectl tj submit mnist --image train:1 --dry-run > mnist.yaml
  kubectl tj submit -f mnist.yaml
  kubectl tj submit -f mnist.yaml --after 7`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := jobNames(0, 1, len(args))(cmd, beforeDash(cmd, args)); err != nil {
				return err
			}
			documents, err := o.documents(cmd, args, t.In)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("after") {
				if documents, err = behind(documents, o.after); err != nil {
					return err
				}
			}
			if o.dryRun {
				return t.printDocuments(documents)
			}
			c, err := t.connect()
			if err != nil {
				return err
			}
			for _, document := range documents {
				if err := t.submit(cmd.Context(), c, document); err != nil {
					return err
				}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringSliceVarP(&o.files, "filename", "f", nil, "create the jobs of these files; - is standard input")
	f.BoolVar(&o.dryRun, "dry-run", false, "create nothing; print the job as YAML")
	f.StringVar(&o.framework, "framework", string(v1alpha1.PyTorch), strings.Join(state.Frameworks(), ", "))
	f.StringVar(&o.image, "image", "", "image that the replicas run")
	f.Int32Var(&o.workers, "workers", 1, "how many workers")
	f.Int32Var(&o.ps, "ps", 0, "how many parameter servers")
	f.StringVar(&o.cpu, "cpu", "", "CPUs of each replica: 4, 500m")
	f.StringVar(&o.memory, "memory", "", "memory of each replica: 16Gi")
	f.Int64Var(&o.gpus, "gpus", 0, "GPUs (nvidia.com/gpu) of each worker")
	f.StringArrayVar(&o.env, "env", nil, "environment variable, as NAME=VALUE (may be repeated)")
	f.StringVar(&o.queue, "queue", "", "LocalQueue of Kueue to wait in")
	f.StringVar(&o.elastic, "elastic", "", "let the number of workers change: MIN:MAX")
	f.Int32Var(&o.after, "after", 0, "latest attempt of another job, behind which this one begins")
	_ = cmd.RegisterFlagCompletionFunc("framework", cobra.FixedCompletions(state.Frameworks(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// documents returns the YAML of the jobs to submit.
func (o *submission) documents(cmd *cobra.Command, args []string, in io.Reader) ([][]byte, error) {
	if len(o.files) == 0 {
		name := beforeDash(cmd, args)
		job, err := o.job(name, args[len(name):])
		if err != nil {
			return nil, err
		}
		document, err := yaml.Marshal(job)
		return [][]byte{document}, err
	}
	if len(args) > 0 {
		return nil, errors.New("the files say everything: leave the name and the command out, or leave --filename out")
	}
	var documents [][]byte
	for _, name := range o.files {
		some, err := readDocuments(name, in)
		if err != nil {
			return nil, err
		}
		documents = append(documents, some...)
	}
	return documents, nil
}

// readDocuments returns the YAML documents of a file; - is in.
func readDocuments(name string, in io.Reader) ([][]byte, error) {
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	var documents [][]byte
	reader := utilyaml.NewYAMLReader(bufio.NewReader(in))
	for {
		document, err := reader.Read()
		switch {
		case errors.Is(err, io.EOF) && len(documents) == 0:
			return nil, fmt.Errorf("%s has no TrainingJob in it", name)
		case errors.Is(err, io.EOF):
			return documents, nil
		case err != nil:
			return nil, fmt.Errorf("reading %s: %w", name, err)
		case !isBlank(document):
			documents = append(documents, document)
		}
	}
}

// isBlank reports whether a document has comments at most.
func isBlank(document []byte) bool {
	var content any
	return yaml.Unmarshal(document, &content) == nil && content == nil
}

// beforeDash returns the arguments before "--", all of them if there is none.
func beforeDash(cmd *cobra.Command, args []string) []string {
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		return args[:at]
	}
	return args
}

// object is a part of a manifest as a person would write it: the API's own types print empty fields and a status too.
type object = map[string]any

// job returns the job that the flags describe, without anything that has a default.
func (o *submission) job(name, command []string) (object, error) {
	if len(name) != 1 || o.image == "" {
		return nil, errors.New("a job needs a name and an image: kubectl tj submit NAME --image IMAGE -- COMMAND, or -f FILE")
	}
	if plainName(name[0]) != name[0] {
		return nil, fmt.Errorf("submit creates TrainingJobs: create %s with kubectl apply -f FILE", name[0])
	}
	if o.ps < 0 || o.gpus < 0 || o.workers < 0 {
		return nil, fmt.Errorf("--workers %d, --ps %d, --gpus %d: write numbers from 0", o.workers, o.ps, o.gpus)
	}
	roles := map[v1alpha1.Role]object{}
	metadata, spec := object{"name": name[0]}, object{"framework": o.framework, "replicaSpecs": roles}
	var err error
	if roles[v1alpha1.Worker], err = o.role(o.workers, command, o.gpus); err != nil {
		return nil, err
	}
	if o.ps > 0 {
		roles[v1alpha1.PS], _ = o.role(o.ps, command, 0) // as the one before
	}
	if o.queue != "" {
		metadata["labels"] = object{v1alpha1.LabelQueue: o.queue}
	}
	if o.elastic != "" {
		var elastic v1alpha1.Elastic
		if n, err := fmt.Sscanf(o.elastic, "%d:%d", &elastic.MinReplicas, &elastic.MaxReplicas); n != 2 || err != nil {
			return nil, fmt.Errorf("--elastic %q: write MIN:MAX, such as 2:8", o.elastic)
		}
		spec["elastic"] = elastic
	}
	return object{"apiVersion": v1alpha1.GroupVersion.String(), "kind": v1alpha1.Kind, "metadata": metadata, "spec": spec}, nil
}

// role returns a role whose replicas run the command, each with so many GPUs.
func (o *submission) role(replicas int32, command []string, gpus int64) (object, error) {
	limits := map[corev1.ResourceName]string{}
	for name, amount := range map[corev1.ResourceName]string{corev1.ResourceCPU: o.cpu, corev1.ResourceMemory: o.memory} {
		if amount == "" {
			continue
		}
		if _, err := resource.ParseQuantity(amount); err != nil {
			return nil, fmt.Errorf("--%s %q: write an amount such as 4, 500m or 16Gi", name, amount)
		}
		limits[name] = amount
	}
	if gpus > 0 {
		limits["nvidia.com/gpu"] = fmt.Sprint(gpus)
	}
	env, err := variables(o.env)
	if err != nil {
		return nil, err
	}
	container := object{"name": "main", "image": o.image}
	if len(command) > 0 {
		container["command"] = command
	}
	if len(env) > 0 {
		container["env"] = env
	}
	if len(limits) > 0 {
		container["resources"] = object{"limits": limits}
	}
	return object{"replicas": replicas, "template": object{"spec": object{"containers": []object{container}}}}, nil
}

// variables returns what --env contains.
func variables(pairs []string) ([]corev1.EnvVar, error) {
	var list []corev1.EnvVar
	for _, pair := range pairs {
		name, value, found := strings.Cut(pair, "=")
		if !found || name == "" {
			return nil, fmt.Errorf("--env %q: write NAME=VALUE", pair)
		}
		list = append(list, corev1.EnvVar{Name: name, Value: value})
	}
	return list, nil
}

// submit creates a job. The cluster's own words say what is wrong with it.
func (t *tool) submit(ctx context.Context, c *connection, document []byte) error {
	job := &v1alpha1.TrainingJob{}
	complete, err := schema.Job(document)
	if err != nil {
		return fmt.Errorf("the job is not valid: %w", err)
	}
	if err := yaml.Unmarshal(document, job); err != nil {
		return err
	}
	if job.Namespace == "" {
		job.Namespace = c.namespace
	}
	complete.Namespace = job.Namespace
	tried := c.tryPods(ctx, complete)
	for _, note := range tried.notes {
		fmt.Fprintln(t.ErrOut, note)
	}
	if err := tried.refusal(); err != nil {
		return err
	}
	reader := advice.Of(job, "")
	err = client.WithFieldValidation(c.kube, metav1.FieldValidationStrict).Create(ctx, job, fieldOwner)
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("there is a TrainingJob %s in namespace %s already: give another name, or delete it with %s", job.Name, job.Namespace, reader.Command(advice.Delete))
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(t.Out, "trainingjob/%s created\n", job.Name)
	fmt.Fprintf(t.ErrOut, "Next: %s, %s\n", reader.Command(advice.Status, "--watch"), reader.Command(advice.Logs, "--follow"))
	t.warnForgets(&job.Spec)
	return nil
}

// warnForgets warns, at the end of a verb, of a job that loses its training with its pods.
func (t *tool) warnForgets(spec *v1alpha1.TrainingJobSpec) {
	if warning := forecast.Forgets(spec); warning != "" {
		t.say(warning)
	}
}

// printDocuments checks the jobs and prints them.
func (t *tool) printDocuments(documents [][]byte) error {
	for i, document := range documents {
		job, err := schema.Job(document)
		if err != nil {
			return fmt.Errorf("the job is not valid: %w", err)
		}
		defer t.warnForgets(&job.Spec) // after the last job
		if i > 0 {
			fmt.Fprintln(t.Out, "---")
		}
		if _, err := t.Out.Write(append(bytes.TrimRight(document, "\n"), '\n')); err != nil {
			return err
		}
	}
	return nil
}

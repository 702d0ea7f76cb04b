package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/advice"
	"github.com/trainingjob/operator/pkg/cli/forecast"
	"github.com/trainingjob/operator/pkg/cli/report"
	"github.com/trainingjob/operator/pkg/cli/schema"
	"github.com/trainingjob/operator/pkg/cli/story"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local"
	"github.com/trainingjob/operator/pkg/local/folder"
)

func (t *tool) runCommand() *cobra.Command {
	o := &localFlags{}
	cmd := &cobra.Command{
		Use:   "run {FILE | [--workers N] -- COMMAND ARGS...}",
		Short: "Run a job on this machine without a cluster, and break it to test its recovery",
		Long: `Run the TrainingJob of a file on this machine (Linux), without Kubernetes: each replica is a process. The operator's own code decides what
restarts. Images are not used: the commands must exist here. The exit status is the job's.

A command after -- runs as the workers of a PyTorch job, without a file. Each is a rank with the variables of torchrun, and one GPU if
there are enough.

Each life of a replica begins with the files of this folder as they are. What it writes is gone after a restart, as in a container, except
in volumes. At the end, the files of the last lives are copied back. Otherwise only the folder with the logs is left.

Faults have a time after @, which counts from when all replicas run.`,
		Example: `  kubectl tj run --workers 2 -- python3 train.py
  kubectl tj run job.yaml
  kubectl tj run job.yaml --kill worker-1@20s --lose-node node-2@60s
  kubectl tj run job.yaml --path /app=. --env CHECKPOINTS=/checkpoints --exit ps-0=1@10s --report job.html`,
		Args: runArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.runLocally(cmd.Context(), beforeDash(cmd, args), args, o)
		},
	}
	o.add(cmd)
	return cmd
}

// runLocally runs the job of the file, or else of the command, and returns its verdict.
func (t *tool) runLocally(ctx context.Context, files, command []string, flags *localFlags) error {
	o, err := flags.options()
	if err != nil {
		return err
	}
	if len(files) > 0 {
		o.Job, o.ConfigMaps, err = t.readLocal(files[0])
	} else {
		o.Job, err = commandJob(&flags.job, command, o.Devices)
	}
	if err != nil {
		return err
	}
	setEnv(o.Job, flags.variables)
	notes, err := o.Prepare()
	if err != nil {
		return fmt.Errorf("%s cannot run here: %w", strings.Join(append(files, command[len(files):]...), " "), err)
	}
	for _, note := range append(notes, unseenHangs(o)...) {
		t.say(note)
	}
	if o.Folder, err = runFolder(flags.folder, o.Job.Name); err != nil {
		return err
	}
	t.local = o.Folder
	t.say("Logs: " + folder.Logs(o.Folder))
	t.say("In another terminal: " + advice.Of(o.Job, o.Folder).Command(advice.Why) + " (also status, timeline, logs, stacks)")
	screen := t.localScreen(o.Job)
	o.Screen, o.LostAfter = screen, forecast.LostAfter
	result, err := local.Run(ctx, *o)
	if err != nil {
		return err
	}
	screen.close()
	defer t.warnForgets(&o.Job.Spec)
	return t.endLocally(ctx, flags.report, result)
}

// unseenHangs returns a note if a fault lets a replica hang and nothing will notice or answer it.
func unseenHangs(o *local.Options) []string {
	if !slices.ContainsFunc(o.Faults, func(f local.Fault) bool { return f.Freeze }) {
		return nil
	}
	switch p := o.Job.Spec.Progress; {
	case p == nil:
		return []string{"--stop: nothing will notice the hang, because the job reports no progress. Write spec.progress: {port: 9500, action: Restart} and call trainingjob.report() (docs/recovery.md#progress)."}
	case p.Action != v1alpha1.StallRestart:
		return []string{"--stop: the operator will note the hang and restart nothing, because spec.progress.action is Notify (docs/recovery.md#progress)."}
	}
	return nil
}

// endLocally prints how the run ended, and writes the report.
func (t *tool) endLocally(ctx context.Context, file string, result *local.Result) error {
	v := &story.View{Job: result.Job, Pods: result.Pods, Events: result.Events, Local: t.local, IsStopped: !state.HasFinished(result.Job), Now: t.now()}
	fmt.Fprint(t.Out, "\n"+story.Timeline(v, t.screen.picture(), t.screen.marks))
	if e, err := story.Why(v); err == nil {
		text := e.String()
		if result.Job.Status.Phase == v1alpha1.PhaseSucceeded { // which needs no facts
			text = e.Sentence + "\n"
		}
		fmt.Fprint(t.Out, "\n"+text)
	}
	if file != "" {
		if err := writeReport(file, v, result); err != nil {
			return err
		}
		t.say("Report: " + file)
	}
	if !state.HasFinished(result.Job) {
		return context.Cause(ctx)
	}
	return verdictOf(result.Job)
}

func writeReport(file string, v *story.View, result *local.Result) error {
	r := report.Make(v, result.Lines)
	r.Sources = []string{"a local run"}
	to, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	return errors.Join(r.HTML(to, nil), to.Close())
}

// runFolder returns the folder of a run: the one that the user names, or a new one.
func runFolder(named, job string) (string, error) {
	if named != "" {
		return filepath.Abs(named)
	}
	return os.MkdirTemp("", "tj-"+job+"-"+time.Now().Format("150405")+"-")
}

// readLocal returns the only TrainingJob of the file, and its ConfigMaps.
func (t *tool) readLocal(file string) (*v1alpha1.TrainingJob, map[string]map[string]string, error) {
	if err := notProgram(file); err != nil {
		return nil, nil, err
	}
	documents, err := readDocuments(file, t.In)
	if err != nil {
		return nil, nil, err
	}
	var job *v1alpha1.TrainingJob
	configMaps := map[string]map[string]string{}
	var kinds []string
	for _, document := range documents {
		next, err := schema.Job(document)
		switch {
		case errors.Is(err, schema.ErrOtherKind):
			kind, err := t.readOther(file, document, configMaps)
			if err != nil {
				return nil, nil, err
			}
			kinds = append(kinds, kind)
		case err != nil:
			return nil, nil, fmt.Errorf("%s: the API server would refuse it: %w", file, err)
		case job != nil:
			return nil, nil, fmt.Errorf("%s has several jobs, and a local run takes one: split the file", file)
		default:
			job = next
		}
	}
	if job == nil {
		return nil, nil, noJob(file, kinds)
	}
	if job.Namespace == "" {
		job.Namespace = "default"
	}
	return job, configMaps, nil
}

// noJob returns the error about a file without a TrainingJob, which has other kinds.
func noJob(file string, kinds []string) error {
	is := func(kind string) bool { return strings.HasPrefix(kind, v1alpha1.KubeflowGroup+"/") }
	switch at := slices.IndexFunc(kinds, is); {
	case at >= 0:
		return fmt.Errorf("%s has a job of Kubeflow, and a local run takes a TrainingJob: write kubectl tj convert -f %s | kubectl tj run -", file, file)
	case len(kinds) > 0:
		return fmt.Errorf("%s has no TrainingJob, but %s: write a TrainingJob, such as one of the examples", file, strings.Join(kinds, ", "))
	default:
		return fmt.Errorf("%s has no TrainingJob in it: write one, such as one of the examples", file)
	}
}

// readOther adds a ConfigMap, and shows what a local run leaves out. It returns the apiVersion and kind.
func (t *tool) readOther(file string, document []byte, configMaps map[string]map[string]string) (string, error) {
	var o corev1.ConfigMap
	if err := yaml.Unmarshal(document, &o); err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	kind := o.APIVersion + " " + o.Kind
	switch {
	case o.Kind == "ConfigMap":
		configMaps[o.Name] = o.Data
	case o.Kind == "PersistentVolumeClaim": // a folder of each name
	case o.Kind != "" && !strings.Contains(o.APIVersion, v1alpha1.KubeflowGroup+"/"):
		t.say(fmt.Sprintf("%s: left out: %s %s", file, o.Kind, o.Name))
	}
	return kind, nil
}

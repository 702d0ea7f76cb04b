package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/schema"
)

// perCommand are the flags of run that describe the job of a command; a file describes its own.
var perCommand = []string{"workers", "framework", "gpus"}

// runArgs checks that run has one file, or a command after "--".
func runArgs(cmd *cobra.Command, args []string) error {
	files := beforeDash(cmd, args)
	command := args[len(files):]
	switch {
	case len(files) == 0 && len(command) > 0:
		return nil
	case len(files) == 1 && len(command) == 0:
		for _, name := range perCommand {
			if cmd.Flags().Changed(name) {
				return fmt.Errorf("--%s is for a command after --: of a file, write it into the file", name)
			}
		}
		return nil
	case len(files) > 1 && len(command) == 0:
		return fmt.Errorf("run takes one file, or a command after --: write kubectl tj run --workers 2 -- %s", strings.Join(files, " "))
	default:
		return errors.New("run takes one file, or a command after --: write kubectl tj run job.yaml, or kubectl tj run --workers 2 -- python3 train.py")
	}
}

// notProgram returns an error about a file of a program, which run could only run by its interpreter.
func notProgram(file string) error {
	if interpreter := map[string]string{".py": "python3", ".sh": "sh"}[filepath.Ext(file)]; interpreter != "" {
		return fmt.Errorf("%s is a program, not a manifest: write kubectl tj run --workers 2 -- %s %s", file, interpreter, file)
	}
	return nil
}

// commandJob returns the job of workers that run the command, with what torchrun would give them.
func commandJob(o *submission, command, devices []string) (*v1alpha1.TrainingJob, error) {
	if o.workers < 1 {
		return nil, fmt.Errorf("--workers %d: write a number from 1", o.workers)
	}
	if o.gpus < 0 && int(o.workers) <= len(devices) { // not given
		o.gpus = 1
	}
	o.gpus, o.image = max(o.gpus, 0), "local"
	made, err := o.job([]string{commandName(command)}, command)
	if err != nil {
		return nil, err
	}
	document, err := yaml.Marshal(made)
	if err != nil {
		return nil, err
	}
	job, err := schema.Job(document)
	if err != nil {
		return nil, fmt.Errorf("the command makes no valid job: %w", err)
	}
	job.Namespace = "default"
	c := &job.Spec.ReplicaSpecs[v1alpha1.Worker].Template.Spec.Containers[0] // its list is the job's own
	if job.Spec.Framework == v1alpha1.PyTorch {
		c.Env = append(c.Env, corev1.EnvVar{Name: "LOCAL_RANK", Value: "0"}, corev1.EnvVar{Name: "LOCAL_WORLD_SIZE", Value: "1"})
		if o.workers > 1 {
			c.Env = append(c.Env, corev1.EnvVar{Name: "OMP_NUM_THREADS", Value: "1"})
		}
	}
	return job, nil
}

// commandName returns the name of the job of a command: of its script, if that makes a name.
func commandName(command []string) string {
	at := slices.IndexFunc(command, func(word string) bool { return notProgram(word) != nil })
	if at < 0 {
		return "run"
	}
	base := filepath.Base(command[at])
	name := strings.ReplaceAll(strings.ToLower(strings.TrimSuffix(base, filepath.Ext(base))), "_", "-")
	if len(validation.IsDNS1035Label(name)) > 0 || len(name) > longestName {
		return "run"
	}
	return name
}

// longestName leaves room for the names of pods.
const longestName = 30

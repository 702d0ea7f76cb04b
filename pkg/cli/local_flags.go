package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local"
	"github.com/trainingjob/operator/pkg/local/kubelet"
)

// localFlags are the flags of run.
type localFlags struct {
	kills, exits, stops, nodes []string
	count                      int
	env, paths, volumes        []string
	command, folder, report    string
	variables                  []corev1.EnvVar
	// job describes the job of a command.
	job submission
}

func (o *localFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Int32Var(&o.job.workers, "workers", 1, "how many workers run the command")
	f.StringVar(&o.job.framework, "framework", string(v1alpha1.PyTorch), "framework of the command: "+strings.Join(state.Frameworks(), ", "))
	f.Int64Var(&o.job.gpus, "gpus", -1, "GPUs of each worker of the command. Default: 1 if this machine has one for each, else 0")
	_ = cmd.RegisterFlagCompletionFunc("framework", cobra.FixedCompletions(state.Frameworks(), cobra.ShellCompDirectiveNoFileComp))
	f.StringArrayVar(&o.kills, "kill", nil, "kill a replica: worker-1@20s (may be repeated, as the next three)")
	f.StringArrayVar(&o.exits, "exit", nil, "end a replica with an exit code: worker-1=3@20s")
	f.StringArrayVar(&o.stops, "stop", nil, "let a replica hang, by SIGSTOP: worker-1@20s")
	f.StringArrayVar(&o.nodes, "lose-node", nil, "end all replicas on a node, which no longer answers: node-2@20s")
	f.IntVar(&o.count, "nodes", 2, "how many nodes there are, for --lose-node: node-1, node-2 ...")
	f.StringArrayVar(&o.env, "env", nil, "environment variable of all containers, as NAME=VALUE (may be repeated)")
	f.StringArrayVar(&o.paths, "path", nil, "what a path in commands, arguments and variables is on this machine: /app=./src (may be repeated)")
	f.StringArrayVar(&o.volumes, "volume", nil, "folder of a PersistentVolumeClaim, which stays after the run: CLAIM=./checkpoints (may be repeated)")
	f.StringVar(&o.command, "image-command", "", "command of containers without one, which their images would have: \"python3 train.py\"")
	f.StringVar(&o.folder, "folder", "", "folder for the logs, one file for each life of a replica; a new one in the folder of temporary files without it")
	f.StringVar(&o.report, "report", "", "write the story of the job to this file, as one HTML page")
}

// options returns what the flags contain, or an error with a correction.
func (o *localFlags) options() (*local.Options, error) {
	to := &local.Options{Nodes: o.count, Command: strings.Fields(o.command), Claims: map[string]string{}, Devices: devices()}
	for _, text := range o.paths {
		from, here, err := pair("--path", text, "/app=./src")
		if err != nil || !filepath.IsAbs(from) {
			return nil, fmt.Errorf("--path %q: write a path of the container and one of this machine, such as /app=./src", text)
		}
		to.Paths = append(to.Paths, kubelet.Path{From: filepath.Clean(from), To: here})
	}
	for _, text := range o.volumes {
		claim, folder, err := pair("--volume", text, "CLAIM=./checkpoints")
		if err != nil {
			return nil, err
		}
		to.Claims[claim] = folder
	}
	var err error
	if o.variables, err = variables(o.env); err != nil {
		return nil, err
	}
	to.Faults, err = o.faults()
	return to, err
}

// pair splits NAME=PATH, and makes the path absolute.
func pair(flag, text, example string) (name, path string, err error) {
	name, path, found := strings.Cut(text, "=")
	if !found || name == "" || path == "" {
		return "", "", fmt.Errorf("%s %q: write %s", flag, text, example)
	}
	path, err = filepath.Abs(path)
	return name, path, err
}

// faults returns what the flags break, by time.
func (o *localFlags) faults() ([]local.Fault, error) {
	var faults []local.Fault
	for _, kind := range []struct {
		flag, example string
		texts         []string
		set           func(f *local.Fault, what string) bool
	}{
		{"--kill", "worker-1@20s", o.kills, func(f *local.Fault, what string) bool { f.Replica = what; return true }},
		{"--stop", "worker-1@20s", o.stops, func(f *local.Fault, what string) bool { f.Replica, f.Freeze = what, true; return true }},
		{"--lose-node", "node-2@20s", o.nodes, func(f *local.Fault, what string) bool { f.Node = what; return true }},
		{"--exit", "worker-1=3@20s", o.exits, setExit},
	} {
		for _, text := range kind.texts {
			what, at, hasTime := strings.Cut(text, "@")
			after, err := time.ParseDuration(at)
			f := local.Fault{After: after}
			if !hasTime || err != nil || after < 0 || what == "" || !kind.set(&f, what) {
				return nil, fmt.Errorf("%s %q: write %s, with a time after all replicas run", kind.flag, text, kind.example)
			}
			faults = append(faults, f)
		}
	}
	slices.SortStableFunc(faults, func(a, b local.Fault) int { return int(a.After - b.After) })
	return faults, nil
}

func setExit(f *local.Fault, what string) bool {
	replica, text, found := strings.Cut(what, "=")
	code, err := strconv.ParseInt(text, 10, 32)
	if !found || err != nil || code < 0 || code > 255 {
		return false
	}
	number := int32(code)
	f.Replica, f.Exit = replica, &number
	return true
}

// devices returns the GPUs of this machine: the ones that CUDA_VISIBLE_DEVICES lists, or else all.
func devices() []string {
	if visible, isSet := os.LookupEnv("CUDA_VISIBLE_DEVICES"); isSet {
		return strings.FieldsFunc(visible, func(r rune) bool { return r == ',' })
	}
	files, _ := filepath.Glob("/dev/nvidia[0-9]*")
	var list []string
	for _, file := range files {
		list = append(list, strings.TrimPrefix(file, "/dev/nvidia"))
	}
	return list
}

// setEnv gives all containers of the job the variables.
func setEnv(job *v1alpha1.TrainingJob, variables []corev1.EnvVar) {
	for _, role := range job.Spec.Roles() {
		spec := job.Spec.ReplicaSpecs[role].Template.Spec // its lists are the job's own
		for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
			for i := range containers {
				for _, v := range variables {
					c := &containers[i]
					c.Env = append(slices.DeleteFunc(c.Env, func(old corev1.EnvVar) bool { return old.Name == v.Name }), v)
				}
			}
		}
	}
}

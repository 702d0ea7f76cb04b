package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/trainingjob/operator/test/testbed"
)

// lab is the lab that the demo runs on.
type lab struct{ testbed.Lab }

func (l lab) up(ctx context.Context, o options) error {
	what, nodes := "16 fake nodes of 8 GPUs each", []string{"--nodes", "16", "--gpus", "8"}
	if o.image != "" {
		what, nodes = "2 real nodes", []string{"--nodes", "0", "--real", "2", "--image", o.image}
	}
	fmt.Printf("Starting Kubernetes on this machine, with %s and the operator:\n", what)
	cmd := exec.CommandContext(ctx, l.Binary, append([]string{"up", "--dir", l.Dir, "--crds", o.crds, "--operator", o.operator}, nodes...)...)
	cmd.Stderr = os.Stderr
	if out, err := cmd.Output(); err != nil {
		return fmt.Errorf("starting the lab: %w\n%s", err, out)
	}
	return nil
}

// down ends the lab; it is no error if it never started.
func (l lab) down() error {
	_, err := l.Run(context.Background(), "down")
	return err
}

// run runs a command of the lab on it.
func (l lab) run(ctx context.Context, args ...string) error {
	_, err := l.Run(ctx, args...)
	return err
}

// kubectl is a command of the lab's kubectl.
func (l lab) kubectl(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, l.Binary, append([]string{"kubectl", "--kubeconfig", l.Kubeconfig()}, args...)...)
}

// apply does what kubectl apply -f does; "-" is the given text.
func (l lab) apply(ctx context.Context, file, text string) error {
	cmd := l.kubectl(ctx, "apply", "-f", file)
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("applying %s: %w\n%s", file, err, out)
	}
	return nil
}

// table prints what kubectl get tj shows in the end.
func (l lab) table(ctx context.Context) error {
	fmt.Println("\n$ kubectl get tj -o wide")
	cmd := l.kubectl(ctx, "get", "tj", "-o", "wide")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("listing the jobs: %w", err)
	}
	return nil
}

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// lab is the lab that the demo runs on.
type lab struct{ binary, dir string }

func (l lab) kubeconfig() string { return filepath.Join(l.dir, "kubeconfig") }

func (l lab) up(ctx context.Context, o options) error {
	fmt.Println("Starting Kubernetes on this machine, with 16 fake nodes of 8 GPUs each and the operator:")
	cmd := exec.CommandContext(ctx, l.binary, "up", "--dir", l.dir, "--nodes", "16", "--gpus", "8",
		"--crds", o.crds, "--operator", o.operator)
	cmd.Stderr = os.Stderr
	if out, err := cmd.Output(); err != nil {
		return fmt.Errorf("starting the lab: %w\n%s", err, out)
	}
	return nil
}

// down ends the lab; it is no error if it never started.
func (l lab) down() error {
	if out, err := exec.Command(l.binary, "down", "--dir", l.dir).CombinedOutput(); err != nil {
		return fmt.Errorf("ending the lab: %w\n%s", err, out)
	}
	return nil
}

// table prints what kubectl get tj shows in the end.
func (l lab) table(ctx context.Context) error {
	fmt.Println("\n$ kubectl get tj -o wide")
	cmd := exec.CommandContext(ctx, l.binary, "kubectl", "--kubeconfig", l.kubeconfig(), "get", "tj", "-o", "wide")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("listing the jobs: %w", err)
	}
	return nil
}

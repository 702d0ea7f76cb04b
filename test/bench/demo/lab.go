package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/trainingjob/operator/test/api/testbed"
)

// grace is how long a node may be silent before it is NotReady. Kubernetes' default is 50 s.
const grace = 8 * time.Second

// lab is the lab that the demo runs on.
type lab struct{ testbed.Lab }

func (l lab) up(ctx context.Context, o options) error {
	what, nodes := "16 fake nodes of 8 GPUs each", []string{"--nodes", "16", "--gpus", "8", "--node-monitor-grace-period", grace.String()}
	if o.image != "" {
		what, nodes = "2 real nodes", []string{"--nodes", "0", "--real", "2", "--image", o.image}
	}
	fmt.Printf("Starting Kubernetes on this machine, with %s and the operator:\n", what)
	cmd := exec.CommandContext(ctx, l.Binary, append([]string{"up", "--dir", l.Dir, "--crds", o.crds, "--operator", o.operator}, nodes...)...)
	cmd.Stderr = os.Stderr
	if out, err := cmd.Output(); err != nil {
		return fmt.Errorf("starting the lab: %w\n%s", err, out)
	}
	plugin, err := filepath.Abs(o.plugin)
	if err != nil {
		return err
	}
	return os.Symlink(plugin, l.File("bin/kubectl-tj"))
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

// result prints the jobs, and on fake nodes why the last one has failed.
func (l lab) result(ctx context.Context, o options) error {
	commands := [][]string{{"get", "tj"}, {"tj", "why", "exit-code"}}
	if o.image != "" {
		commands = commands[:1]
	}
	for _, args := range commands {
		fmt.Printf("\n$ kubectl %s\n", strings.Join(args, " "))
		cmd := exec.CommandContext(ctx, l.Binary, append([]string{"kubectl"}, args...)...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+l.Kubeconfig(), "PATH="+l.File("bin")+":"+os.Getenv("PATH"))
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("kubectl %s: %w", strings.Join(args, " "), err)
		}
	}
	return nil
}

// stay prints what to do next. On a terminal it leaves the lab running until the user presses Enter or the context ends.
func (l lab) stay(ctx context.Context, o options) {
	if !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stdout.Fd())) {
		fmt.Print("\nNext, on a lab that stays up:\n\n  make lab\n  . .lab/env\n  kubectl apply -f examples/tensorflow-ps.yaml\n")
		return
	}
	next := []string{". " + l.File("env"), "kubectl tj timeline resnet-ddp", "kubectl apply -f examples/mpi.yaml"}
	if o.image != "" {
		next = []string{next[0], "kubectl tj timeline " + helloPS, "kubectl tj logs " + helloPS}
	}
	fmt.Printf("\nNext, in another terminal:\n\n  %s\n\nThe lab stays up until you press Enter here.\n", strings.Join(next, "\n  "))
	enter := make(chan struct{})
	go func() {
		defer close(enter)
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	}()
	select {
	case <-ctx.Done():
	case <-enter:
	}
}

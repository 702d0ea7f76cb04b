package testbed

import (
	"fmt"
	"io"
	"os"
	"os/exec"
)

// Operator is a process of the operator that a test has started.
type Operator struct {
	process *os.Process
	// Ended is closed when the process has ended.
	Ended chan struct{}
}

// StartOperator starts an operator for the namespace, or for all if it is empty. Its health and metrics are served only if the further
// arguments say where.
func StartOperator(binary, kubeconfig, namespace string, log io.Writer, args ...string) (*Operator, error) {
	command := exec.Command(binary, append([]string{
		"--kubeconfig", kubeconfig, "--namespaces", namespace, "--metrics-bind-address=0", "--health-probe-bind-address=0",
	}, args...)...)
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting an operator: %w; run make build first", err)
	}
	o := &Operator{process: command.Process, Ended: make(chan struct{})}
	go func() {
		_ = command.Wait() // how it ended is in its log
		close(o.Ended)
	}()
	return o, nil
}

// PID returns the number of the process.
func (o *Operator) PID() int { return o.process.Pid }

// Signal sends the process a signal; it returns an error if the process has ended.
func (o *Operator) Signal(signal os.Signal) error { return o.process.Signal(signal) }

// Kill ends the process at once, and returns when it has ended.
func (o *Operator) Kill() {
	_ = o.process.Kill() // it may have ended before
	<-o.Ended
}

// HasEnded reports whether the process has ended.
func (o *Operator) HasEnded() bool {
	select {
	case <-o.Ended:
		return true
	default:
		return false
	}
}

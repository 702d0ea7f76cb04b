package kubelet

import (
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"
)

// drainWithin is how long the output of a process is read after its group has ended.
const drainWithin = time.Second

// envMarker is the variable by which processes of a container are found. It is unique to a container of a pod of this run.
const envMarker = "TRAININGJOB_LOCAL"

// process is a container's main process, with its group.
type process struct {
	cmd    *exec.Cmd
	marker string
	// stopped is whether SIGTERM was sent.
	stopped bool
	// forced is the exit code to report instead of the process's own; nil for none.
	forced *int32
	kill   *time.Timer
	killAt time.Time
}

// serial numbers the processes of this program.
var serial atomic.Int64

// start starts the command. It calls ended with the exit code, from another goroutine, once all of the group and its descendants are gone
// and the output is read.
func start(cmd *exec.Cmd, out *output, ended func(code int32)) (*process, error) {
	p := &process{cmd: cmd, marker: fmt.Sprintf("%s=%d.%d", envMarker, os.Getpid(), serial.Add(1))}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Env = append(p.cmd.Env, p.marker)
	p.cmd.Stdout, p.cmd.Stderr = write, write
	err = p.cmd.Start()
	write.Close()
	if err != nil {
		read.Close()
		return nil, err
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		defer read.Close()
		out.readFrom(read)
	}()
	go func() {
		_ = p.cmd.Wait() // its error repeats the exit code
		signalGroup(p.cmd.Process.Pid, syscall.SIGKILL)
		killMarked(p.marker)
		_ = read.SetReadDeadline(time.Now().Add(drainWithin))
		<-drained
		ended(exitCode(p.cmd))
	}()
	return p, nil
}

// stop sends SIGTERM to the group, and SIGKILL after the grace period. A later call can shorten the period.
func (p *process) stop(grace time.Duration) {
	if !p.stopped {
		p.stopped = true
		signalGroup(p.cmd.Process.Pid, syscall.SIGTERM)
	}
	at := time.Now().Add(grace)
	switch {
	case p.kill == nil:
		p.kill = time.AfterFunc(grace, p.end)
	case at.Before(p.killAt):
		p.kill.Reset(grace)
	default:
		return
	}
	p.killAt = at
}

// end ends the group at once.
func (p *process) end() { signalGroup(p.cmd.Process.Pid, syscall.SIGKILL) }

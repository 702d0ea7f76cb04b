// Package process starts programs that outlive the command that started them, and finds
// and ends them again later, from another command.
//
// A pid alone does not name a process: the kernel hands it out again. Pid and start time
// together do, so a Process carries both and is never signalled unless both still match.
package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
)

// Process names one running program, also across commands (it is written to lab.json).
type Process struct {
	// Name is the component's name, such as kube-apiserver.
	Name string `json:"name"`
	PID  int    `json:"pid"`
	// StartTicks is the start time in clock ticks since boot, field 22 of /proc/PID/stat.
	StartTicks uint64 `json:"startTicks"`
	// Log is the file that holds what the process printed.
	Log string `json:"log"`
}

// Child is a Process started by this command, which therefore also learns of its end.
type Child struct {
	Process
	exited chan error
}

// Program is what Start needs to know.
type Program struct {
	Name string
	// Path is the file to run; the process sees Name as its own name (argv[0]).
	Path string
	Args []string
	// Log is the file for standard output and standard error.
	Log string
	// Env are variables, as "NAME=value", beside those of this process.
	Env []string
	// Namespaces are those that the process gets for itself (CLONE_NEWPID and so on, clone(2)).
	Namespaces uintptr
}

// Start runs a program in a session of its own, so that neither the end of this command
// nor a Ctrl-C in its terminal reaches it.
func Start(program Program) (*Child, error) {
	log, err := os.OpenFile(program.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", program.Name, err)
	}
	defer log.Close()

	command := exec.Command(program.Path)
	command.Args = append([]string{program.Name}, program.Args...)
	command.Dir = filepath.Dir(program.Log)
	command.Stdout, command.Stderr = log, log
	command.Env = slices.Concat(os.Environ(), program.Env, []string{mark(command.Dir)})
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: program.Namespaces}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", program.Name, err)
	}

	child := &Child{exited: make(chan error, 1)}
	child.Name, child.PID, child.Log = program.Name, command.Process.Pid, program.Log
	// Read before Wait: until then even a dead child keeps its entry in /proc.
	stat, err := readStat(child.PID)
	go func() { child.exited <- command.Wait() }()
	if err != nil {
		return nil, fmt.Errorf("reading the start time of %s: %w", program.Name, err)
	}
	child.StartTicks = stat.startTicks
	return child, nil
}

package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/trainingjob/operator/test/lab/process"
)

// State is what one lab command leaves for the next, in lab.json.
type State struct {
	Ports Ports `json:"ports"`
	// GPUs is how many each node has, for nodes that are added later.
	GPUs int `json:"gpus"`
	// NodeMonitorGracePeriod is that of Options, for components that are started again.
	NodeMonitorGracePeriod time.Duration `json:"nodeMonitorGracePeriod,omitempty"`
	// WithoutNativeGangs is that of Options.
	WithoutNativeGangs bool `json:"withoutNativeGangs,omitempty"`
	// Peers are those of Options.
	Peers []string `json:"peers,omitempty"`
	// Real is nil in a lab without real nodes.
	Real *Real `json:"real,omitempty"`
	// Up is the command that is starting this lab; gone from the file once it is done.
	Up *process.Process `json:"up,omitempty"`
	// Processes are in the order of their start, which is the reverse of their end.
	Processes []process.Process `json:"processes"`
}

// readState returns an error that is fs.ErrNotExist if no lab was started in the folder.
func (d Dir) readState() (State, error) {
	content, err := os.ReadFile(d.stateFile())
	if err != nil {
		return State{}, fmt.Errorf("reading the lab's state: %w", err)
	}
	var state State
	if err := json.Unmarshal(content, &state); err != nil {
		return State{}, fmt.Errorf("reading the lab's state from %s: %w", d.stateFile(), err)
	}
	return state, nil
}

// writeState replaces the file as a whole: whoever reads it, even after a crash, finds the
// old state or the new one.
func (d Dir) writeState(state State) error {
	content, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the lab's state: %w", err)
	}
	next := d.stateFile() + ".next"
	if err := os.WriteFile(next, content, 0o644); err != nil {
		return fmt.Errorf("writing the lab's state: %w", err)
	}
	if err := os.Rename(next, d.stateFile()); err != nil {
		return fmt.Errorf("writing the lab's state: %w", err)
	}
	return nil
}

// alive returns the processes of the lab that still run, the command that starts it first.
func (s State) alive() []process.Process {
	var alive []process.Process
	if s.Up != nil && s.Up.Alive() {
		alive = append(alive, *s.Up)
	}
	for _, p := range s.Processes {
		if p.Alive() {
			alive = append(alive, p)
		}
	}
	return alive
}

// process returns the process of that name.
func (s State) process(name string) (process.Process, bool) {
	at := slices.IndexFunc(s.Processes, func(p process.Process) bool { return p.Name == name })
	if at < 0 {
		return process.Process{}, false
	}
	return s.Processes[at], true
}

// record adds a process, in the place of the former one of its name if there is one: so the order of starts stays.
func (s *State) record(started process.Process) {
	if _, found := s.process(started.Name); !found {
		s.Processes = append(s.Processes, started)
	}
	s.replace(started)
}

// describe names processes for a message: "etcd 12, kwok 34".
func describe(processes []process.Process) string {
	names := make([]string, 0, len(processes))
	for _, p := range processes {
		names = append(names, fmt.Sprintf("%s %d", p.Name, p.PID))
	}
	return strings.Join(names, ", ")
}

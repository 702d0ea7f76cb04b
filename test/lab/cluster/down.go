package cluster

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/trainingjob/operator/test/lab/process"
)

// Down ends every process of the lab in the folder, the last started first, and removes
// the folder unless its files are to be kept. It is no error if there is no lab.
func Down(path string, keepFiles bool, out io.Writer) error {
	dir, err := NewDir(path)
	if err != nil {
		return err
	}
	state, err := dir.readState()
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(out, "no lab in %s: nothing to end\n", dir)
		return nil
	}
	if err != nil {
		return err
	}
	if up := state.Up; up != nil && up.Alive() {
		return fmt.Errorf("lab up (pid %d) is still starting the lab in %s; interrupt it (Ctrl-C) or wait for it", up.PID, dir)
	}
	if err := dir.end(state, func(p process.Process) {
		fmt.Fprintf(out, "%s ended (pid %d)\n", p.Name, p.PID)
	}); err != nil {
		return err
	}
	if keepFiles {
		fmt.Fprintf(out, "the lab has ended; its files are in %s\n", dir)
		return nil
	}
	if err := dir.clear(); err != nil {
		return fmt.Errorf("removing the work folder: %w", err)
	}
	fmt.Fprintf(out, "the lab in %s is gone\n", dir)
	return nil
}

// end ends the lab's processes, telling of each, and then removes what real nodes have left on the machine.
func (d Dir) end(state State, ended func(process.Process)) error {
	started, err := d.started(state)
	if err != nil {
		return err
	}
	if err := stopAll(started, ended); err != nil {
		return err
	}
	return state.releaseReal()
}

// started returns the processes of the lab: those of its state, and one that a killed lab up had just started and not yet recorded.
func (d Dir) started(state State) ([]process.Process, error) {
	found, err := process.StartedIn(string(d))
	if err != nil {
		return nil, err
	}
	all := slices.Clone(state.Processes)
	for _, p := range found {
		if !slices.ContainsFunc(all, func(recorded process.Process) bool {
			return recorded.PID == p.PID && recorded.StartTicks == p.StartTicks
		}) {
			all = append(all, p)
		}
	}
	return all, nil
}

// stopAll ends processes in the reverse order of their start: nothing outlives what it
// depends on. (An API server whose etcd has gone takes over ten seconds to leave.) It
// goes on after an error, and tells of each process that it ended.
func stopAll(processes []process.Process, ended func(process.Process)) error {
	var failures []error
	for _, p := range slices.Backward(processes) {
		if !p.Alive() {
			continue
		}
		if err := p.Stop(); err != nil {
			failures = append(failures, err)
			continue
		}
		ended(p)
	}
	return errors.Join(failures...)
}

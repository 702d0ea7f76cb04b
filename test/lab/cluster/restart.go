package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/trainingjob/operator/test/lab/process"
)

// Restart kills a component of the lab in the folder, as a crash would, leaves it dead for a while and starts it again.
// It returns once the component says that it is ready. A component that is dead already is just started.
func Restart(ctx context.Context, path, name string, dead time.Duration, out io.Writer) error {
	dir, err := NewDir(path)
	if err != nil {
		return err
	}
	state, err := dir.readState()
	if err != nil {
		return err
	}
	token, err := dir.readToken()
	if err != nil {
		return err
	}
	chosen, err := find(controlPlane(dir, state, token), name)
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := state.kill(name); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(dead):
	}
	child, err := process.Start(chosen.Program)
	if err != nil {
		return err
	}
	state.replace(child.Process)
	if err := dir.writeState(state); err != nil {
		return err
	}
	if err := child.WaitHealthy(ctx, chosen.health); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s is ready again (pid %d), %.1f s after its end\n", name, child.PID, time.Since(begin).Seconds())
	return nil
}

func find(components []component, name string) (component, error) {
	names := make([]string, 0, len(components))
	for _, c := range components {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return component{}, fmt.Errorf("--component %q: choose one of %s", name, strings.Join(names, ", "))
}

// kill ends the process of that name without giving it a chance to tidy up.
func (s State) kill(name string) error {
	for _, p := range s.Processes {
		if p.Name == name {
			return p.Kill()
		}
	}
	return nil
}

// replace puts a process in the place of the former one of its name, so that the order of starts stays.
func (s State) replace(by process.Process) {
	for i := range s.Processes {
		if s.Processes[i].Name == by.Name {
			s.Processes[i] = by
		}
	}
}

// readToken returns the administrator's token of a lab that is up.
func (d Dir) readToken() (string, error) {
	content, err := os.ReadFile(d.file("tokens.csv"))
	if err != nil {
		return "", fmt.Errorf("reading the administrator's token: %w", err)
	}
	token, _, _ := strings.Cut(string(content), ",")
	return token, nil
}

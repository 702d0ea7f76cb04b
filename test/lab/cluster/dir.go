package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/trainingjob/operator/test/lab/process"
)

// Dir is a lab's work folder; every file of a lab lies in it.
type Dir string

// NewDir makes the path absolute, since the kubeconfig and the components' flags outlive
// the directory that lab was called in.
func NewDir(path string) (Dir, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("finding the work folder %s: %w", path, err)
	}
	return Dir(absolute), nil
}

func (d Dir) file(name string) string { return filepath.Join(string(d), name) }

func (d Dir) stateFile() string  { return d.file("lab.json") }
func (d Dir) kubeconfig() string { return d.file("kubeconfig") }

// prepare makes the folder ready for a new lab: created, writable, empty. What a dead lab
// left is removed; a lab that runs is an error, as are files that no lab wrote.
func (d Dir) prepare() error {
	state, err := d.readState()
	switch {
	case err == nil && len(state.alive()) > 0:
		return fmt.Errorf("a lab already runs in %s (%s); end it first: make lab-down, or lab down --dir %s",
			d, describe(state.alive()), d)
	case err == nil:
		if err := errors.Join(d.end(state, func(process.Process) {}), d.clear()); err != nil {
			return fmt.Errorf("cleaning up after the dead lab in %s: %w", d, err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return fmt.Errorf("creating the work folder: %w", err)
	}
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return fmt.Errorf("looking into the work folder: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s is not empty and holds no lab.json, so no lab wrote it: choose another --dir or empty it", d)
	}
	return nil
}

// clear removes the folder and all that is in it. Callers have made sure that it is a
// lab's, by its lab.json, which goes last so that an interrupted clear can be repeated.
func (d Dir) clear() error {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if path := d.file(entry.Name()); path != d.stateFile() {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return os.RemoveAll(string(d))
}

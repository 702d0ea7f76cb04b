package testbed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Lab is a lab in a work folder, driven by its binary.
type Lab struct{ Binary, Dir string }

// ErrNoLab is the error if the environment names no lab.
var ErrNoLab = errors.New("no lab: set LAB_DIR to the work folder of one")

// NewLab returns a lab in a new work folder, in a folder whose name begins with the prefix. Nothing of it runs yet.
func NewLab(binary, prefix string) (*Lab, error) {
	parent, err := os.MkdirTemp("", prefix)
	if err != nil {
		return nil, fmt.Errorf("making a work folder: %w", err)
	}
	return &Lab{Binary: binary, Dir: filepath.Join(parent, "lab")}, nil
}

// GivenLab returns the lab that the environment names: its work folder is LAB_DIR, or else that of KUBECONFIG; its binary is LAB, or else
// bin/lab of this tree, for tests two folders below test/. It returns ErrNoLab if there is none.
func GivenLab() (*Lab, error) {
	lab := &Lab{
		Binary: cmp.Or(os.Getenv("LAB"), filepath.Join("..", "..", "..", "bin", "lab")),
		Dir:    cmp.Or(os.Getenv("LAB_DIR"), filepath.Dir(os.Getenv("KUBECONFIG"))),
	}
	if _, err := os.Stat(lab.File("lab.json")); err != nil {
		return nil, ErrNoLab
	}
	return lab, nil
}

// File returns the path of a file of the work folder.
func (l *Lab) File(name string) string { return filepath.Join(l.Dir, name) }

// Kubeconfig returns the path of the administrator's kubeconfig.
func (l *Lab) Kubeconfig() string { return l.File("kubeconfig") }

// Run runs a command on this lab and returns what it says.
func (l *Lab) Run(ctx context.Context, args ...string) (string, error) {
	return l.command(ctx, append(args, "--dir", l.Dir))
}

// Kubectl runs the lab's kubectl as its administrator and returns what it says.
func (l *Lab) Kubectl(ctx context.Context, args ...string) (string, error) {
	return l.command(ctx, append([]string{"kubectl", "--kubeconfig", l.Kubeconfig()}, args...))
}

func (l *Lab) command(ctx context.Context, args []string) (string, error) {
	said, err := exec.CommandContext(ctx, l.Binary, args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("lab %s: %w; it says:\n%s", strings.Join(args, " "), err, said)
	}
	return string(said), err
}

// ReadState reads what the lab has written down of itself into a struct that names the fields that are wanted.
func (l *Lab) ReadState(into any) error {
	text, err := os.ReadFile(l.File("lab.json"))
	if err != nil {
		return fmt.Errorf("reading the lab's state: %w", err)
	}
	return json.Unmarshal(text, into)
}

// End ends a lab of NewLab. Its files can be kept for whoever wants to know why a test has failed.
func (l *Lab) End(ctx context.Context, keepFiles bool) error {
	if keepFiles {
		_, err := l.Run(ctx, "down", "--keep-files")
		return err
	}
	if _, err := l.Run(ctx, "down"); err != nil {
		return err
	}
	return os.Remove(filepath.Dir(l.Dir))
}

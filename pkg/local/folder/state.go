package folder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// State is what a run shows of itself.
type State struct {
	// Process is the process of the run; 0 after its end.
	Process int                   `json:"process"`
	Job     *v1alpha1.TrainingJob `json:"job"`
	Pods    []corev1.Pod          `json:"pods"`
	Events  []corev1.Event        `json:"events"`
}

// IsAlive reports whether the run goes on.
func (s *State) IsAlive() bool {
	if s.Process == 0 {
		return false
	}
	process, err := os.FindProcess(s.Process)
	return err == nil && process.Signal(syscall.Signal(0)) == nil
}

// IsFinished reports whether the job has succeeded or failed.
func (s *State) IsFinished() bool { return state.HasFinished(s.Job) }

// Make makes the folders of a run.
func Make(folder string) error {
	for _, name := range []string{"logs", "times", "pods"} {
		if err := os.MkdirAll(filepath.Join(folder, name), 0o755); err != nil {
			return fmt.Errorf("making a folder for the run: %w", err)
		}
	}
	return nil
}

// Logs returns the folder of the logs.
func Logs(folder string) string { return filepath.Join(folder, "logs") }

func stateFile(folder string) string { return filepath.Join(folder, "state.json") }

// Write writes the state. A reader sees the former state or this one.
func Write(folder string, s *State) error {
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("writing the state of the run: %w", err)
	}
	file := stateFile(folder)
	if err := os.WriteFile(file+".new", text, 0o600); err != nil {
		return fmt.Errorf("writing the state of the run: %w", err)
	}
	return os.Rename(file+".new", file)
}

// Read returns the state of the run of that folder.
func Read(folder string) (*State, error) {
	text, err := os.ReadFile(stateFile(folder))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s is no folder of a local run: write the folder that kubectl tj run shows at its start", folder)
	case err != nil:
		return nil, err
	}
	s := &State{}
	if err := json.Unmarshal(text, s); err != nil || s.Job == nil {
		return nil, fmt.Errorf("%s is not the state of a local run: run the job again", stateFile(folder))
	}
	return s, nil
}

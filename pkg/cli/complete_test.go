package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// What kubectl asks its plug-in's completion is answered with verbs, names of jobs and flags.
func TestCompletion(t *testing.T) {
	_, objects := running("mnist", 1)
	for line, want := range map[string]string{"__complete stat": "status", "__complete status ": "mnist", "__complete list ": "mnist", "__complete status mnist --wat": "--watch"} {
		s := newStage(interceptor.Funcs{}, objects...)
		args := strings.Split(line, " ")
		if status := s.run(t.Context(), args); status != 0 || !strings.HasPrefix(s.out.String(), want) {
			t.Errorf("%s: status %d, %q, want %q", line, status, s.out, want)
		}
	}
}

// kubectl runs kubectl_complete-tj with the words behind kubectl tj, the last one empty if a new one begins.
func TestTheProgramThatKubectlCompletesWith(t *testing.T) {
	path := t.TempDir()
	plugin := "#!/bin/sh\nprintf '[%s]' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(path, "kubectl-tj"), []byte(plugin), 0o755); err != nil {
		t.Fatal(err)
	}
	program := exec.CommandContext(t.Context(), "../../cmd/kubectl-tj/kubectl_complete-tj", "status", "")
	program.Env = []string{"PATH=" + path + ":/bin:/usr/bin"}
	out, err := program.Output()
	if err != nil || string(out) != "[__complete][status][]" {
		t.Errorf("%q, %v", out, err)
	}
}

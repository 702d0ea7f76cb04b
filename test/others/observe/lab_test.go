//go:build alerts

package observe

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// root is the repository.
const root = "../../.."

// lab is a cluster of its own with an operator, and a Prometheus that scrapes it.
type lab struct {
	t          *testing.T
	dir        string
	prometheus string
	// crashed is the operator after its crashes, a child of the test.
	crashed *exec.Cmd
}

// state is what the lab says of itself.
type state struct {
	Ports     struct{ OperatorMetrics int }
	Processes []struct {
		Name, Log string
		PID       int
	}
}

func start(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t, dir: filepath.Join(t.TempDir(), "lab")}
	l.run("bin/lab", "up", "--dir", l.dir, "--nodes", "4", "--gpus", "8", "--crds", "manifests/crd", "--operator", "bin/operator",
		"--operator-manifests", "test/lab/installation", "--operator-args=--job-metrics", "--operator-args=--log-level=debug")
	t.Cleanup(func() { l.run("bin/lab", "down", "--dir", l.dir) })
	l.scrape()
	return l
}

// run runs a program of the repository and returns what it prints.
func (l *lab) run(program string, args ...string) string {
	l.t.Helper()
	cmd := exec.Command("./"+program, args...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		l.t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (l *lab) kubectl(args ...string) string {
	l.t.Helper()
	return l.run("bin/lab", append([]string{"kubectl", "--kubeconfig", filepath.Join(l.dir, "kubeconfig")}, args...)...)
}

// try runs kubectl, which may fail.
func (l *lab) try(args ...string) (string, error) {
	cmd := exec.Command("./bin/lab", append([]string{"kubectl", "--kubeconfig", filepath.Join(l.dir, "kubeconfig")}, args...)...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (l *lab) apply(manifest string) {
	l.t.Helper()
	l.kubectl("apply", "-f", l.file(manifest))
}

// file writes a manifest and returns where.
func (l *lab) file(manifest string) string {
	l.t.Helper()
	file := filepath.Join(l.t.TempDir(), "manifest.yaml")
	write(l.t, file, manifest)
	return file
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (l *lab) state() state {
	l.t.Helper()
	var s state
	text, err := os.ReadFile(filepath.Join(l.dir, "lab.json"))
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

// operator returns the operator's process and its log.
func (l *lab) operator() (pid int, log string) {
	l.t.Helper()
	for _, p := range l.state().Processes {
		if p.Name == "operator" {
			return p.PID, p.Log
		}
	}
	l.t.Fatalf("the lab has no operator: %v", l.state())
	return 0, ""
}

// job returns a job of PyTorch with one worker, with more of its spec and of its pods.
func job(namespace, name, spec, annotations, pod string) string {
	return fmt.Sprintf(`
---
apiVersion: trainingjob.dev/v1alpha1
kind: TrainingJob
metadata: {namespace: %s, name: %s}
spec:
  framework: PyTorch
  %s
  replicaSpecs:
    Worker:
      replicas: 1
      template:
        metadata: {annotations: {%s}}
        spec: {%s containers: [{name: main, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}
`, namespace, name, spec, annotations, pod)
}

//go:build nodes

package cli

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trainingjob/operator/test/api/testbed"
)

// program is a run of kubectl tj.
type program struct {
	cmd      *exec.Cmd
	out, err bytes.Buffer
}

// tj starts kubectl tj with these arguments.
func tj(t *testing.T, args ...string) *program {
	t.Helper()
	p := &program{cmd: exec.CommandContext(t.Context(), filepath.Join("..", "..", "..", "bin", "kubectl-tj"), args...)}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("%v: run make kubectl-tj", err)
	}
	return p
}

// end waits for the program and returns its exit status.
func (p *program) end() int {
	_ = p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

// given returns the lab that the tests run on.
func given(t *testing.T) *testbed.Lab {
	t.Helper()
	lab, err := testbed.GivenLab()
	if err != nil {
		t.Fatalf("%v: run make lab REAL=2, then make test-cli", err)
	}
	return lab
}

// kubectl runs the lab's kubectl, which must succeed, and returns what it says.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	said, err := given(t).Kubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

// becomes waits until the status of the job prints as that.
func becomes(t *testing.T, job, path, want string) {
	t.Helper()
	var said string
	for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if said, _ = given(t).Kubectl(t.Context(), "get", "tj", job, "-o", "jsonpath="+path); said == want {
			return
		}
	}
	t.Fatalf("%s of %s is %q after 90 s, want %q\n%s", path, job, said, want, kubectl(t, "get", "tj,pods", "-o", "wide"))
}

// podOf returns the pod of a rank that runs.
func podOf(t *testing.T, job, rank string) string {
	t.Helper()
	return kubectl(t, "get", "pods", "-l", "trainingjob.dev/job-name="+job+",trainingjob.dev/rank="+rank,
		"--field-selector=status.phase=Running", "-o", "jsonpath={.items[0].metadata.name}")
}

// trained is how a job of the stand-in program is: its framework, "Role=n ...", the restart scope of these, and what its section recovery
// says besides.
type trained struct{ framework, roles, scope, recovery string }

// submit creates the job until the test ends.
func submit(t *testing.T, name string, as trained) {
	t.Helper()
	manifest := `apiVersion: trainingjob.dev/v1alpha1
kind: TrainingJob
metadata: {name: ` + name + `}
spec:
  framework: ` + as.framework + `
  recovery: {maxRestarts: 100, backoffSeconds: 1, maxBackoffSeconds: 1` + as.recovery + `}
  replicaSpecs:
`
	for _, role := range strings.Fields(as.roles) {
		kind, replicas, _ := strings.Cut(role, "=")
		manifest += "    " + kind + `:
      replicas: ` + replicas + `
      restartScope: ` + as.scope + `
      template:
        spec:
          nodeSelector: {` + testbed.RealNode + `: "true"}
          containers:
          - {name: main, image: "lab.local/trainer:1", imagePullPolicy: Never, env: [{name: STEP_TIME, value: 20ms}]}
`
	}
	file := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o644); err != nil {
		t.Fatal(err)
	}
	if p := tj(t, "submit", "-f", file); p.end() != 0 {
		t.Fatalf("submit: %s", p.err.String())
	}
	lab := given(t)
	t.Cleanup(func() { // the test's own context has ended by then
		if _, err := lab.Kubectl(context.Background(), "delete", "tj", name, "--cascade=foreground"); err != nil {
			t.Errorf("deleting %s: %v", name, err)
		}
	})
}

// proxy hands connections on to the API server, and can cut all of them.
type proxy struct {
	listener net.Listener
	mu       sync.Mutex
	open     []net.Conn
	cuts     int
}

// newProxy returns a proxy, and the flags by which kubectl tj goes through it.
func newProxy(t *testing.T) (*proxy, []string) {
	t.Helper()
	config, err := testbed.Config(os.Getenv("KUBECONFIG"), "trainingjob-cli")
	if err != nil {
		t.Fatal(err)
	}
	server := strings.TrimPrefix(config.Host, "https://")
	if !strings.Contains(server, ":") {
		server += ":443"
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener}
	t.Cleanup(func() { _ = listener.Close(); p.cut() })
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", server)
			if err != nil {
				_ = in.Close()
				continue
			}
			p.mu.Lock()
			p.open = append(p.open, in, out)
			p.mu.Unlock()
			go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
			go func() { _, _ = io.Copy(in, out); _ = in.Close() }()
		}
	}()
	host, _, _ := net.SplitHostPort(server)
	return p, []string{"--server=https://" + listener.Addr().String(), "--tls-server-name=" + host}
}

// cut breaks all connections off.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.open {
		_ = c.Close()
	}
	p.open, p.cuts = nil, p.cuts+1
}

//go:build e2e

package integrations

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const observed = `
apiVersion: trainingjob.dev/v1alpha1
kind: TrainingJob
metadata: {name: observed}
spec:
  framework: PyTorch
  recovery: {maxRestarts: 1, backoffSeconds: 1}
  replicaSpecs:
    Worker:
      replicas: 2
      template:
        metadata: {annotations: {lab.trainingjob.dev/run-for: 1s, lab.trainingjob.dev/exit-code: "1"}}
        spec: {containers: [{name: main, image: i}]}
`

// kube-state-metrics itself, with the recipe's settings, tells of a job that has failed after a restart.
func TestKubeStateMetrics(t *testing.T) {
	apply(t, observed)
	becomes(t, "tj/observed", "{.status.phase}", "Failed")
	address := start(t)
	labels := `customresource_group="trainingjob.dev",customresource_kind="TrainingJob",customresource_version="v1alpha1",namespace="default",trainingjob="observed"`
	want := []string{
		`kube_trainingjob_status_phase{` + labels + `,phase="Failed"} 1`,
		`kube_trainingjob_status_phase{` + labels + `,phase="Running"} 0`,
		`kube_trainingjob_status_replicas{` + labels + `} 2`,
		`kube_trainingjob_status_ready_replicas{` + labels + `} 0`,
		`kube_trainingjob_status_attempt{` + labels + `} 1`,
		`kube_trainingjob_status_restarts{` + labels + `} 1`,
		`kube_trainingjob_status_charged_restarts{` + labels + `} 1`,
		`kube_trainingjob_status_budget_used{budget="maxRestarts",` + labels + `} 1`,
		`kube_trainingjob_status_budget_limit{budget="maxRestarts",` + labels + `} 1`,
		`kube_trainingjob_status_condition{` + labels + `,type="Failed"} 1`,
		`kube_trainingjob_info{` + labels + `,framework="PyTorch"} 1`,
	}
	text := ""
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if text = scrape(address); hasSample(text, want[0]) {
			break
		}
	}
	for _, line := range want {
		if !hasSample(text, line) {
			t.Errorf("no %s", line)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// start runs kube-state-metrics until the test ends and returns where it serves.
func start(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	_ = listener.Close()
	cmd := exec.Command(filepath.Join("..", "..", "..", "bin", "kube-state-metrics"), "--kubeconfig="+os.Getenv("KUBECONFIG"), "--host=127.0.0.1",
		fmt.Sprintf("--port=%d", port), "--telemetry-host=127.0.0.1", "--telemetry-port=0", "--custom-resource-state-only=true",
		"--custom-resource-state-config-file="+filepath.Join("..", "..", "..", "manifests", "integrations", "kube-state-metrics", "config.yaml"))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v: run make bin/kube-state-metrics", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return fmt.Sprintf("http://127.0.0.1:%d/metrics", port)
}

// scrape returns what is served; nothing while there is no answer.
func scrape(address string) string {
	answer, err := http.Get(address)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	data, _ := io.ReadAll(answer.Body)
	return string(data)
}

// hasSample reports whether the text has a sample, in whatever order its labels are.
func hasSample(text, want string) bool {
	name, labels, value := parts(want)
	for line := range strings.Lines(text) {
		n, l, v := parts(strings.TrimSpace(line))
		if n == name && v == value && subset(labels, l) {
			return true
		}
	}
	return false
}

func parts(sample string) (name, labels, value string) {
	name, rest, _ := strings.Cut(sample, "{")
	labels, value, _ = strings.Cut(rest, "} ")
	return name, labels, value
}

func subset(labels, of string) bool {
	for each := range strings.SplitSeq(labels, ",") {
		if !strings.Contains(","+of+",", ","+each+",") {
			return false
		}
	}
	return true
}

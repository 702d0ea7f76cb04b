//go:build alerts

package observe

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// root is the repository.
const root = "../.."

// patience is how long an alert may take; a lab shares its machine with others.
const patience = 3 * time.Minute

// lab is a cluster of its own with an operator, and a Prometheus that scrapes it.
type lab struct {
	t          *testing.T
	dir        string
	prometheus string
	receiver   *receiver
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
	var endpoint string
	l.receiver, endpoint = receive(t)
	l.run("bin/lab", "up", "--dir", l.dir, "--nodes", "4", "--gpus", "8", "--crds", "manifests/crd", "--operator", "bin/operator",
		"--operator-manifests", "manifests/base", "--operator-args=--job-metrics", "--operator-args=--log-level=debug", "--operator-args=--otlp-endpoint="+endpoint)
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

func (l *lab) apply(manifest string) {
	l.t.Helper()
	file := filepath.Join(l.t.TempDir(), "manifest.yaml")
	write(l.t, file, manifest)
	l.kubectl("apply", "-f", file)
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

// shortened are the rules as they are shipped, but for what would take hours: each wait is 5 s, and a recovery is slow after a tenth of
// a second.
func shortened(t *testing.T) string {
	t.Helper()
	text := string(read(t, "rules.yaml"))
	short := regexp.MustCompile(`(?m)^( +for:) \w+$`).ReplaceAllString(text, "$1 5s")
	short = strings.Replace(short, "p90_6h > 900", "p90_6h > 0.1", 1)
	if strings.Count(short, "\n    for: 5s\n") != strings.Count(text, "\n    for: ") || !strings.Contains(short, "> 0.1") {
		t.Fatal("the rules do not look as expected")
	}
	return short
}

// scrape runs a Prometheus until the test ends.
func (l *lab) scrape() {
	l.t.Helper()
	dir := l.t.TempDir()
	write(l.t, filepath.Join(dir, "rules.yaml"), shortened(l.t))
	write(l.t, filepath.Join(dir, "prometheus.yaml"), fmt.Sprintf(`
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yaml]
scrape_configs:
- job_name: trainingjob-operator
  honor_labels: true
  static_configs: [{targets: ["127.0.0.1:%d"]}]
`, l.state().Ports.OperatorMetrics))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		l.t.Fatal(err)
	}
	l.prometheus = listener.Addr().String()
	_ = listener.Close()
	cmd := exec.Command(filepath.Join(root, "bin/prometheus"), "--config.file="+filepath.Join(dir, "prometheus.yaml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+l.prometheus, "--log.level=warn")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		l.t.Fatalf("%v: run make bin/prometheus", err)
	}
	l.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
}

// firing returns the alerts that fire, each with the time since when.
func (l *lab) firing() map[string]string {
	var answer struct {
		Data struct {
			Alerts []struct {
				State       string
				Labels      map[string]string
				Annotations map[string]string
			}
		}
	}
	found := map[string]string{}
	response, err := http.Get("http://" + l.prometheus + "/api/v1/alerts")
	if err != nil {
		return found
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || json.Unmarshal(text, &answer) != nil {
		return found
	}
	for _, a := range answer.Data.Alerts {
		if a.State == "firing" {
			found[a.Labels["alertname"]] = a.Annotations["summary"] + " " + a.Annotations["description"]
		}
	}
	return found
}

// awaitAlerts waits until each of the alerts has fired.
func (l *lab) awaitAlerts(names ...string) {
	l.t.Helper()
	begin := time.Now()
	left := slices.Clone(names)
	for end := begin.Add(patience); len(left) > 0 && time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		fires := l.firing()
		left = slices.DeleteFunc(left, func(name string) bool {
			if fires[name] != "" {
				l.t.Logf("%s fired after %s: %s", name, time.Since(begin).Round(time.Second), fires[name])
			}
			return fires[name] != ""
		})
	}
	for _, name := range left {
		l.t.Errorf("%s did not fire within %s; what does: %v", name, patience, l.firing())
	}
}

// awaitSilence waits until nothing fires.
func (l *lab) awaitSilence() {
	l.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		if len(l.firing()) == 0 {
			return
		}
	}
	l.t.Fatalf("still firing: %v", l.firing())
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

// Every alert fires for the reason that it is there for, as a real Prometheus has it that scrapes a real operator; and none before.
func TestAlerts(t *testing.T) {
	l := start(t)
	l.apply(job("default", "well", "runPolicy: {}", "", ""))
	time.Sleep(10 * time.Second) // longer than any alert waits
	if fires := l.firing(); len(fires) > 0 && fires["TrainingJobOperatorDown"] == "" {
		t.Errorf("it fires though all is well: %v", fires)
	}
	l.awaitSilence()
	t.Run("jobs in trouble", l.jobsInTrouble)
	t.Run("a node breaks", l.nodeBreaks)
	t.Run("jobs restart", l.jobsRestart)
	t.Run("traces", l.traces)
	t.Run("logs", l.logs)
	for _, name := range []string{"trainingjob:running_time:ratio1d", `trainingjob_job_phase{trainingjob="well",namespace="default"}`, "trainingjob_lost_seconds_total"} {
		if got := l.query(name); got == "" {
			t.Errorf("Prometheus has no %s", name)
		} else {
			t.Logf("%s: %s", name, got)
		}
	}
	t.Run("the operator loses a right", l.operatorLosesARight)
	t.Run("the operator hangs", l.operatorHangs)
}

// query returns what Prometheus answers; empty if it knows no such series.
func (l *lab) query(expression string) string {
	l.t.Helper()
	request, err := http.NewRequest(http.MethodGet, "http://"+l.prometheus+"/api/v1/query", nil)
	if err != nil {
		l.t.Fatal(err)
	}
	request.URL.RawQuery = "query=" + strings.NewReplacer("{", "%7B", "}", "%7D", `"`, "%22", "=", "%3D").Replace(expression)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		l.t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct {
		Data struct{ Result []json.RawMessage }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		l.t.Fatal(err)
	}
	var results []string
	for _, r := range answer.Data.Result {
		results = append(results, string(r))
	}
	return strings.Join(results, " ")
}

func (l *lab) jobsInTrouble(t *testing.T) {
	l.kubectl("create", "namespace", "full")
	l.apply(`{apiVersion: v1, kind: ResourceQuota, metadata: {namespace: full, name: none}, spec: {hard: {pods: "0"}}}`)
	l.apply(job("full", "refused", "runPolicy: {}", "", "") +
		job("default", "hangs", "progress: {stallAfterSeconds: 10}", "", "") +
		job("default", "large", "runPolicy: {}", "", "nodeSelector: {no: where},"))
	l.awaitAlerts("TrainingJobStalled", "TrainingJobHangs", "TrainingJobWaitsForNodes")
}

// nodeBreaks has a node that two teams use be declared out of service.
func (l *lab) nodeBreaks(t *testing.T) {
	for _, team := range []string{"team-a", "team-b"} {
		l.kubectl("create", "namespace", team)
		l.apply(job(team, "there", "runPolicy: {}", "", "nodeSelector: {kubernetes.io/hostname: gpu-3},"))
		l.kubectl("-n", team, "wait", "--for=condition=Running", "--timeout=120s", "tj/there")
	}
	l.kubectl("taint", "node", "gpu-3", "node.kubernetes.io/out-of-service=broken:NoExecute")
	l.awaitAlerts("TrainingJobNodeBroken")
}

// jobsRestart has jobs crash again and again, until their budget is used up.
func (l *lab) jobsRestart(t *testing.T) {
	var jobs strings.Builder
	for i := range 8 {
		jobs.WriteString(job("default", fmt.Sprintf("crashes-%d", i), "recovery: {maxRestarts: 3, backoffSeconds: 1}", `lab.trainingjob.dev/run-for: 2s, lab.trainingjob.dev/exit-code: "1"`, ""))
	}
	l.apply(jobs.String())
	l.apply(job("default", "twice", "recovery: {maxRestarts: 1}", "", ""))
	l.kubectl("wait", "--for=condition=Running", "--timeout=120s", "tj/twice")
	l.kubectl("annotate", "pod", "-l", "trainingjob.dev/job-name=twice", "lab.trainingjob.dev/exit-code=1")
	l.awaitAlerts("TrainingJobRestartsOften", "TrainingJobBudgetUsedUp", "TrainingJobRecoversSlowly")
}

// operatorLosesARight takes the operator the right to write statuses, and gives it back.
func (l *lab) operatorLosesARight(t *testing.T) {
	role := l.kubectl("get", "clusterrole", "trainingjob-operator", "-o", "json")
	defer func() {
		file := filepath.Join(t.TempDir(), "role.json")
		write(t, file, role)
		l.kubectl("replace", "--force", "-f", file)
	}()
	file := filepath.Join(t.TempDir(), "less.json")
	write(t, file, strings.ReplaceAll(role, `"trainingjobs/status"`, `"trainingjobs/nothing"`))
	l.kubectl("replace", "--force", "-f", file)
	l.apply(job("default", "new-1", "runPolicy: {}", "", "") + job("default", "new-2", "runPolicy: {}", "", ""))
	l.awaitAlerts("TrainingJobReconcileErrors", "TrainingJobNotTakenUp")
}

// operatorHangs stops the operator's process for as long as it takes.
func (l *lab) operatorHangs(t *testing.T) {
	pid, _ := l.operator()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	l.awaitAlerts("TrainingJobOperatorDown")
}

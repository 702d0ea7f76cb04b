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

// shortened are the rules as they are shipped, but for what would take long: each wait is 5 s, a recovery is slow after a tenth of
// a second, a reconcile after half a second, and a kind is out of sight after 100 s.
func shortened(t *testing.T) string {
	t.Helper()
	text := string(read(t, "rules.yaml"))
	short := regexp.MustCompile(`(?m)^( +for:) \w+$`).ReplaceAllString(text, "$1 5s")
	short = strings.Replace(short, "p90_6h > 900", "p90_6h > 0.1", 1)
	short = strings.Replace(short, "watch_age_seconds) > 180", "watch_age_seconds) > 100", 1) // a bookmark comes each minute
	short = strings.Replace(short, "[10m]))) > 5", "[10m]))) > 0.5", 1)
	short = strings.Replace(short, "\n      ) > 1\n", "\n      ) > 0.1\n", 1) // requests that fail a second
	if strings.Count(short, "\n    for: 5s\n") != strings.Count(text, "\n    for: ") || !strings.Contains(short, "> 0.1") || !strings.Contains(short, "> 100") || !strings.Contains(short, "> 0.5") {
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

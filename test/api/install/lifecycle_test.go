//go:build install

package install_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const home = "trainingjob-system"

// olderChart returns a copy of the chart with an older version. Until there is a release before this one, that is all that differs.
func olderChart(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "trainingjob")
	if err := os.CopyFS(folder, os.DirFS(chart)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "Chart.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	older := strings.NewReplacer("\nversion: 0.0.0", "\nversion: 0.0.0-before", "\nappVersion: v0.0.0", "\nappVersion: v0.0.0-before").Replace(string(text))
	if strings.Count(older, "0.0.0-before") != 2 {
		t.Fatal("Chart.yaml has other versions than make release replaces")
	}
	if err := os.WriteFile(file, []byte(older), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// helmRun runs helm on the release trainingjob of the namespace of docs/install.md.
func helmRun(t *testing.T, verb string, args ...string) string {
	t.Helper()
	if verb == "install" || verb == "upgrade" {
		args = append(args, "--set", "image.registry=registry.invalid", "--rollback-on-failure")
	}
	return must(t, "", helm, slices.Concat([]string{verb, "trainingjob"}, args, []string{"--namespace", home, "--wait=watcher", "--timeout", "120s"})...)
}

func image(t *testing.T) string {
	t.Helper()
	return kubectl(t, "", "get", "deployment", operatorName, "-n", home, "-o", "jsonpath={.spec.template.spec.containers[0].image}")
}

func expectImage(t *testing.T, when, want string) {
	t.Helper()
	if got := image(t); got != want {
		t.Errorf("%s the image is %s, want %s", when, got, want)
	}
}

// count returns how many objects kubectl get finds.
func count(t *testing.T, args ...string) int {
	t.Helper()
	return strings.Count(kubectl(t, "", append([]string{"get", "--ignore-not-found", "-o", "name"}, args...)...), "\n")
}

func TestTheChartFromInstallToUninstall(t *testing.T) {
	newNamespace(t, home)
	t.Cleanup(func() { remove(t, "crd", "trainingjobs.trainingjob.dev") })
	newNamespace(t, "jobs")

	helmRun(t, "install", olderChart(t))
	expectImage(t, "after install", "registry.invalid/operator:v0.0.0-before")
	startInstalled(t, home)
	submit(t, "jobs", "one")
	running := pods(t, "jobs")

	helmRun(t, "upgrade", chart)
	expectImage(t, "after the upgrade", "registry.invalid/operator:v0.0.0")
	helmRun(t, "rollback", "1")
	expectImage(t, "after the rollback", "registry.invalid/operator:v0.0.0-before")
	if now := pods(t, "jobs"); now != running {
		t.Errorf("the job had\n%s\nand has\n%s", running, now)
	}

	// The CRD and the job stay, and the next release takes them over.
	helmRun(t, "uninstall")
	if n := count(t, "deployment,clusterrole,clusterrolebinding,priorityclass", "-n", home, "-l", "app.kubernetes.io/part-of=trainingjob"); n != 0 {
		t.Errorf("helm uninstall leaves %d objects", n)
	}
	if n := count(t, "tj", "-n", "jobs"); n != 1 {
		t.Fatalf("helm uninstall leaves %d jobs, want the one", n)
	}
	helmRun(t, "install", chart)
	startInstalled(t, home) // the first one ended when it lost its rights
	submit(t, "jobs", "two")
	if now := pods(t, "jobs"); !strings.HasPrefix(now, running) || strings.Count(now, "\n") != 4 {
		t.Errorf("the first job had\n%s\nand both have\n%s", running, now)
	}

	// Told so, the release takes the CRD along.
	helmRun(t, "upgrade", chart, "--set", "crds.keep=false")
	helmRun(t, "uninstall")
	if n := count(t, "crd", "trainingjobs.trainingjob.dev"); n != 0 {
		t.Error("with crds.keep=false helm uninstall leaves the CRD")
	}
}

package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAnotherControlPlaneTakesThePlaceOfThisBinary(t *testing.T) {
	folder := t.TempDir()
	for _, name := range otherVersions {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d := Dir(t.TempDir())
	if err := d.linkPrograms(folder); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"kube-apiserver": filepath.Join(folder, "kube-apiserver"), "etcd": self, "kubectl": self} {
		if got, err := os.Readlink(d.file("bin/" + name)); got != want || err != nil {
			t.Errorf("%s is %q (error %v), want %q", name, got, err, want)
		}
	}
}

func TestAnotherControlPlaneIsRefusedIfItCannotRun(t *testing.T) {
	empty := t.TempDir()
	if err := (Options{ControlPlane: empty, WithoutNativeGangs: true}).check(); err == nil || !strings.Contains(err.Error(), "make versions") {
		t.Errorf("want an error that says how to build the programs, got %v", err)
	}
	for _, name := range otherVersions {
		if err := os.WriteFile(filepath.Join(empty, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := (Options{ControlPlane: empty}).check(); err == nil || !strings.Contains(err.Error(), "--without-native-gangs") {
		t.Errorf("want an error that names the flag, got %v", err)
	}
}

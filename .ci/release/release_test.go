package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const aChangelog = `# Changes

## Unreleased

* soon

## [0.2.0] - 2026-12-01

* new

## v0.1.0

* first
`

func TestTheSectionOfAVersionIsFound(t *testing.T) {
	for version, want := range map[string]string{
		"v0.2.0":      "## [0.2.0] - 2026-12-01\n\n* new\n",
		"v0.1.0":      "## v0.1.0\n\n* first\n",
		"v0.1.1":      "",
		"v0.1.0-rc.1": "",
	} {
		if got := sectionOf(aChangelog, version); got != want {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
}

func TestNamesAreRefusedWithWhatToWrite(t *testing.T) {
	for name, c := range map[string]struct {
		version, registry, want string
	}{
		"no registry":      {"v0.1.0", "", "write where the images are"},
		"a URL":            {"v0.1.0", "https://registry.example.com", "write where the images are"},
		"with a tag":       {"v0.1.0", "registry.example.com/team:v1", "write where the images are"},
		"no version":       {"", "registry.example.com/team", "write one, as v0.1.0"},
		"a version":        {"0.1", "registry.example.com/team", "write a semantic version, as v0.1.0"},
		"a commit's hash":  {"03cc644", "registry.example.com/team", "write a semantic version, as v0.1.0"},
		"a dirty version?": {"v0.1.0-", "localhost:5000", "write a semantic version, as v0.1.0"},
	} {
		r := &release{version: c.version, registry: c.registry, tree: "../.."}
		if err := r.prepare(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestPlatforms(t *testing.T) {
	if got, err := choose([]string{"linux/arm64", "linux/amd64"}); err != nil || len(got) != 2 || got[0].arch != "amd64" {
		t.Errorf("%v, %v", got, err)
	}
	for _, names := range [][]string{{}, {"linux/arm64"}, {"linux/amd64", "plan9/mips"}} {
		if got, err := choose(names); err == nil {
			t.Errorf("%v are taken as %v", names, got)
		}
	}
}

func TestATextIsReplacedOnlyIfItIsThereOnce(t *testing.T) {
	if got, err := replaceOnce("f", "a: x\nb: y\n", [][2]string{{"x", "1"}, {"y", "2"}}); got != "a: 1\nb: 2\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for _, text := range []string{"", "xx"} {
		if _, err := replaceOnce("f", text, [][2]string{{"x", "1"}}); err == nil {
			t.Errorf("in %q it is replaced", text)
		}
	}
}

func TestAnArchiveHasNothingOfThisMachine(t *testing.T) {
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		if err := writeTar(out, time.Unix(1e9, 0).UTC(), entry{"a", 0o644, []byte("x")}, entry{"b", 0o755, nil}); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two archives of the same files differ")
	}
}

// containerd reads the archive's OCI layout, and Docker before version 25 what "docker save" writes: both find the same image by its name.
func TestAnArchiveIsReadByContainerdAndByDocker(t *testing.T) {
	const name = "trainingjob.local/operator:v1"
	folder := t.TempDir()
	program, out := filepath.Join(folder, "program"), filepath.Join(folder, "image.tar")
	if err := os.WriteFile(program, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &release{version: "v1", created: time.Unix(1e9, 0).UTC()}
	image, err := r.imageOf(program, images[0], platforms[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := writeArchive(image, name, r.created, out); err != nil {
		t.Fatal(err)
	}
	wantID, err := image.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	ofDocker, err := tarball.ImageFromPath(out, nil)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := ofDocker.ConfigName(); id != wantID || err != nil {
		t.Errorf("Docker reads %v, %v, want %v", id, err, wantID)
	}
	if said, err := exec.CommandContext(t.Context(), "tar", "-xf", out, "-C", folder).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	list, err := index.IndexManifest()
	if err != nil || len(list.Manifests) != 1 {
		t.Fatalf("the layout has %v, %v, want one image", list, err)
	}
	if got := list.Manifests[0].Annotations["io.containerd.image.name"]; got != name {
		t.Errorf("containerd calls it %q, want %q", got, name)
	}
	if digest, err := image.Digest(); list.Manifests[0].Digest != digest || err != nil {
		t.Errorf("containerd reads %v, want %v, %v", list.Manifests[0].Digest, digest, err)
	}
}

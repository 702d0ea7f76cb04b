//go:build dist

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// The release that DIST names, of VERSION, REGISTRY and REVISION: make test-release has made it.
func dist(t *testing.T, elem ...string) string {
	t.Helper()
	if os.Getenv("DIST") == "" {
		t.Fatal("DIST is not set: run make test-release")
	}
	return filepath.Join(append([]string{os.Getenv("DIST")}, elem...)...)
}

func text(t *testing.T, elem ...string) string {
	t.Helper()
	file, err := os.ReadFile(dist(t, elem...))
	if err != nil {
		t.Fatal(err)
	}
	return string(file)
}

// index returns the one index of an image's layout, and its digest.
func index(t *testing.T, name string) (v1.ImageIndex, string) {
	t.Helper()
	outer, err := layout.ImageIndexFromPath(dist(t, "images", name))
	if err != nil {
		t.Fatal(err)
	}
	list, err := outer.IndexManifest()
	if err != nil || len(list.Manifests) != 1 {
		t.Fatalf("the layout has %v, %v", list, err)
	}
	inner, err := outer.ImageIndex(list.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return inner, list.Manifests[0].Digest.String()
}

func TestAnImageIsOneStaticProgram(t *testing.T) {
	machines := map[string]elf.Machine{"linux/amd64": elf.EM_X86_64, "linux/arm64": elf.EM_AARCH64}
	for _, name := range []string{"operator", "kueue-adapter"} {
		images, _ := index(t, name)
		if err := validate.Index(images); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		list, err := images.IndexManifest()
		if err != nil || len(list.Manifests) == 0 {
			t.Fatalf("%s has no images: %v", name, err)
		}
		for _, m := range list.Manifests {
			on := m.Platform.String()
			image, err := images.Image(m.Digest)
			if err != nil {
				t.Fatal(err)
			}
			checkConfig(t, name, image)
			program, err := elf.NewFile(bytes.NewReader(content(t, name, image)))
			if err != nil {
				t.Fatalf("%s for %s: %v", name, on, err)
			}
			if program.Machine != machines[on] || machines[on] == 0 {
				t.Errorf("%s for %s is a program for %s", name, on, program.Machine)
			}
			for _, part := range program.Progs {
				if part.Type == elf.PT_INTERP {
					t.Errorf("%s for %s needs a dynamic loader", name, on)
				}
			}
		}
	}
}

func checkConfig(t *testing.T, name string, image v1.Image) {
	t.Helper()
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c := file.Config; c.User != "65532:65532" || len(c.Entrypoint) != 1 || c.Entrypoint[0] != "/"+name || len(c.Cmd)+len(c.Env) != 0 {
		t.Errorf("%s runs as %q: %q %q %q", name, c.User, c.Entrypoint, c.Cmd, c.Env)
	}
	for label, want := range map[string]string{"version": os.Getenv("VERSION"), "revision": os.Getenv("REVISION"), "licenses": "Apache-2.0",
		"source": "https://github.com/trainingjob/operator"} {
		if got := file.Config.Labels["org.opencontainers.image."+label]; got != want || want == "" {
			t.Errorf("%s: label %s is %q, want %q", name, label, got, want)
		}
	}
	if file.Config.Labels["org.opencontainers.image.created"] == "" || file.Created.IsZero() {
		t.Errorf("%s does not say when it was made", name)
	}
}

// content returns the program of an image that consists of it and of no other file, so of no shell.
func content(t *testing.T, name string, image v1.Image) []byte {
	t.Helper()
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%s has %d layers, want one: %v", name, len(layers), err)
	}
	reader, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	files := tar.NewReader(reader)
	header, err := files.Next()
	if err != nil || header.Name != name || header.Mode != 0o555 || header.Uid != 0 || header.Typeflag != tar.TypeReg {
		t.Fatalf("%s has %+v, want the program, which nobody may write: %v", name, header, err)
	}
	program, err := io.ReadAll(files)
	if err != nil {
		t.Fatal(err)
	}
	if more, err := files.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("%s has %v, too", name, more)
	}
	return program
}

func TestWhatIsInstalledNamesTheImagesByDigest(t *testing.T) {
	for name, file := range map[string]string{"operator": "install.yaml", "kueue-adapter": "kueue-adapter.yaml"} {
		_, digest := index(t, name)
		want := os.Getenv("REGISTRY") + "/" + name + "@" + digest
		if rendered := text(t, file); !strings.Contains(rendered, "image: "+want+"\n") || strings.Contains(rendered, "registry.invalid") {
			t.Errorf("%s does not name %s", file, want)
		}
		if !strings.Contains(text(t, "images.txt"), want+"\n") {
			t.Errorf("images.txt does not name %s", want)
		}
		values := chartFile(t, "values.yaml")
		if !strings.Contains(values, digest) || !strings.Contains(values, "registry: "+os.Getenv("REGISTRY")+"\n") {
			t.Errorf("the chart's values do not name %s", want)
		}
	}
	if got := chartFile(t, "Chart.yaml"); !strings.Contains(got, "\nversion: "+strings.TrimPrefix(os.Getenv("VERSION"), "v")+"\n") {
		t.Errorf("the chart has another version:\n%s", got)
	}
}

func chartFile(t *testing.T, name string) string {
	t.Helper()
	zipped, err := gzip.NewReader(strings.NewReader(text(t, "trainingjob-"+strings.TrimPrefix(os.Getenv("VERSION"), "v")+".tgz")))
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(zipped); ; {
		header, err := files.Next()
		if err != nil {
			t.Fatalf("the chart has no %s: %v", name, err)
		}
		if header.Name == "trainingjob/"+name {
			file, err := io.ReadAll(files)
			if err != nil {
				t.Fatal(err)
			}
			return string(file)
		}
	}
}

// go version -m says what a program is made of.
func TestTheBillsNameEveryModule(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "kubectl-tj")
	archive := dist(t, "kubectl-tj_"+os.Getenv("VERSION")+"_linux_amd64.tar.gz")
	if out, err := exec.CommandContext(t.Context(), "tar", "-xzf", archive, "-C", filepath.Dir(binary)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	said, err := exec.CommandContext(t.Context(), "go", "version", "-m", binary).Output()
	if err != nil {
		t.Fatal(err)
	}
	var bom struct{ Components []struct{ Purl string } }
	if err := json.Unmarshal([]byte(text(t, "sbom", "kubectl-tj.cdx.json")), &bom); err != nil {
		t.Fatal(err)
	}
	spdx := text(t, "sbom", "kubectl-tj.spdx.json")
	modules := 0
	for line := range strings.Lines(string(said)) {
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[0] != "dep" {
			continue
		}
		modules++
		purl := `pkg:golang/` + fields[1] + `@` + strings.ReplaceAll(fields[2], "+", "%2B") + `"`
		if !strings.Contains(text(t, "sbom", "kubectl-tj.cdx.json"), `"purl": "`+purl) || !strings.Contains(spdx, `"referenceLocator": "`+purl) {
			t.Errorf("%s is missing in a bill", purl)
		}
	}
	if want := modules + 1; modules < 20 || len(bom.Components) != want { // and the standard library
		t.Errorf("%d components for %d modules", len(bom.Components), modules)
	}
}

// What this machine can run says the version of the release.
func TestTheProgramsSayTheirVersion(t *testing.T) {
	for _, name := range []string{"operator", "kueue-adapter"} {
		image, err := imageIn(dist(t, "images", name), "linux/"+runtime.GOARCH)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content(t, name, image), 0o700); err != nil { //#nosec G306 -- it is run below
			t.Fatal(err)
		}
		said, err := exec.CommandContext(t.Context(), path, "--version").CombinedOutput()
		if err != nil || !strings.HasSuffix(strings.TrimSpace(string(said)), " "+os.Getenv("VERSION")) {
			t.Errorf("%s says %q, %v", name, said, err)
		}
	}
}

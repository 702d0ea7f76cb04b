//go:build linux

package image

import (
	"archive/tar"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/sys/unix"
)

// builderOn returns a builder whose base is a folder with those files, instead of a Debian.
func builderOn(t *testing.T, base map[string]string) *builder {
	t.Helper()
	b := &builder{Options: Options{Dir: t.TempDir(), Cache: t.TempDir(), Tag: "test:1"}, out: io.Discard}
	b.Out = filepath.Join(b.Dir, "out", "image.tar")
	if err := b.add(b.key("base"), func(root string) error { return write(root, base) }); err != nil {
		t.Fatal(err)
	}
	return b
}

func write(dir string, files map[string]string) error {
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// filesOf reads the archive as a container runtime does: layer upon layer, less what later layers delete.
func filesOf(t *testing.T, archive string) []string {
	t.Helper()
	img, err := tarball.ImageFromPath(archive, nil)
	if err != nil {
		t.Fatal(err)
	}
	content := mutate.Extract(img)
	defer func() { _ = content.Close() }()
	var names []string
	for reader := tar.NewReader(content); ; {
		header, err := reader.Next()
		if err == io.EOF {
			slices.Sort(names)
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag != tar.TypeDir {
			names = append(names, strings.TrimPrefix(header.Name, "./"))
		}
	}
}

// What a step deletes is not in the image, although the layer below still has it.
func TestWhatAStepDeletesIsNotInTheImage(t *testing.T) {
	b := builderOn(t, map[string]string{"etc/keep": "1", "etc/gone": "2"})
	err := b.add(b.key("run", "rm"), func(upper string) error {
		if err := write(upper, map[string]string{"etc/new": "3"}); err != nil {
			return err
		}
		return unix.Mknod(filepath.Join(upper, "etc/gone"), unix.S_IFCHR, 0) // as overlayfs does; anybody may since Linux 5.8
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.archive(); err != nil {
		t.Fatal(err)
	}
	if got, want := filesOf(t, b.Out), []string{"etc/keep", "etc/new"}; !slices.Equal(got, want) {
		t.Errorf("the image has %q, want %q", got, want)
	}
}

// A layer is made once, made anew when its step or one before it changes, and never left half made.
func TestALayerIsMadeOnce(t *testing.T) {
	b := builderOn(t, map[string]string{"a": ""})
	made := 0
	fill := func(string) error { made++; return nil }
	for _, step := range []string{"one", "one", "two"} {
		if _, err := b.layer(b.key(step), fill); err != nil {
			t.Fatal(err)
		}
	}
	if made != 2 {
		t.Errorf("two different steps were carried out %d times", made)
	}
	if _, err := b.layer("broken", func(string) error { return context.Canceled }); err == nil {
		t.Fatal("a step that failed made a layer")
	}
	if _, err := b.layer("broken", fill); err != nil || made != 3 {
		t.Errorf("after an interrupted step: %v, carried out %d times, want 3", err, made)
	}
}

func TestTheKeyChangesWithEverythingBelow(t *testing.T) {
	b := builderOn(t, nil)
	first := b.key("run", "x")
	b.done = append(b.done, layer{key: first})
	second := b.key("run", "x")
	b.done[len(b.done)-1].key = "other"
	if third := b.key("run", "x"); first == second || second == third {
		t.Errorf("equal keys: %s %s %s", first, second, third)
	}
}

func TestFilesOutsideTheFolderAreNotCopied(t *testing.T) {
	if _, err := digest(t.TempDir(), []string{"../secret"}); err == nil {
		t.Error("a file outside of the Dockerfile's folder was accepted")
	}
}

func TestADigestChangesWithContentAndMode(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "train.py")
	var seen []string
	for _, change := range []func() error{
		func() error { return os.WriteFile(path, []byte("1"), 0o644) },
		func() error { return os.WriteFile(path, []byte("2"), 0o644) },
		func() error { return os.Chmod(path, 0o755) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		sum, err := digest(dir, []string{"train.py"})
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(seen, sum) {
			t.Error("a change of the file does not show")
		}
		seen = append(seen, sum)
	}
}

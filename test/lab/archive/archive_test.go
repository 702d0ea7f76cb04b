package archive

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAnArchiveIsReadAsItWasWritten(t *testing.T) {
	program, path := filepath.Join(t.TempDir(), "p"), filepath.Join(t.TempDir(), "p.tar")
	if err := os.WriteFile(program, []byte("static"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := OfProgram("lab.local/probe:1", program, path); err != nil {
		t.Fatal(err)
	}
	images, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(images) != 1 || !slices.Equal(images[0].Names, []string{"lab.local/probe:1"}) {
		t.Fatalf("got %+v", images)
	}
	if want := configDigest(t, path); images[0].ID != want {
		t.Errorf("the id is %s, want %s", images[0].ID, want)
	}
}

// configDigest is the digest of the file that the archive's manifest.json calls the configuration, which is what a runtime calls the image.
func configDigest(t *testing.T, path string) string {
	t.Helper()
	files := map[string][]byte{}
	archive, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	for reader := tar.NewReader(archive); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(reader); err != nil {
			t.Fatal(err)
		}
	}
	var manifest []struct{ Config string }
	if err := json.Unmarshal(files["manifest.json"], &manifest); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(files[manifest[0].Config]))
}

func TestWhatIsNoArchiveIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.tar")
	if err := os.WriteFile(path, []byte("no tar"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "docker save") {
		t.Errorf("want a refusal that says what to write, got %v", err)
	}
	if err := OfProgram("no tag", path, path); err == nil {
		t.Error("an image without a proper name: no error")
	}
}

//go:build linux

package image

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A build may take minutes, at the end of which the name is written into the archive.
func TestABadNameIsRefusedBeforeAnythingIsDone(t *testing.T) {
	dir := t.TempDir()
	dockerfile := []byte("FROM debian:bookworm-slim\nRUN false\n")
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), dockerfile, 0o644); err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(dir, "cache")
	var said strings.Builder
	err := Build(t.Context(), Options{Dir: dir, Tag: "Example/UPPER:v1", Out: filepath.Join(dir, "x.tar"), Cache: cache}, &said)
	if err == nil || !strings.Contains(err.Error(), "write one like ghcr.io/me/train:v1") {
		t.Errorf("got %v, want a refusal that says how a name looks", err)
	}
	if _, err := os.Stat(cache); !os.IsNotExist(err) || said.Len() > 0 {
		t.Errorf("it began all the same: %s", said.String())
	}
}

//go:build e2e

// Package readme_test runs the commands that README.md shows.
package readme_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// shellBlock is a fenced block of commands.
var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// TestCommands runs every block of commands as a person would paste it, on the cluster of KUBECONFIG.
func TestCommands(t *testing.T) {
	if os.Getenv("KUBECONFIG") == "" || os.Getenv("KUBECTL") == "" {
		t.Fatal("no cluster: run make test, or make e2e KUBECONFIG=...")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := shellBlock.FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 4 {
		t.Fatalf("README.md has %d blocks of commands; the search for them must be wrong", len(blocks))
	}
	for _, block := range blocks {
		name, _, _ := strings.Cut(block[1], "\n")
		t.Run(strings.Join(strings.Fields(name)[:2], " "), func(t *testing.T) { runBlock(t, root, block[1]) })
	}
}

// runBlock runs a block with errexit. Two things differ from what a person sees: make test is left out, as it is what
// runs this test, and the lab has a work folder of its own, as .lab may be in use.
func runBlock(t *testing.T, root, block string) {
	lab := filepath.Join(t.TempDir(), "lab")
	t.Cleanup(func() { // if the block failed half-way
		if out, err := exec.Command(filepath.Join(root, "bin/lab"), "down", "--dir", lab).CombinedOutput(); err != nil {
			t.Errorf("ending the lab: %v\n%s", err, out)
		}
	})
	block = regexp.MustCompile(`(?m)^make test\b.*$`).ReplaceAllString(block, "")
	block = strings.ReplaceAll(block, ".lab/", lab+"/")
	script := "set -euo pipefail\nkubectl() { $KUBECTL \"$@\"; }\n" + block
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "LAB_DIR="+lab)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, block, out)
	}
	t.Logf("%s", out)
}

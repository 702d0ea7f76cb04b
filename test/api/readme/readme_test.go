//go:build e2e

// Package readme_test runs the commands that README.md and docs/quickstart.md show.
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

// The commands of README.md, on the cluster of KUBECONFIG.
func TestReadme(t *testing.T) { runPage(t, "README.md", 3) }

// The commands of docs/quickstart.md. It promises that any default StorageClass will do: a lab has none, but a volume.
func TestQuickstart(t *testing.T) {
	root := needCluster(t)
	kubectl := func(command, input string) {
		cmd := exec.Command("bash", "-c", "$KUBECTL "+command)
		cmd.Dir, cmd.Stdin = root, strings.NewReader(input)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("kubectl %s: %v\n%s", command, err, out)
		}
	}
	kubectl("apply -f -", volume)
	t.Cleanup(func() { kubectl("delete pv hello-ps --wait=false", "") })
	runPage(t, "docs/quickstart.md", 3)
}

// volume is for the claim of examples/hello-ps/stock-image.yaml.
const volume = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: hello-ps}
spec:
  accessModes: [ReadWriteOnce]
  capacity: {storage: 1Gi}
  claimRef: {namespace: default, name: hello-ps}
  hostPath: {path: /tmp/hello-ps}
`

// needCluster returns the top folder of the repository.
func needCluster(t *testing.T) string {
	t.Helper()
	if os.Getenv("KUBECONFIG") == "" || os.Getenv("KUBECTL") == "" {
		t.Fatal("no cluster: run make test, or make e2e KUBECONFIG=...")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// runPage runs every block of commands of the page as a person would paste it; there must be at least so many.
func runPage(t *testing.T, page string, atLeast int) {
	t.Helper()
	root := needCluster(t)
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	blocks := shellBlock.FindAllStringSubmatch(string(text), -1)
	if len(blocks) < atLeast {
		t.Fatalf("%s has %d blocks of commands; the search for them must be wrong", page, len(blocks))
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

//go:build e2e

package integrations

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// patience is how long anything may take on a busy machine.
const patience = 2 * time.Minute

// kubectl runs the lab's kubectl, which must succeed, with text on its standard input, and returns what it prints.
func kubectl(t *testing.T, input string, args ...string) string {
	t.Helper()
	words := append(strings.Fields(os.Getenv("KUBECTL")), args...)
	if len(words) == len(args) {
		t.Fatal("KUBECTL is not set: run make test-integrations")
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdin = strings.NewReader(input)
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %v: %v\n%s", args, err, said)
	}
	return string(said)
}

// apply creates objects until the test ends.
func apply(t *testing.T, text string) {
	t.Helper()
	kubectl(t, text, "apply", "-f", "-")
	t.Cleanup(func() { kubectl(t, text, "delete", "--ignore-not-found", "-f", "-") })
}

// becomes waits until a field of an object is as wanted.
func becomes(t *testing.T, object, path, want string) {
	t.Helper()
	got := ""
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if got = kubectl(t, "", "get", object, "-o", "jsonpath="+path); got == want {
			return
		}
	}
	t.Fatalf("%s of %s is %q, want %q\n%s", path, object, got, want, kubectl(t, "", "describe", object))
}

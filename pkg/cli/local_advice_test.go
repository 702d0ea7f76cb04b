//go:build linux

package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// suggestion matches a command that a verb suggests; FILE stands for the file of the job.
var suggestion = regexp.MustCompile(`kubectl tj ([a-z]+ --local (?:[^,;(). \n]|\.\S| [^(])+)`)

// suggested runs each command that the words suggest, and returns how many there are.
func suggested(t *testing.T, words string) int {
	t.Helper()
	for _, text := range regexp.MustCompile(`kubectl [a-z]+ \S+ \S+`).FindAllString(words, -1) {
		if !strings.Contains(text, " --local") && text != "kubectl tj run FILE" {
			t.Errorf("it suggests %q, which needs a cluster", text)
		}
	}
	found := suggestion.FindAllStringSubmatch(words, -1)
	for _, f := range found {
		args := strings.Fields(strings.TrimSuffix(strings.TrimSuffix(f[1], "."), " --watch")) // a watch goes on until the job ends
		s := newStage(interceptor.Funcs{})
		s.connect = s.dial
		if status := s.run(t.Context(), args); status != 0 {
			t.Errorf("%v: status %d: %s", args, status, s.err)
		}
	}
	return len(found)
}

// start starts kubectl tj run with the file's text. It returns a channel that is closed when the run has ended, and a function that stops it and
// returns its words.
func start(t *testing.T, text string, flags ...string) (over <-chan struct{}, stop func() string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	s := newStage(interceptor.Funcs{})
	done := make(chan struct{})
	go func() { // a run keeps its thread
		defer close(done)
		s.run(ctx, append([]string{"run", file}, flags...))
	}()
	return done, func() string {
		interrupt()
		<-done
		return s.out.String() + s.err.String()
	}
}

// hangs reports a step, and then its main thread sleeps. The page of the SDK is still served.
const hangs = `
import importlib.util, os, time
spec = importlib.util.spec_from_file_location("reporting", os.environ["SDK"])
reporting = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reporting)
reporting.report(7, loss=0.5)
time.sleep(1000)
`

// freePort returns a port at which no program listens: other tests run local runs too.
func freePort(t *testing.T) int {
	t.Helper()
	for port := 20000 + os.Getpid()%8000; port < 29000; port += 2 { // below the ports that the kernel gives to connections
		if listener, err := net.Listen("tcp", fmt.Sprintf(":%d", port)); err == nil {
			listener.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// Each command that a verb suggests about a local run works on this run.
func TestCommandsThatALocalRunSuggests(t *testing.T) {
	sdk, err := filepath.Abs("../../sdk/python/trainingjob/reporting.py")
	if err != nil {
		t.Fatal(err)
	}
	python := fmt.Sprintf("command: [python3, -c, %q], env: [{name: SDK, value: %s}]", hangs, sdk)
	for _, c := range []struct {
		name, job, want string
		flags           []string
	}{
		{"it fails for good", podSpec(`command: [sh, -c, "echo no data; exit 93"]`, ""), "has failed", nil},
		{"its program does not exist", podSpec(`command: [sh, -c, "exit 127"]`, ""), "has failed", nil},
		{"its exit looks like the kubelet's", podSpec(`command: [sh, -c, "test $TRAININGJOB_ATTEMPT = 0 && exit 143; exec sleep 1000"]`, ""), "cause Retryable", nil},
		{"it was killed", podSpec(`command: [sleep, "1000"]`, ""), "exit code 137", []string{"--kill", "worker-1@0s"}},
		{"a node is lost", podSpec(`command: [sleep, "1000"]`, ""), "avoid node-2", []string{"--lose-node", "node-2@0s"}},
		{"it hangs", strings.Replace(podSpec(python, ""), "spec:\n", fmt.Sprintf("spec:\n  progress: {port: %d, stallAfterSeconds: 10}\n", freePort(t)), 1), "makes no progress", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			at := t.TempDir()
			over, ended := start(t, c.job, append(c.flags, "--folder", at)...)
			var words string
			until(t, over, ended, c.want, func() bool {
				_, words = reads(t.Context(), at, "why", "j")
				return strings.Contains(words, c.want)
			})
			n := suggested(t, words)
			for _, verb := range []string{"timeline", "status", "report"} {
				_, more := reads(t.Context(), at, verb, "j")
				suggested(t, more)
			}
			if words := ended(); suggested(t, words)+n == 0 {
				t.Errorf("nothing is suggested:\n%s", words)
			}
		})
	}
}

// Errors about a local run suggest what works there, too.
func TestErrorsAboutALocalRun(t *testing.T) {
	at := t.TempDir()
	runs(t, podSpec(`command: [sh, -c, "exit 93"]`, ""), "--folder", at)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"why", "other"}, "kubectl tj list --local " + at},
		{[]string{"logs", "j", "--previous"}, "kubectl tj status --local " + at + " j"},
		{[]string{"stacks", "j"}, "Write progress: {port: 9500} and call trainingjob.report()."},
	} {
		status, words := reads(t.Context(), at, c.args...)
		if status != 1 || !strings.Contains(words, c.want) {
			t.Errorf("%v: status %d, want 1 and %q:\n%s", c.args, status, c.want, words)
		}
		suggested(t, words)
	}
}

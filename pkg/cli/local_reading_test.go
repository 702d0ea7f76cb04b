//go:build linux

package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// reads returns the status and the words of a verb that reads the run of that folder.
func reads(ctx context.Context, folder string, args ...string) (int, string) {
	s := newStage(interceptor.Funcs{})
	s.connect = s.dial
	status := s.run(ctx, append(args, "--local", folder))
	return status, s.out.String() + s.err.String()
}

// A run is read by verbs of other processes while it runs, and after its end.
func TestALocalRunIsReadByOtherVerbs(t *testing.T) {
	folder, end := t.TempDir(), filepath.Join(t.TempDir(), "end")
	job := podSpec(`command: [sh, -c, "echo rank $RANK attempt $TRAININGJOB_ATTEMPT; test $TRAININGJOB_ATTEMPT = 0 && exec sleep 1000; until test -e $END; do sleep 0.01; done; echo bye; exit 0"], env: [{name: END, value: "`+end+`"}]`, "")
	finished, ran := make(chan struct{}), ""
	go func() {
		defer close(finished)
		status, words := runs(t, job, "--kill", "worker-1@0s", "--folder", folder)
		if ran = words; status != 0 {
			t.Errorf("the run ends with %d:\n%s", status, words)
		}
	}()
	until(t, finished, func() string { return ran }, "the second attempt prints", func() bool {
		status, words := reads(t.Context(), folder, "logs", "j", "--rank", "1")
		return status == 0 && words == "[1 a1] rank 1 attempt 1\n"
	})
	for verb, want := range map[string]string{
		"why": "worker-1 on node-2 failed (exit code 137", "timeline": "attempt 1", "status": "worker-1", "list": "j ", "report": "<title>",
	} {
		args := []string{verb, "j"}
		if status, words := reads(t.Context(), folder, args...); status != 0 || !strings.Contains(words, want) {
			t.Errorf("%s: status %d, want 0 and %q:\n%s", verb, status, want, words)
		}
	}
	followed := make(chan string)
	go func() {
		_, words := reads(t.Context(), folder, "logs", "j", "--follow")
		followed <- words
	}()
	watched := make(chan string)
	go func() {
		_, words := reads(t.Context(), folder, "status", "j", "--watch")
		watched <- words
	}()
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-finished
	if words := <-followed; strings.Count(words, "bye\n") != 2 || strings.Count(words, "attempt 1\n") != 2 {
		t.Errorf("the followed logs:\n%s", words)
	}
	if words := <-watched; !strings.Contains(words, "Succeeded") {
		t.Errorf("the watched status:\n%s", words)
	}
	if _, words := reads(t.Context(), folder, "timeline", "j"); !strings.Contains(words, "Succeeded") {
		t.Errorf("the timeline after the end:\n%s", words)
	}
	if status, words := reads(t.Context(), t.TempDir(), "why", "j"); status != 1 || !strings.Contains(words, "is no folder of a local run") {
		t.Errorf("another folder: status %d:\n%s", status, words)
	}
}

// until waits until it is so. If the run is over before, the test fails with its words.
func until(t *testing.T, over <-chan struct{}, words func() string, what string, is func() bool) {
	t.Helper()
	for !is() {
		select {
		case <-over:
			if !is() {
				t.Fatalf("%s: the run has ended before:\n%s", what, words())
			}
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

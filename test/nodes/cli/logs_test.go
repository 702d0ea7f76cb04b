//go:build nodes

package cli

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// said is a line of logs: who said it, and what.
var said = regexp.MustCompile(`^\[(\d+)(?: \S+)? (a\d+(?:r\d+)?)\] \S+ (.*)$`)

// step is what the stand-in program says at its first step and at every tenth.
var step = regexp.MustCompile(`: step (\d+)$`)

// account holds the lines of each life against what the program must have said: its start once, then every step that it tells of, in
// order, none missing, none twice. It returns how many lines there are, and the last of each life.
func account(t *testing.T, text string, lives ...string) (lines int, last map[string]string) {
	t.Helper()
	steps, starts, last := map[string][]int{}, map[string]int{}, map[string]string{}
	for line := range strings.Lines(text) {
		parts := said.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if parts == nil {
			t.Errorf("not a line of a rank: %q", line)
			continue
		}
		lines++
		life := parts[1] + " " + parts[2]
		last[life] = parts[3]
		if strings.HasPrefix(parts[3], "starts,") {
			starts[life]++
		}
		if number := step.FindStringSubmatch(parts[3]); number != nil {
			n, _ := strconv.Atoi(number[1])
			steps[life] = append(steps[life], n)
		}
	}
	for _, life := range lives {
		want := 1
		for _, n := range steps[life] {
			if n != want {
				t.Errorf("%s: step %d comes where %d was due: %v", life, n, want, steps[life])
				break
			}
			want = want/10*10 + 10
		}
		if starts[life] != 1 || len(steps[life]) < 3 {
			t.Errorf("%s: %d starts and %d steps", life, starts[life], len(steps[life]))
		}
	}
	return lines, last
}

// A job of four ranks goes through three kinds of restart and then fails; meanwhile all connections are cut again and again in some of
// the cases. The log is whole, and the exit status is what the failing rank ended with.
func TestFollowThroughRestarts(t *testing.T) {
	const anew, inPlace = "", `, restartMethod: InPlace, avoidNodesSeconds: 0`
	for name, c := range map[string]struct {
		trained
		cutEvery time.Duration
	}{
		"undisturbed":                          {trained{"PyTorch", "Master=1 Worker=3", "Job", anew}, 0},
		"with connections that break":          {trained{"PyTorch", "Master=1 Worker=3", "Job", anew}, 1500 * time.Millisecond},
		"in place":                             {trained{"Custom", "Worker=4", "Job", inPlace}, 0},
		"in place with connections that break": {trained{"Custom", "Worker=4", "Job", inPlace}, 1500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			job, cutEvery := "follow", c.cutEvery
			submit(t, job, c.trained)
			p, flags := newProxy(t)
			follow := tj(t, append([]string{"logs", job, "--follow"}, flags...)...)
			done := make(chan struct{})
			if cutEvery > 0 {
				go func() {
					for {
						select {
						case <-done:
							return
						case <-time.After(cutEvery):
							p.cut()
						}
					}
				}()
			}
			attempt := 0
			runs := func() {
				t.Helper()
				becomes(t, job, "{.status.attempt} {.status.ready}", fmt.Sprintf("%d 4/4", attempt))
				time.Sleep(3 * time.Second) // for lines to be said, not for anything to be ready
				attempt++
			}
			runs()
			kubectl(t, "exec", podOf(t, job, "2"), "--", "/program", "do", "exit", "3", "no data")
			runs()
			if restart := tj(t, "restart", job, "worker-0"); restart.end() != 0 {
				t.Fatalf("restart: %s", restart.err.String())
			}
			runs()
			if _, err := given(t).Run(t.Context(), "pod", "kill", podOf(t, job, "1")); err != nil {
				t.Fatal(err)
			}
			runs()
			kubectl(t, "exec", podOf(t, job, "0"), "--", "/program", "do", "exit", "127", "gone")
			status := follow.end()
			close(done)
			if status != 127 {
				t.Errorf("exit status %d, want 127, which rank 0 failed the job with", status)
			}
			var lives []string
			for a := range 4 {
				for rank := range 4 {
					lives = append(lives, fmt.Sprintf("%d a%d", rank, a))
				}
			}
			lines, last := account(t, follow.out.String(), lives...)
			for life, want := range map[string]string{"2 a0": "ends with 3 no data", "0 a3": "ends with 127 gone"} {
				if last[life] != want {
					t.Errorf("the last line of %s is %q, want %q", life, last[life], want)
				}
			}
			t.Logf("%d lines of %d lives, connections cut %d times; told: %s", lines, len(lives), p.cuts, follow.err.String())
		})
	}
}

// A replica that is replaced alone goes on under its rank, and the others' logs go on meanwhile.
func TestFollowThroughAReplacement(t *testing.T) {
	job := "replaced"
	submit(t, job, trained{"Custom", "Worker=2", "Replica", ""})
	follow := tj(t, "logs", job, "--follow")
	becomes(t, job, "{.status.ready}", "2/2")
	time.Sleep(2 * time.Second)
	kubectl(t, "exec", podOf(t, job, "1"), "--", "/program", "do", "exit", "3", "no data")
	becomes(t, job, "{.status.restarts} {.status.ready}", "1 2/2")
	time.Sleep(2 * time.Second)
	kubectl(t, "exec", podOf(t, job, "0"), "--", "/program", "do", "exit", "0")
	if status := follow.end(); status != 0 {
		t.Errorf("exit status %d of a job that has succeeded: %s", status, follow.err.String())
	}
	_, last := account(t, follow.out.String(), "0 a0", "1 a0", "1 a0r1")
	if last["0 a0"] != "ends with 0 " {
		t.Errorf("the last line of the leader is %q", last["0 a0"])
	}
}

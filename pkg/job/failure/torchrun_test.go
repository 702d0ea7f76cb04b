package failure_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/failure"
	"github.com/trainingjob/operator/test/sim/builder"
)

// tables are what agents of torchrun printed, by kind, failed rank and pod: "kill 2 1".
func tables(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/torchrun.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, heads := map[string]string{}, regexp.MustCompile(`(?m)^== (.*)\n`)
	found := heads.FindAllStringSubmatchIndex(string(text), -1)
	for i, at := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		all[string(text[at[2]:at[3]])] = string(text[at[1]:end])
	}
	return all
}

// twoPods returns a job of two pods with two ranks each that have printed the tables, one second apart: pod 0 ends after pod 1, or before it.
func twoPods(t *testing.T, kind string, rank int, after time.Duration) []failure.Restart {
	t.Helper()
	all := tables(t)
	var pods []builder.SnapshotOption
	for pod, at := range []time.Duration{30*second + after, 30 * second} {
		table, isKnown := all[fmt.Sprintf("%s %d %d", kind, rank, pod)]
		if !isKnown {
			t.Fatalf("no table of %s %d", kind, rank)
		}
		pods = append(pods, builder.Failed("worker", pod, builder.ExitSaying(1, "Error", table), builder.At(at)))
	}
	s := builder.Snapshot(builder.Job("j", pytorch, builder.Workers(2)), pods...)
	return failure.Restarts(s, failure.Find(s))
}

// An agent exits with 1 whatever became of its ranks. Its table shows which of two pods has the rank that failed first.
func TestTheTableOfTorchrunNamesThePod(t *testing.T) {
	for _, kind := range []string{"kill", "exit3", "segv", "raise-record"} {
		for _, rank := range []int{1, 2} {
			for _, after := range []time.Duration{-second, 0, second} {
				if found := twoPods(t, kind, rank, after); len(found) != 1 || int(found[0].Index) != rank/2 || found[0].Alike > 0 {
					t.Errorf("%s of rank %d, pod 0 ends %v after pod 1: %+v", kind, rank, after, found)
				}
			}
		}
	}
}

// Agents of torch before 2.4 look at their ranks every 5 s. The one that missed a peer may notice first: the decision waits for the other one.
func TestTheAgentOfTheCulpritMayNoticeLast(t *testing.T) {
	table := tables(t)["raise-record 2 0"]
	for kind, culprit := range map[string]string{"kill": "kill 2 1", "exit3": "exit3 2 1", "segv": "segv 2 1"} {
		follower := builder.Failed("worker", 0, builder.ExitSaying(1, "Error", table), builder.At(30*second))
		job := builder.Job("j", pytorch, builder.Workers(2))
		alone := failure.Find(builder.Snapshot(job, follower, builder.Running("worker", 1)))
		if got := failure.LateCulprit(&alone[0].Failure); got != 5*second {
			t.Errorf("%s: the decision waits %v longer for the culprit", kind, got)
		}
		s := builder.Snapshot(job, follower, builder.Failed("worker", 1, builder.ExitSaying(1, "Error", tables(t)[culprit]), builder.At(36*second)))
		if found := failure.Restarts(s, failure.Find(s)); len(found) != 1 || found[0].Index != 1 {
			t.Errorf("%s: %+v", kind, found)
		}
	}
}

// Without an error file each table shows a rank that exited with 1.
func TestTablesThatShowNoDifferenceAreATie(t *testing.T) {
	for _, rank := range []int{1, 2} {
		if found := twoPods(t, "raise", rank, 0); len(found) != 1 || found[0].Alike != 1 {
			t.Errorf("rank %d: %+v", rank, found)
		}
	}
}

func TestTheMessageIsThatOfTheRank(t *testing.T) {
	for kind, want := range map[string]string{
		"kill":         `^\(torchrun: rank 2 ended with exit code -9\)$`,
		"exit3":        `^\(torchrun: rank 2 ended with exit code 3\)$`,
		"raise-record": `(?s)^ValueError: boom of rank 2\nTraceback .*\n\(torchrun: rank 2 ended with exit code 1\)$`,
	} {
		found := twoPods(t, kind, 2, 0)
		if f := &found[0].Failure; !regexp.MustCompile(want).MatchString(f.Message) || *f.ExitCode != 1 {
			t.Errorf("%s: code %d, %q", kind, *f.ExitCode, f.Message)
		}
	}
}

// The code of the rank decides the cause and which rule matches, as it names the first failure.
func TestTheCodeOfTheRankDecides(t *testing.T) {
	table := tables(t)["exit3 2 1"]
	job := func(policy v1alpha1.RestartPolicy, rules ...rule) *v1alpha1.TrainingJob {
		return builder.Job("j", pytorch, builder.Workers(2, builder.Policy(policy)), builder.Rules(rules...))
	}
	ends := func(code string) []builder.SnapshotOption {
		said := strings.ReplaceAll(table, "exitcode  : 3 ", "exitcode  : "+code+" ")
		return seen(builder.Running("worker", 0), builder.Failed("worker", 1, builder.ExitSaying(1, "Error", said)))
	}
	of := func(codes, signals []int32) rule {
		return rule{ExitCodes: codes, Signals: signals, Cause: v1alpha1.CauseFatal}
	}
	const again, fatal, byRule = "worker-1 Retryable Job charged", "worker-1 Fatal", "worker-1 Fatal by rule 0"
	checkRestarts(t, []restartCase{
		{"a kill under ExitCode", job(v1alpha1.RestartExitCode), ends("-9"), again},
		{"a crash under ExitCode", job(v1alpha1.RestartExitCode), ends("-11"), fatal},
		{"another code under ExitCode", job(v1alpha1.RestartExitCode), ends("42"), fatal},
		{"a code of its own", job(v1alpha1.RestartOnFailure), ends("42"), again},
		{"the code for a useless restart", job(v1alpha1.RestartOnFailure), ends("93"), fatal},
		{"a rule for the code", job(v1alpha1.RestartOnFailure, of([]int32{42}, nil)), ends("42"), byRule},
		{"a rule for the code of a signal", job(v1alpha1.RestartOnFailure, of([]int32{137}, nil)), ends("-9"), byRule},
		{"a rule for the signal", job(v1alpha1.RestartOnFailure, of(nil, []int32{11})), ends("-11"), byRule},
		{"a rule for the code of the agent", job(v1alpha1.RestartOnFailure, of([]int32{1}, nil)), ends("42"), again},
	})
	found := failure.Find(builder.Snapshot(job(v1alpha1.RestartOnFailure), ends("93")...))
	if got, want := failure.Describe(&found[0].Failure), "worker-1 on node-worker-1 exited with code 93 (Error)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What an agent prints fills what a kubelet keeps, and has no error of a rank without an error file: the log of the pod has it.
func TestATableWithoutWordsReportsNoError(t *testing.T) {
	for name, table := range tables(t) {
		if line, isError := failure.Explaining(table, 1); isError && (strings.HasPrefix(name, "raise ") || strings.HasPrefix(name, "exit3 ")) {
			t.Errorf("%s: an error %t: %q", name, isError, line)
		}
	}
}

// With one rank in a pod, what the kubelet keeps before the table has the exception of this rank.
func TestTheExceptionBeforeTheTableOfOneRank(t *testing.T) {
	all := tables(t)["raise 1 0"]
	other, root := strings.Index(all, "[1]:"), strings.Index(all, "Root Cause")
	one := func(words, code string) *v1alpha1.Failure {
		table := all[:other] + "  <NO_OTHER_FAILURES>\n------------------------------------------------------------\n" + strings.ReplaceAll(all[root:], "exitcode  : 1 ", "exitcode  : "+code+" ")
		s := builder.Snapshot(builder.Job("j", pytorch, builder.Workers(2)), builder.Running("worker", 0),
			builder.Failed("worker", 1, builder.ExitSaying(1, "Error", words+"\n"+table), builder.At(30*second)))
		return &failure.Find(s)[0].Failure
	}
	if f := one("ValueError: no data", "1"); f.Message != "ValueError: no data\n(torchrun: rank 1 ended with exit code 1)" || failure.Followed(f) || !failure.IsSameCrash(f, f) {
		t.Errorf("its own error: %q", f.Message)
	}
	if f := one("RuntimeError: [../gloo/pair.cc:534] Connection closed by peer [10.0.0.2]:41242", "1"); !failure.Followed(f) {
		t.Errorf("the loss of a peer: %q", f.Message)
	}
	for words, code := range map[string]string{"step 41": "1", "ValueError: retried": "-9"} {
		if f := one(words, code); !strings.HasPrefix(f.Message, "(torchrun: ") {
			t.Errorf("%s, %s: %q", words, code, f.Message)
		}
	}
}

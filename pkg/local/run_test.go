//go:build linux

package local_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/local"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/ledger"
)

// screen keeps what a run shows.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Event(reason, message string) { s.add("event", reason+" "+message) }
func (s *screen) Say(who, text string)         { s.add(who, text) }
func (s *screen) Line(replica, text string)    { s.add(replica, text) }

func (s *screen) Show(*v1alpha1.TrainingJob, []*corev1.Pod) {}

func (s *screen) add(who, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(&s.text, "%s: %s\n", who, text)
}

// play runs the job, and checks what holds of every run: the ledger, and that nothing is left.
func play(t *testing.T, job *v1alpha1.TrainingJob, faults ...local.Fault) (*local.Result, string) {
	t.Helper()
	shown, book := &screen{}, ledger.New()
	o := local.Options{Job: job, Nodes: 2, Faults: faults, LostAfter: time.Second, Folder: t.TempDir(), Screen: shown, Watch: entering(book)}
	if _, err := o.Prepare(); err != nil {
		t.Fatal(err)
	}
	result, err := runApart(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, sentence := range book.Broken {
		t.Errorf("the ledger: %s", sentence)
	}
	if left := processesWith(t, o.Folder); left > 0 {
		t.Errorf("%d processes are left", left)
	}
	for _, folder := range []string{"pods", "claims"} {
		if _, err := os.Stat(filepath.Join(o.Folder, folder)); err == nil {
			t.Errorf("the folder %s is left", folder)
		}
	}
	return result, shown.text.String()
}

// entering returns what enters each write into the ledger.
func entering(book *ledger.Ledger) func(*server.Change) {
	return func(c *server.Change) {
		o := ledger.Observation{Event: watch.Modified}
		last := c.Is
		switch {
		case c.Was == nil:
			o.Event = watch.Added
		case c.Is == nil:
			o.Event, last = watch.Deleted, c.Was
		}
		o.Job, _ = last.(*v1alpha1.TrainingJob)
		if o.Pod, _ = last.(*corev1.Pod); o.Job != nil || o.Pod != nil {
			book.Enter(o)
		}
	}
}

// processesWith returns how many processes have the text in their environment.
func processesWith(t *testing.T, text string) int {
	t.Helper()
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, folder := range folders {
		if environment, err := os.ReadFile(filepath.Join(folder, "environ")); err == nil && strings.Contains(string(environment), text) {
			n++
		}
	}
	return n
}

// incident is what a reader of the status learns of a restart.
type incident struct {
	Replica string
	Attempt int32
	Cause   v1alpha1.Cause
	Reason  string
	Code    int32
	Scope   v1alpha1.RestartScope
	Charged bool
}

func incidents(job *v1alpha1.TrainingJob) []incident {
	var list []incident
	for _, i := range slices.Backward(job.Status.Incidents) {
		list = append(list, incident{fmt.Sprintf("%s-%d", strings.ToLower(string(i.Role)), i.Index), i.Attempt, i.Cause, i.Reason,
			ptr.Deref(i.ExitCode, 0), i.Scope, i.Charged})
	}
	return list
}

// firstAttemptHangs trains in the second attempt only.
const firstAttemptHangs = `test $TRAININGJOB_ATTEMPT = 0 && exec sleep 1000; exit 0`

// The wanted incidents are those that docs/recovery.md promises.
func TestWhatRestarts(t *testing.T) {
	code := func(n int32) *int32 { return &n }
	const serves = `case $TF_CONFIG in *'"type":"ps"'*) exec sleep 1000;; esac
		case $HOSTNAME in *worker-0) until test -e $D/done; do sleep 0.02; done; exit 0;; esac
		test $TRAININGJOB_LIFE -gt 0 && touch $D/done; exec sleep 1000`
	for _, c := range []struct {
		name     string
		job      *v1alpha1.TrainingJob
		faults   []local.Fault
		phase    v1alpha1.Phase
		attempt  int32
		want     []incident
		pastNode string
	}{
		{"a rank of a collective that is killed restarts all", jobOf(t, "PyTorch", firstAttemptHangs, "Master=1", "Worker=2"),
			[]local.Fault{{Replica: "worker-1"}}, v1alpha1.PhaseSucceeded, 1,
			[]incident{{"worker-1", 0, v1alpha1.CauseRetryable, "Error", 137, v1alpha1.ScopeJob, true}}, ""},
		{"a worker of parameter servers is replaced alone", jobOf(t, "TensorFlow", serves, "PS=1", "Worker=2"),
			[]local.Fault{{Replica: "worker-1"}}, v1alpha1.PhaseSucceeded, 0,
			[]incident{{"worker-1", 0, v1alpha1.CauseRetryable, "Error", 137, v1alpha1.ScopeReplica, true}}, ""},
		{"an exit that no restart can repair fails the job", jobOf(t, "PyTorch", "exec sleep 1000", "Worker=2"),
			[]local.Fault{{Replica: "worker-0", Exit: code(93)}}, v1alpha1.PhaseFailed, 0, nil, ""},
		{"a lost node restarts all on the other one, and is not charged", jobOf(t, "PyTorch", firstAttemptHangs, "Worker=2"),
			[]local.Fault{{Node: "node-2"}}, v1alpha1.PhaseSucceeded, 1,
			[]incident{{"worker-1", 0, v1alpha1.CauseInfrastructure, "NodeLost", 0, v1alpha1.ScopeJob, false}}, "node-2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			result, shown := play(t, c.job, c.faults...)
			status := &result.Job.Status
			if status.Phase != c.phase || status.Attempt != c.attempt {
				t.Errorf("%s in attempt %d, want %s in %d", status.Phase, status.Attempt, c.phase, c.attempt)
			}
			if diff := cmp.Diff(c.want, incidents(result.Job)); diff != "" {
				t.Errorf("incidents (-want +got):\n%s", diff)
			}
			for _, pod := range result.Pods {
				if pod.Spec.NodeName == c.pastNode && pod.DeletionTimestamp == nil {
					t.Errorf("%s is on %s", pod.Name, c.pastNode)
				}
			}
			if t.Failed() {
				t.Log(shown)
			}
		})
	}
}

func TestEachLifeHasItsLog(t *testing.T) {
	const script = `echo attempt $TRAININGJOB_ATTEMPT rank $RANK
		case $TRAININGJOB_ATTEMPT-$RANK in
		0-0) touch $D/printed; exec sleep 1000;;
		0-1) until test -e $D/printed; do sleep 0.02; done; exit 1;;
		esac`
	o := local.Options{Job: jobOf(t, "PyTorch", script, "Worker=2"), Nodes: 1, LostAfter: time.Second, Folder: t.TempDir(), Screen: &screen{}}
	if _, err := runApart(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	files, _ := filepath.Glob(filepath.Join(o.Folder, "logs", "*"))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		got[filepath.Base(file)] = string(text)
	}
	want := map[string]string{
		"j-worker-0.log": "attempt 0 rank 0\n", "j-worker-1.log": "attempt 0 rank 1\n",
		"j-worker-0-a1r0.log": "attempt 1 rank 0\n", "j-worker-1-a1r0.log": "attempt 1 rank 1\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
}

func TestAnInterruptEndsAllProcesses(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	o := local.Options{Job: jobOf(t, "PyTorch", "echo on; sleep 1000 & wait", "Worker=2"), Nodes: 2, LostAfter: time.Second, Folder: t.TempDir()}
	o.Screen = &interrupting{interrupt: interrupt}
	result, err := runApart(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if left := processesWith(t, o.Folder); left > 0 || result.Job.Status.Restarts != 0 {
		t.Errorf("%d processes are left; the operator counts %d restarts, want none", left, result.Job.Status.Restarts)
	}
}

// interrupting is a screen that interrupts the run once a replica has printed a line.
type interrupting struct {
	screen
	interrupt func()
}

func (s *interrupting) Line(string, string) { s.interrupt() }

// runApart runs a job in a goroutine of its own, as the run keeps its thread.
func runApart(ctx context.Context, o local.Options) (result *local.Result, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		result, err = local.Run(ctx, o)
	}()
	<-done
	return result, err
}

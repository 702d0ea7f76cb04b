//go:build gpu && linux

// Package gpu trains a tiny model (train.py) as local runs, all ranks on one GPU, and breaks it. The status must name the rank that broke and the
// line that explains why, and the training must go on from its checkpoint. make test-gpu builds the test and runs it in the top folder. The built
// test needs no Go. It reads two variables: PYTHON, the interpreter with the libraries (python3 by default), and DEVICE (cuda by default). With
// DEVICE=cpu it makes the faults that need no GPU, as a test of itself.
package gpu

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/folder"
)

var (
	python = cmp.Or(os.Getenv("PYTHON"), "python3")
	device = cmp.Or(os.Getenv("DEVICE"), "cuda")
	onCPU  = device == "cpu"
)

// broken is a training in which one rank breaks, and what the status must show of it.
type broken struct {
	name string
	// library and backend are arguments of train.py: ddp over gloo by default. CPUs always have gloo.
	library, backend string
	// pods is the number of ranks; with torchrun each pod has two.
	pods     int
	torchrun bool
	fault    string
	victim   int
	needsGPU bool
	// repeats: it breaks in each attempt, until sameCrashLimit fails the job.
	repeats bool
	replica string  // any if empty
	codes   []int32 // one of them; none of a hang
	// words match the message of the failure, or else what kubectl tj shows of it. A program that is killed leaves none.
	words string
}

// failsWith are the exit codes of a rank with an error of CUDA: the exception ends it, or on the way out a destructor aborts it.
var failsWith = []int32{1, 134}

var trainings = []broken{
	{name: "one rank (NCCL on a GPU)", backend: "nccl", pods: 1, fault: "kill", replica: "worker-0", codes: []int32{137}},
	{name: "Lightning", library: "lightning", pods: 1, fault: "kill", replica: "worker-0", codes: []int32{137}},
	{name: "Hugging Face Trainer", library: "transformers", pods: 1, fault: "kill", replica: "worker-0", codes: []int32{137}},
	{name: "JAX", library: "jax", pods: 1, fault: "kill", replica: "worker-0", codes: []int32{137}},

	{name: "CUDA out of memory", pods: 4, fault: "oom", victim: 1, needsGPU: true, replica: "worker-1", codes: failsWith, words: `CUDA out of memory\. Tried to allocate`},
	{name: "device-side assert", pods: 4, fault: "assert", victim: 1, needsGPU: true, replica: "worker-1", codes: failsWith, words: `device-side assert triggered`},
	{name: "illegal memory access", pods: 4, fault: "illegal", victim: 1, needsGPU: true, replica: "worker-1", codes: failsWith, words: `an illegal memory access was encountered`},
	{name: "SIGSEGV", pods: 4, fault: "segv", victim: 1, replica: "worker-1", codes: []int32{139}},
	{name: "SIGKILL", pods: 4, fault: "kill", victim: 1, replica: "worker-1", codes: []int32{137}},
	{name: "exit 3", pods: 4, fault: "exit", victim: 1, replica: "worker-1", codes: []int32{3}},
	{name: "Python exception", pods: 4, fault: "exception", victim: 1, replica: "worker-1", codes: []int32{1}, words: `^ValueError: batch 30 is empty`},
	{name: "a loader that sleeps", pods: 4, fault: "loader", victim: 1, replica: "worker-1", words: `3 of 4 ranks wait in .*; worker-1 is in load_batch \(train\.py:\d+\)`},
	{name: "a kernel that never ends", pods: 4, fault: "kernel", victim: 1, needsGPU: true, replica: "worker-1", words: `worker-1 is in synchronize `},
	{name: "SIGSTOP", pods: 4, fault: "stop", victim: 1, replica: "worker-1", words: `worker-1 does not answer`},

	{name: "two ranks on one GPU", backend: "nccl", pods: 2, needsGPU: true, repeats: true, codes: failsWith, words: `Duplicate GPU detected`},
	{name: "the same exception in each attempt", pods: 2, fault: "always", victim: 1, repeats: true, replica: "worker-1", codes: []int32{1}, words: `^ValueError: batch 30 is empty`},
	{name: "torchrun, device-side assert of rank 3", torchrun: true, pods: 2, fault: "assert", victim: 3, needsGPU: true, replica: "worker-1", codes: failsWith,
		words: `(?s)device-side assert triggered.*\(torchrun: rank 3 ended`},
	{name: "torchrun, exception of rank 3", torchrun: true, pods: 2, fault: "exception", victim: 3, replica: "worker-1", codes: []int32{1},
		words: `(?s)^ValueError: batch 30 is empty.*\(torchrun: rank 3 ended`},
}

// lacks returns by library why it cannot be tested here; empty if it can.
var lacks = map[string]func() string{
	"ddp":          importing("import torch"),
	"lightning":    importing("import torch, lightning.pytorch"),
	"transformers": importing("import torch, accelerate, transformers"),
	"jax":          importing("import jax; jax.devices('" + device + "')"),
}

func importing(program string) func() string {
	if !onCPU && strings.Contains(program, "torch") {
		program += "; assert torch.cuda.is_available(), 'this torch finds no GPU'"
	}
	return sync.OnceValue(func() string {
		output, err := exec.Command(python, "-c", program).CombinedOutput()
		if err == nil {
			return ""
		}
		lines := strings.Split(strings.TrimSpace(string(output)), "\n")
		return cmp.Or(lines[len(lines)-1], err.Error())
	})
}

var (
	lock           sync.Mutex
	ran, notRunned []string
)

// notRun is the status if nothing was tested, by the custom of automake.
const notRun = 77

func TestMain(m *testing.M) {
	if path, err := exec.LookPath(python); err == nil {
		python, _ = filepath.Abs(path) // each run has a folder of its own
	}
	_ = flag.Set("test.parallel", strconv.Itoa(max(1, runtime.NumCPU()/4))) // a run has four ranks
	code := m.Run()
	for _, line := range notRunned {
		fmt.Println("NOT RUN:", line)
	}
	where := "on a GPU"
	if onCPU {
		where = "on the CPU, as a test of the test: no GPU was used"
	}
	fmt.Printf("%d of %d trainings ran %s\n", len(ran), len(ran)+len(notRunned), where)
	if code == 0 && len(ran) == 0 {
		fmt.Println("NOT RUN: there is nothing to test here")
		code = notRun
	}
	os.Exit(code)
}

func TestABrokenTrainingNamesItsRankAndGoesOn(t *testing.T) {
	for _, b := range trainings {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			if why := b.cannotRun(); why != "" {
				lock.Lock()
				notRunned = append(notRunned, b.name+": "+why)
				lock.Unlock()
				t.Skip("NOT RUN:", why)
			}
			lock.Lock()
			ran = append(ran, b.name)
			lock.Unlock()
			r := b.run(t)
			b.checkFailure(t, r)
			if b.repeats {
				r.failedByRepetition(t)
			} else {
				r.wentOn(t)
			}
			if t.Failed() {
				t.Log(r.output)
			}
		})
	}
}

func (b *broken) cannotRun() string {
	if b.needsGPU && onCPU {
		return "it needs a GPU"
	}
	return lacks[cmp.Or(b.library, "ddp")]()
}

// result is how a run went: its status, what kubectl tj run has printed, and what kubectl tj shows of the failure.
type result struct {
	status       *v1alpha1.TrainingJobStatus
	output, tale string
}

const manifest = `
apiVersion: trainingjob.dev/v1alpha1
kind: TrainingJob
metadata: {name: gpu}
spec:
  framework: %s
  progress: {port: 9500, stallAfterSeconds: %d, action: Restart}
  recovery: {backoffSeconds: 1, maxBackoffSeconds: 1}
  replicaSpecs:
    Worker:
      replicas: %d
      template:
        spec:
          containers:
          - name: train
            image: example.com/none
            command: [%s]
            env: [{name: CHECKPOINTS, value: /checkpoints}]
            volumeMounts: [{name: checkpoints, mountPath: /checkpoints}]
          volumes:
          - name: checkpoints
            persistentVolumeClaim: {claimName: checkpoints}
`

// manifest returns the job. The ranks have no GPU of their own: they share it.
func (b *broken) manifest(program string) string {
	framework, stall := v1alpha1.PyTorch, 60
	if b.library == "jax" {
		framework = v1alpha1.JAX
	}
	if onCPU {
		stall = 90 // the imports of four ranks, on few cores
	}
	command := []string{python}
	if b.torchrun {
		command = append(command, "-m", "torch.distributed.run", "--nproc_per_node=2")
	}
	backend := b.backend
	if onCPU || backend == "" {
		backend = "gloo"
	}
	command = append(command, program, "--device", device, "--library", cmp.Or(b.library, "ddp"), "--backend", backend, "--fault", b.fault, "--victim", strconv.Itoa(b.victim))
	for i := range command {
		command[i] = strconv.Quote(command[i])
	}
	return fmt.Sprintf(manifest, framework, stall, b.pods, strings.Join(command, ", "))
}

// inNetwork is a program that runs its arguments in the network namespace in which it is: with the loopback device up (SIOCSIFFLAGS, IFF_UP).
const inNetwork = `import fcntl, os, socket, struct, sys
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sH22x", b"lo", 1))
os.execvp(sys.argv[1], sys.argv[1:])`

// run runs the training, in a network of its own: all runs use the same ports.
func (b *broken) run(t *testing.T) *result {
	t.Helper()
	top, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	at := t.TempDir()
	job, work, here := filepath.Join(at, "job.yaml"), filepath.Join(at, "work"), filepath.Join(at, "run")
	if err := os.WriteFile(job, []byte(b.manifest(filepath.Join(top, "test/nodes/gpu/train.py"))), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	tj := filepath.Join(top, "bin/kubectl-tj")
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-c", inNetwork, tj, "run", job, "--folder", here)
	cmd.Dir, cmd.Env = work, append(os.Environ(), "PYTHONPATH="+filepath.Join(top, "sdk/python")+":"+os.Getenv("PYTHONPATH"))
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, 20*time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if id := os.Getuid(); id != 0 { // without root the user needs a namespace, too
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	output, err := cmd.CombinedOutput()
	s, failed := folder.Read(here)
	if failed != nil {
		t.Fatalf("kubectl tj run: %v: %v\n%s", err, failed, output)
	}
	r := &result{status: &s.Job.Status, output: string(output)}
	for _, verb := range []string{"why", "status"} { // both read the log where the status has only frames
		shown, _ := exec.Command(tj, verb, "gpu", "--local", here).CombinedOutput()
		r.tale += string(shown)
	}
	return r
}

// checkFailure checks who is named for the first incident, with which cause and code, and that the line that explains it is shown.
func (b *broken) checkFailure(t *testing.T, r *result) {
	t.Helper()
	if len(r.status.Incidents) == 0 || r.status.LastFailure == nil {
		t.Fatalf("nothing broke\n%s", r.output)
	}
	f := r.status.Incidents[len(r.status.Incidents)-1].Failure
	replica, code := state.Slot{Role: f.Role, Index: int(f.Index)}.String(), ptr.Deref(f.ExitCode, 0)
	if b.replica != "" && replica != b.replica {
		t.Errorf("%s is named, want %s", replica, b.replica)
	}
	cause := v1alpha1.CauseRetryable
	if len(b.codes) == 0 {
		cause = v1alpha1.CauseHang
	} else if !slices.Contains(b.codes, code) {
		t.Errorf("the exit code is %d, want one of %v", code, b.codes)
	}
	if f.Cause != cause {
		t.Errorf("the cause is %s, want %s", f.Cause, cause)
	}
	message, where := r.status.LastFailure.Message, "status.lastFailure.message"
	words := regexp.MustCompile(b.words)
	switch {
	case words.MatchString(message):
	case words.MatchString(r.tale):
		where = "kubectl tj"
	default:
		t.Errorf("nothing shows %s: the message is\n%s\nkubectl tj shows\n%s", b.words, message, r.tale)
	}
	if b.words == "" {
		where = "nowhere"
	}
	line, _, _ := strings.Cut(message, "\n")
	t.Logf("%s, %s, code %d, %s explains it; the message begins with: %.240s", replica, f.Cause, code, where, line)
}

// goesOn is what train.py prints when it begins at its checkpoint: of step 20, or 30 if rank 0 was quick.
var goesOn = regexp.MustCompile(`attempt=1 starts from step=[23]0\b`)

// wentOn checks that one restart of the whole job was enough.
func (r *result) wentOn(t *testing.T) {
	t.Helper()
	if s := r.status; s.Phase != v1alpha1.PhaseSucceeded || s.Restarts != 1 || s.Attempt != 1 {
		t.Errorf("the job is %s in attempt %d after %d restarts, want Succeeded in attempt 1 after 1", s.Phase, s.Attempt, s.Restarts)
	}
	if !goesOn.MatchString(r.output) {
		t.Error("attempt 1 does not start from the checkpoint")
	}
	if p := r.status.Progress; p == nil || p.Step == 0 {
		t.Error("the status shows no step")
	}
}

// failedByRepetition checks that the job failed after the three restarts that sameCrashLimit allows by default.
func (r *result) failedByRepetition(t *testing.T) {
	t.Helper()
	if s := r.status; s.Phase != v1alpha1.PhaseFailed || s.Reason != v1alpha1.ReasonNoProgress || s.Restarts != 3 {
		t.Errorf("the job is %s (%s) after %d restarts, want Failed (NoProgress) after 3", s.Phase, s.Reason, s.Restarts)
	}
}

//go:build local && linux

// Package local trains the programs of examples/ as local runs, with the frameworks of PyPI: first unbroken, then with a killed replica. Both
// runs must end with the same loss, and the incident must be the one that the cluster's suite (test/nodes/frameworks) expects of the same
// fault. make test-local runs it in a quarter of an hour. It needs Python 3.11 and 7 GB for bin/venv-local.
package local

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/local/folder"
)

const root = "../../.."

// program is a folder of examples/.
type program struct {
	name string
	// victim is the replica to kill, and scope what must restart then.
	victim string
	scope  v1alpha1.RestartScope
	// tolerance is how much the losses may differ. Workers of parameter servers draw their batches at random.
	tolerance float64
	// env makes a run as long as half a minute.
	env string
}

var programs = []program{
	{"pytorch-ddp", "worker-1", v1alpha1.ScopeJob, 0.0002, "PACE=0.1"},
	{"tensorflow-ps", "worker-1", v1alpha1.ScopeReplica, 0.003, "PACE=0.05"},
	{"tensorflow-ps", "ps-0", v1alpha1.ScopeJob, 0.003, "PACE=0.05"},
	{"xgboost", "worker-1", v1alpha1.ScopeJob, 0.0002, "PACE=0.3"},
	{"paddle", "worker-1", v1alpha1.ScopeJob, 0.0002, "PACE=0.1"},
	{"jax", "worker-1", v1alpha1.ScopeJob, 0.0002, "PACE=0.1"},
	{"lightgbm", "worker-1", v1alpha1.ScopeJob, 0.0002, "PACE=0.3"},
}

// incident is what the status keeps of a fault.
type incident struct {
	Replica string
	Cause   v1alpha1.Cause
	Reason  string
	Code    int32
	Scope   v1alpha1.RestartScope
	Charged bool
}

func TestATrainingThatIsKilledEndsAsAnUnbrokenOne(t *testing.T) {
	for _, p := range programs {
		t.Run(p.name+" "+p.victim, func(t *testing.T) {
			plain := p.run(t)
			if plain.status.Restarts != 0 {
				t.Fatalf("an unbroken run restarts %d times", plain.status.Restarts)
			}
			broken := p.run(t, "--kill", fmt.Sprintf("%s@%.1fs", p.victim, (plain.first+plain.done)/2-plain.runs))
			if difference := math.Abs(broken.loss - plain.loss); difference > p.tolerance {
				t.Errorf("the loss is %v, want %v as without the fault", broken.loss, plain.loss)
			}
			want := []incident{{p.victim, v1alpha1.CauseRetryable, "Error", 137, p.scope, true}}
			if diff := cmp.Diff(want, broken.incidents()); diff != "" {
				t.Errorf("incidents (-want +got):\n%s", diff)
			}
			wantAttempt := int32(0)
			if p.scope == v1alpha1.ScopeJob {
				wantAttempt = 1
				if !regexp.MustCompile(`attempt=1 step=[1-9]\d* starts from \S*/`).MatchString(broken.output) {
					t.Error("the second attempt starts from no checkpoint")
				}
			}
			if s := broken.status; s.Attempt != wantAttempt || s.Restarts != 1 {
				t.Errorf("attempt %d after %d restarts, want %d after 1", s.Attempt, s.Restarts, wantAttempt)
			}
			if t.Failed() {
				t.Log(broken.without(stepLine))
			}
			t.Logf("%s: loss %v unbroken in %.0f s, %v with %s killed in %.0f s", p.name, plain.loss, plain.done-plain.runs, broken.loss, p.victim, broken.done-broken.runs)
		})
	}
}

// result is how a run went: the loss at its end, and the seconds at which all replicas ran, the first step was done, and the training.
type result struct {
	loss, runs, first, done float64
	status                  *v1alpha1.TrainingJobStatus
	output                  string
}

var (
	runsLine = regexp.MustCompile(`(?m)^ *([\d.]+)s  operator +Running: AllReplicasRunning`)
	stepLine = regexp.MustCompile(`(?m)^ *([\d.]+)s  \S+ +\| .*step=\d+ loss=`)
	doneLine = regexp.MustCompile(`(?m)^ *([\d.]+)s  \S+ +\| .*step=\d+ done loss=([\d.]+)`)
)

// run runs the program with kubectl tj run.
func (p program) run(t *testing.T, faults ...string) *result {
	t.Helper()
	at := t.TempDir()
	example := filepath.Join("examples", p.name)
	args := append([]string{"run", filepath.Join(example, "job.yaml"), "--image-command", "python3 " + filepath.Join(example, "train.py"),
		"--env", "CHECKPOINTS=/checkpoints", "--env", p.env, "--folder", at}, faults...)
	cmd := exec.Command("bin/kubectl-tj", args...)
	cmd.Dir = root
	venv, err := filepath.Abs(filepath.Join(root, "bin/venv-local/bin"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "PATH="+venv+":"+os.Getenv("PATH"))
	output, err := cmd.CombinedOutput()
	r := &result{output: string(output)}
	done := doneLine.FindStringSubmatch(r.output)
	if err != nil || done == nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, r.end())
	}
	r.done, r.loss, r.runs, r.first = number(done[1]), number(done[2]), r.secondOf(runsLine), r.secondOf(stepLine)
	state, err := folder.Read(at)
	if err != nil {
		t.Fatal(err)
	}
	r.status = &state.Job.Status
	return r
}

func (r *result) secondOf(line *regexp.Regexp) float64 {
	if found := line.FindStringSubmatch(r.output); found != nil {
		return number(found[1])
	}
	return math.NaN()
}

// without returns the output without those lines.
func (r *result) without(lines *regexp.Regexp) string { return lines.ReplaceAllString(r.output, "") }

// end returns the last lines of the output.
func (r *result) end() string {
	lines := strings.Split(r.output, "\n")
	return strings.Join(lines[max(0, len(lines)-60):], "\n")
}

func number(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return n
}

// incidents returns the incidents of the job.
func (r *result) incidents() []incident {
	var list []incident
	for _, i := range r.status.Incidents {
		list = append(list, incident{fmt.Sprintf("%s-%d", strings.ToLower(string(i.Role)), i.Index), i.Cause, i.Reason, ptr.Deref(i.ExitCode, 0), i.Scope, i.Charged})
	}
	return list
}

//go:build linux

package sim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/local"
	"github.com/trainingjob/operator/test/sim/builder"
)

// A local run and the simulation have the same job and the same faults, and must record the same incidents. Their kubelets, nodes and
// clocks have nothing in common.

// until attempt n the ranks train; in it they end.
func untilAttempt(n int) string {
	return fmt.Sprintf("test $TRAININGJOB_ATTEMPT -ge %d && exit 0; exec sleep 1000", n)
}

// untilReplaced lets the chief end once a worker was replaced.
const untilReplaced = `case $TF_CONFIG in *'"task":{"type":"chief"'*) until test -e $D/done; do sleep 0.02; done; exit 0;; esac
	test $TRAININGJOB_LIFE -gt 0 && touch $D/done
	exec sleep 1000`

// program has every replica run the script, with a folder $D that all share.
func program(script string) builder.JobOption {
	return builder.EveryRole(builder.PodSpec(func(spec *corev1.PodSpec) {
		c := &spec.Containers[0]
		c.Command, c.Args = []string{"sh", "-c", script}, nil
		c.Env = append(c.Env, corev1.EnvVar{Name: "D", Value: "/d"})
		c.VolumeMounts = []corev1.VolumeMount{{Name: "d", MountPath: "/d"}}
		spec.Volumes = []corev1.Volume{{Name: "d", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "d"}}}}
	}))
}

func TestALocalRunDecidesAsTheSimulationDoes(t *testing.T) {
	tf := []builder.JobOption{tensorflow, builder.Leader(v1alpha1.Chief), builder.PS(1), builder.Workers(2)}
	exit := func(replica string, code int32) local.Fault { return local.Fault{Replica: replica, Exit: &code} }
	exits := func(slot string, code int32, then ...string) func(*run) {
		return func(r *run) {
			r.running()
			r.exit(code, slot)
			if len(then) > 0 {
				r.restarted(1)
				r.succeed(then...)
			}
		}
	}
	for _, c := range []struct {
		name   string
		job    []builder.JobOption
		script string
		faults []local.Fault
		play   func(*run)
		want   outcome
	}{
		{"a rank of a collective", []builder.JobOption{pytorch, builder.Workers(3)}, untilAttempt(1),
			[]local.Fault{exit("worker-1", 137)}, exits("worker-1", 137, "worker-0"), leaderSucceeded(1, 1, 1)},
		{"a rank of a collective, in place", []builder.JobOption{pytorch, builder.Workers(3), quick}, untilAttempt(1),
			[]local.Fault{exit("worker-1", 1)}, exits("worker-1", 1, "worker-0"), leaderSucceeded(1, 1, 1)},
		{"a worker of parameter servers", tf, untilReplaced, []local.Fault{exit("worker-1", 137)}, exits("worker-1", 137, "chief-0"), leaderSucceeded(0, 1, 1)},
		{"a parameter server", tf, untilAttempt(1), []local.Fault{exit("ps-0", 1)}, exits("ps-0", 1, "chief-0"), leaderSucceeded(1, 1, 1)},
		{"an exit that is final", []builder.JobOption{pytorch, builder.Workers(2)}, untilAttempt(1),
			[]local.Fault{exit("worker-1", 93)}, exits("worker-1", 93), failed(v1alpha1.ReasonFatalExit, 0, 0, 0)},
		{"a lost node", []builder.JobOption{pytorch, builder.Workers(2)}, untilAttempt(1), []local.Fault{{Node: "node-2"}},
			func(r *run) {
				r.running()
				node := r.pod("worker-1").Spec.NodeName
				r.FailNode(node)
				r.restarted(1)
				r.succeed("worker-0")
				r.ReviveNode(node)
			}, leaderSucceeded(1, 1, 0)},
	} {
		t.Run(c.name, func(t *testing.T) {
			options := slices.Concat(c.job, []builder.JobOption{program(c.script), func(job *v1alpha1.TrainingJob) {
				job.Spec.RunPolicy.FinishGraceSeconds = ptr.To[int32](1)
			}})
			simulated := (&scenario{name: c.name, job: options, play: c.play, want: c.want}).run(nothing{}, nil)
			if simulated.isWrong() {
				t.Fatal(simulated.check.Wrong)
			}
			got, err := runLocally(t, newJob(options...), c.faults)
			if err != nil {
				t.Fatal(err)
			}
			status := &got.Job.Status
			if ended := (outcome{status.Phase, status.Reason, status.Attempt, status.Restarts, status.ChargedRestarts}); ended != c.want {
				t.Errorf("the local run ends as %+v, want %+v", ended, c.want)
			}
			if diff := cmp.Diff(incidentsOf(simulated.Job()), incidentsOf(got.Job)); diff != "" {
				t.Errorf("incidents (-simulated +local):\n%s", diff)
			}
		})
	}
}

// incidentsOf returns what both must agree on: all but times, names of nodes and last words.
func incidentsOf(job *v1alpha1.TrainingJob) []string {
	var list []string
	for _, i := range job.Status.Incidents {
		list = append(list, fmt.Sprintf("%s-%d attempt %d: %s %s, exit code %d, restarts the %s with %d followers, charged %t",
			strings.ToLower(string(i.Role)), i.Index, i.Attempt, i.Cause, i.Reason, ptr.Deref(i.ExitCode, -1), i.Scope, i.Followers, i.Charged))
	}
	return list
}

// runLocally runs the job as processes, in a goroutine of its own, as the run keeps its thread.
func runLocally(t *testing.T, job *v1alpha1.TrainingJob, faults []local.Fault) (result *local.Result, err error) {
	o := local.Options{Job: job, Nodes: 2, Faults: faults, LostAfter: time.Second, Folder: t.TempDir(), Screen: blank{}}
	if _, err := o.Prepare(); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		result, err = local.Run(t.Context(), o)
	}()
	<-done
	return result, err
}

// blank shows nothing.
type blank struct{}

func (blank) Event(string, string)                      {}
func (blank) Say(string, string)                        {}
func (blank) Line(string, string)                       {}
func (blank) Show(*v1alpha1.TrainingJob, []*corev1.Pod) {}

//go:build chaos

package chaos

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
	"github.com/trainingjob/operator/test/sim/ledger"
)

// play is a job and what is to become of it.
type play struct {
	job *v1alpha1.TrainingJob
	// breakable are the roles whose pods are broken at random, as in the pods' names; none for a job that is left alone.
	breakable []string
	// whole says that the whole job restarts when one replica breaks.
	whole bool
	// restartsThenFails is how many restarts a job has before it fails by itself; 0 for one that is to succeed.
	restartsThenFails int32
	// succeedsAlone says that nobody has to tell its leader to succeed.
	succeedsAlone bool
}

// cast returns n jobs of 2 to 4 pods, of all kinds in turn.
func cast(n int) []*play {
	kinds := []func(string) *play{replaced, restarted, tensorflow, replaced, restarted, doomed, quick}
	plays := make([]*play, 0, n)
	for i := range n {
		plays = append(plays, kinds[i%len(kinds)](fmt.Sprintf("j%d", i)))
	}
	return plays
}

// replaced is a job whose replicas are replaced one by one.
func replaced(name string) *play {
	return &play{job: job("r"+name, v1alpha1.Custom, builder.Leader(v1alpha1.Master), builder.Workers(2)), breakable: []string{"master", "worker"}}
}

// restarted is a collective: it restarts as a whole.
func restarted(name string) *play {
	return &play{job: job("p"+name, v1alpha1.PyTorch, builder.Leader(v1alpha1.Master), builder.Workers(3)), breakable: []string{"master", "worker"}, whole: true}
}

// tensorflow is a job whose workers and chief are replaced; its parameter server is left alone.
func tensorflow(name string) *play {
	return &play{job: job("t"+name, v1alpha1.TensorFlow, builder.Leader(v1alpha1.Chief), builder.PS(1), builder.Workers(2)), breakable: []string{"chief", "worker"}}
}

// doomed is a job whose worker fails in each of its lives, until its budget is used up.
func doomed(name string) *play {
	j := job("d"+name, v1alpha1.Custom, builder.MaxRestarts(3),
		builder.Leader(v1alpha1.Master), builder.Workers(1, builder.Doing("run-for", "1s"), builder.Doing("exit-code", "1")))
	return &play{job: j, restartsThenFails: 3}
}

// quick is a job that runs for a second and succeeds.
func quick(name string) *play {
	return &play{job: job("q"+name, v1alpha1.JAX, builder.AllWorkers(), builder.Workers(2, builder.Doing("run-for", "1s"))), succeedsAlone: true}
}

// job returns a job that restarts without back-off and as often as it must, and is cleaned up soon after its success.
func job(name string, framework v1alpha1.Framework, options ...builder.JobOption) *v1alpha1.TrainingJob {
	return builder.Submitted(name, framework, append([]builder.JobOption{builder.MaxRestarts(1000), builder.BackOff(0, 1), builder.FinishGrace(1)}, options...)...)
}

// targets returns the job's pods that may be broken: they run, in the job's present life. Those whose start the status
// remembers are in started too: if one of these vanishes, it is an incident; one that nobody had seen running is just made again.
func (p *play) targets(a *account) (running, started []*corev1.Pod) {
	memory, err := state.ReadMemory(a.job)
	if p == nil || a.finished || a.deleted || err != nil {
		return nil, nil
	}
	for _, e := range a.pods {
		if e.gone || !runs(e.pod) || !slices.Contains(p.breakable, e.life.Role) {
			continue
		}
		running = append(running, e.pod)
		m := memory[roleOf(a.job, e.life)]
		if m != nil && e.life.Attempt == int(a.job.Status.Attempt) && e.life.Replacement == m.Replacements[e.life.Index] && m.Started.Has(e.life.Index) {
			started = append(started, e.pod)
		}
	}
	return running, started
}

// runs reports whether the pod's containers run and nobody has asked for their end.
func runs(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil && !ledger.HasEnded(pod)
}

func roleOf(job *v1alpha1.TrainingJob, l ledger.Life) v1alpha1.Role {
	for role := range job.Spec.ReplicaSpecs {
		if strings.EqualFold(string(role), l.Role) {
			return role
		}
	}
	return ""
}

// settled returns the leader's pod if every replica runs, none is about to exit and the leader has not been told to succeed;
// nil otherwise. Then every pod that broke has been counted: nobody replaces what he has not noticed.
func (p *play) settled(a *account) (leader *corev1.Pod) {
	if p.succeedsAlone || p.restartsThenFails > 0 {
		return nil
	}
	wanted := state.Total(&a.job.Spec)
	for _, e := range a.pods {
		if e.gone || !ledger.CanAct(e.pod) {
			continue
		}
		_, told := e.pod.Annotations[builder.LabPrefix+"exit-code"]
		if told || !runs(e.pod) {
			return nil
		}
		wanted--
		if e.life.Role == "master" || e.life.Role == "chief" {
			leader = e.pod
		}
	}
	if wanted != 0 {
		return nil
	}
	return leader
}

// faults returns what is wrong with the job's verdict and counts, in sentences.
func (p *play) faults(a *account, wasLost func(*corev1.Pod) bool) (wrong []string) {
	s := &a.job.Status
	must := func(holds bool, format string, args ...any) {
		if !holds {
			wrong = append(wrong, a.job.Name+": "+fmt.Sprintf(format, args...))
		}
	}
	t := a.truth(wasLost, p.whole)
	want := v1alpha1.PhaseSucceeded
	if p.restartsThenFails > 0 {
		want = v1alpha1.PhaseFailed
		must(t.restarts == p.restartsThenFails+1, "%d of its pods failed, and it was to fail with number %d", t.restarts, p.restartsThenFails+1)
		t.restarts, t.leastCharged, t.mostCharged = t.restarts-1, t.leastCharged-1, t.mostCharged-1 // the last one was not restarted
	}
	must(s.Phase == want, "it is %s, and should be %s", s.Phase, want)
	must(s.Restarts == t.restarts, "status.restarts is %d, and %d restarts were called for", s.Restarts, t.restarts)
	must(s.ChargedRestarts >= t.leastCharged && s.ChargedRestarts <= t.mostCharged, "status.chargedRestarts is %d, and it should be %d to %d", s.ChargedRestarts, t.leastCharged, t.mostCharged)
	must(s.Attempt == t.attempt, "status.attempt is %d, and its pods were made for attempts up to %d", s.Attempt, t.attempt)
	must(!p.whole || s.Attempt == s.Restarts, "it restarts as a whole only, and is in attempt %d after %d restarts", s.Attempt, s.Restarts)
	must(p.whole || len(a.pods) == int(t.restarts+a.joined)+state.Total(&a.job.Spec), "%d pods were made for %d replicas, %d restarts and %d ends that joined one",
		len(a.pods), state.Total(&a.job.Spec), t.restarts, a.joined)
	return append(wrong, a.twice()...)
}

package sim_test

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/builder"
	"github.com/trainingjob/operator/test/sim/operator"
	"github.com/trainingjob/operator/test/sim/world"
)

// scenario is a story with a name: what happens to a job, and what is to become of it.
type scenario struct {
	name string
	job  []builder.JobOption
	// before, if set, prepares the world; the job is not submitted yet.
	before func(*run)
	play   func(*run)
	want   outcome
	// keepsEnded is whether operators keep pods whose process has ended.
	keepsEnded bool
	// every is of how many writes and reads one is made to go wrong, when runs repeat the scenario; 0 is all of them.
	every int
}

// outcome is what is to become of a job.
type outcome struct {
	Phase                      v1alpha1.Phase
	Reason                     string
	Attempt, Restarts, Charged int32
}

// gone is the outcome of a job that is deleted.
var gone = outcome{Phase: "gone"}

// stop ends a run that has gone wrong.
type stop struct{}

const (
	moment = 500 * time.Millisecond
	// endsByItself is how long after a success the ranks of a job are left to end by themselves, and what it takes then to clean up
	// with writes that are slow.
	endsByItself = 70 * time.Second
	// momentsAtMost is how long a scenario waits for anything: half an hour.
	momentsAtMost = 3600
)

// run plays the scenario with the faults and returns the run.
func (s *scenario) run(f faults, tell func(string)) (r *run) {
	r = &run{World: world.New(), faults: f, keepsEnded: s.keepsEnded}
	r.begin(tell)
	defer func() {
		if p := recover(); p != nil {
			if _, stopped := p.(stop); !stopped {
				panic(p)
			}
		}
	}()
	if s.before != nil {
		s.before(r)
	}
	r.Submit(newJob(s.job...))
	s.play(r)
	r.calmDown()
	if got := r.outcome(); got != s.want && !r.isWrong() {
		r.check.Violate("outcome: %+v, not %+v", got, s.want)
	}
	return r
}

func (r *run) outcome() outcome {
	job := r.Job()
	if job == nil {
		return gone
	}
	return outcome{job.Status.Phase, job.Status.Reason, job.Status.Attempt, job.Status.Restarts, job.Status.ChargedRestarts}
}

// until lets time pass until it is so. A job that needs more than its share of reconciles for that is stuck.
func (r *run) until(what string, isSo func() bool) {
	begin := r.reconciles()
	most := reconcilesAtMost + len(r.Pods())/4
	for range momentsAtMost {
		if r.isWrong() {
			panic(stop{})
		}
		if isSo() {
			return
		}
		if r.step(); r.works(r.operators[0]) && r.works(r.operators[1]) {
			begin = r.reconciles() // the faults have not stopped
		}
		if r.reconciles()-begin > most {
			r.check.Violate("liveness: %q has not come after %d reconciles", what, r.reconciles()-begin)
		}
	}
	r.check.Violate("liveness: %q has not come after %d reconciles; the job is %+v", what, r.reconciles()-begin, r.outcome())
	panic(stop{})
}

// reconciles returns how often the busiest operator has reconciled.
func (r *run) reconciles() int {
	n := 0
	for _, p := range r.operators {
		n = max(n, p.Reconciles)
	}
	return n
}

// wait lets time pass.
func (r *run) wait(d time.Duration) {
	for end := r.Clock.Now().Add(d); r.Clock.Now().Before(end) && !r.isWrong(); {
		r.step()
	}
}

// step is a moment.
func (r *run) step() {
	r.Tick(moment)
	if r.isLiedTo() && r.Clock.Elapsed()%time.Minute == 0 {
		r.leader().Resync()
	}
	r.operate()
}

// operate lets the operators work.
func (r *run) operate() {
	r.deliver()
	for _, p := range r.operators {
		if p == r.frozen || r.isWrong() {
			continue
		}
		if p.Dead() {
			r.start(p)
		}
		for range 4 {
			if r.catchUp(p); p.IsAwake() && r.works(p) && p != r.frozen {
				p.Reconcile()
			}
		}
	}
}

// works reports whether the operator does anything: the leader, or whoever believes to be it.
func (r *run) works(p *operator.Process) bool {
	both, two := r.faults.(interface{ bothWork(*run) bool })
	return p.Leads || two && both.bothWork(r)
}

// calmDown lets all come to rest and checks the end.
func (r *run) calmDown() {
	r.until("rest", func() bool {
		return !slices.ContainsFunc(r.operators, func(p *operator.Process) bool { return r.works(p) && p.IsAwake() }) && r.isStill()
	})
	r.until("no late request", func() bool { return len(r.late) == 0 })
	r.wait(endsByItself)
	if r.isLiedTo() {
		r.leader().Resync()
	}
	r.resync(r.leader())
}

// isLiedTo reports whether an answer was wrong. Nothing but the resync of its caches helps a process then.
func (r *run) isLiedTo() bool {
	f, can := r.faults.(interface{ lies() bool })
	return can && f.lies()
}

// isStill reports whether no pod is on its way to anything.
func (r *run) isStill() bool {
	job := r.Job()
	for _, pod := range r.Pods() {
		if pod.DeletionTimestamp != nil && !r.Deaf[pod.Spec.Hostname] || job == nil {
			return false
		}
	}
	return job == nil || job.DeletionTimestamp == nil
}

// pod returns the pod of the slot's present life, nil if there is none, or if it has yet to begin it.
func (r *run) pod(slot string) *corev1.Pod {
	job := r.Job()
	if job == nil {
		return nil
	}
	memory, err := state.ReadMemory(job)
	if err != nil {
		panic(err)
	}
	for _, pod := range r.Pods() {
		p, named := state.PodOf(job.Name, pod)
		s := p.Slot
		if named && !p.Restarting && s.String() == slot && memory[s.Role] != nil && p.Life == (state.Life{Attempt: int(job.Status.Attempt), Replacement: memory[s.Role].Replacements[s.Index]}) {
			return pod
		}
	}
	return nil
}

// running waits until the job says that all its replicas are ready.
func (r *run) running() {
	r.until("all replicas are ready", func() bool {
		job := r.Job()
		total := state.Total(&job.Spec)
		return job.Status.Phase == v1alpha1.PhaseRunning && job.Status.ObservedGeneration == job.Generation && job.Status.Ready == fmt.Sprintf("%d/%d", total, total)
	})
}

// exit ends the slots' processes, at once, as soon as all of them run.
func (r *run) exit(code int32, slots ...string) {
	r.until(fmt.Sprintf("%v run", slots), func() bool {
		return !slices.ContainsFunc(slots, func(slot string) bool {
			pod := r.pod(slot)
			return pod == nil || pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil
		})
	})
	for _, slot := range slots {
		r.Exit(r.pod(slot), code, "the end of "+slot)
	}
}

// phase waits for a phase.
func (r *run) phase(phase v1alpha1.Phase) {
	r.until("phase "+string(phase), func() bool { return r.Job() != nil && r.Job().Status.Phase == phase })
}

// isAsked waits until every pod shows what its rank is asked.
func (r *run) isAsked() {
	r.until("the ranks have a checkpoint request", func() bool {
		return r.Job().Status.CheckpointRequest != nil && !slices.ContainsFunc(r.Pods(), func(pod *corev1.Pod) bool {
			return pod.Annotations[v1alpha1.AnnotationCheckpointRequest] == ""
		})
	})
}

// succeed waits until the job runs in full and lets the slots succeed.
func (r *run) succeed(slots ...string) {
	r.running()
	r.exit(0, slots...)
	r.phase(v1alpha1.PhaseSucceeded)
}

// stalled waits until the job says that it cannot go on, and why.
func (r *run) stalled(reason string) {
	r.until("stalled: "+reason, func() bool {
		c := meta.FindStatusCondition(r.Job().Status.Conditions, v1alpha1.ConditionStalled)
		return c != nil && c.Status == "True" && c.Reason == reason
	})
}

// refuse lets the API server refuse the operator's pods, and counts how often it has to, by name.
func (r *run) refuse(err error) map[string]int {
	tries := map[string]int{}
	r.Server.Admit = func(q *server.Request) error {
		if q.User != operator.User || q.Verb != server.Create || q.Kind != server.Pods {
			return nil
		}
		tries[q.Object.GetName()]++
		return err
	}
	return tries
}

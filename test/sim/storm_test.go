package sim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/builder"
	"github.com/trainingjob/operator/test/sim/operator"
	"github.com/trainingjob/operator/test/sim/world"
)

const (
	stormy = 70  // ticks with faults
	calm   = 200 // ticks without, at most
	// followsWithin is how many ticks without faults the pods of a job need at most to be as many as it has replicas.
	followsWithin = 40
	// stormySlack and calmSlack are how long after its time a deadline takes effect at most.
	stormySlack, calmSlack = 15 * time.Second, 5 * time.Second
	// reconcilesAtMost is how many reconciles a job needs at most, once nothing goes wrong any more.
	reconcilesAtMost = 50
)

var (
	pytorch = builder.Framework(v1alpha1.PyTorch)
	mpi     = builder.Framework(v1alpha1.MPI)
)

// withoutSSH is an MPI job whose images start ranks in a way of their own.
func withoutSSH(job *v1alpha1.TrainingJob) {
	job.Spec.MPI = &v1alpha1.MPISpec{LaunchAgent: v1alpha1.LaunchAgentNone}
}

// jobs are what seeds draw from: frameworks, scopes and policies.
var jobs = [][]builder.JobOption{
	{pytorch, builder.Workers(3)},
	{pytorch, builder.Leader(v1alpha1.Master), builder.Workers(2), builder.AllWorkers()},
	{pytorch, builder.Workers(3), builder.Elastic(1, 5)},
	{pytorch, builder.Workers(2, builder.Policy(v1alpha1.RestartExitCode))},
	{builder.Framework(v1alpha1.JAX), builder.Workers(2), builder.Evaluators(1)},
	{builder.Framework(v1alpha1.TensorFlow), builder.Leader(v1alpha1.Chief), builder.Workers(2), builder.PS(1), builder.Evaluators(1)},
	{builder.Framework(v1alpha1.TensorFlow), builder.Workers(2), builder.PS(1, builder.Policy(v1alpha1.RestartAlways))},
	{builder.Workers(3), builder.AllWorkers()},
	{builder.Workers(3), builder.AllWorkers(), builder.Elastic(2, 5)},
	{builder.Workers(3, builder.Scope(v1alpha1.ScopeRole))},
	{pytorch, builder.Workers(3), builder.AnyWorker(), builder.Elastic(1, 5)},
	{builder.Leader(v1alpha1.Launcher), builder.Workers(2, builder.Scope(v1alpha1.ScopeJob))},
	{builder.Workers(1)},
	{builder.Workers(3, builder.Scope(v1alpha1.ScopeJob), builder.Policy(v1alpha1.RestartAlways)), builder.AllWorkers()},
	{builder.Leader(v1alpha1.Master), builder.Workers(2, builder.Policy(v1alpha1.RestartAlways))},
	{pytorch, builder.Leader(v1alpha1.Master), builder.Workers(2, builder.Policy(v1alpha1.RestartAlways)), builder.Evaluators(1, builder.Policy(v1alpha1.RestartAlways))},
	{pytorch, builder.Workers(4), builder.Elastic(2, 5)},
	{pytorch, builder.Workers(2), builder.Progress(20, v1alpha1.StallRestart)},
	{pytorch, builder.Workers(3), inPlace},
	{pytorch, builder.Leader(v1alpha1.Master), builder.Workers(3), inPlace, accompanied(v1alpha1.Worker)},
	{pytorch, builder.Workers(3), builder.Progress(20, v1alpha1.StallRestart), inPlace},
	{pytorch, builder.Workers(3), inPlace, native},
	{tensorflow, builder.Leader(v1alpha1.Chief), builder.Workers(2), builder.PS(2), inPlace},
	{builder.Leader(v1alpha1.Launcher), builder.Workers(2, builder.Scope(v1alpha1.ScopeJob)), inPlace},
	{pytorch, builder.Workers(3), inPlace, restartedInPlace(v1alpha1.Worker)},
	{builder.Workers(2), builder.Progress(15, v1alpha1.StallNotify)},
	{pytorch, builder.Workers(3), builder.Asking(6)},
	{pytorch, builder.Workers(3), builder.Elastic(1, 5), builder.Asking(9)},
	{pytorch, builder.Workers(3), builder.Asking(6), inPlace},
	{pytorch, builder.Leader(v1alpha1.Master), builder.Workers(2), quick},
	{builder.Leader(v1alpha1.Chief), builder.Workers(2), builder.Evaluators(1), withoutGrace},
	{builder.Workers(3), builder.AllWorkers(), builder.Progress(20, v1alpha1.StallRestart), builder.Asking(3)},
	{pytorch, builder.Workers(3), native},
	{pytorch, builder.Workers(3), native, builder.InDomain(), inPlace},
	{builder.Workers(3), builder.Evaluators(1), builder.AllWorkers(), native, builder.InDomain()},
	{builder.Framework(v1alpha1.TensorFlow), builder.Leader(v1alpha1.Chief), builder.Workers(2), builder.PS(1), native, builder.InDomain(v1alpha1.Worker)},
	{pytorch, builder.Leader(v1alpha1.Master), builder.Workers(2), inPlace, declared},
	{builder.Workers(3), builder.AllWorkers(), native},
	{pytorch, builder.Workers(3), builder.Elastic(2, 5), native},
	{pytorch, builder.Workers(4), builder.Elastic(2, 5), native},
	{builder.Workers(4), builder.AllWorkers(), native, builder.MinAvailable(2)},
	{builder.Framework(v1alpha1.TensorFlow), builder.Leader(v1alpha1.Chief), builder.Workers(2), builder.PS(1), builder.Evaluators(1), native},
	{tensorflow, builder.Leader(v1alpha1.Chief), builder.Workers(2), builder.Evaluators(1)},
	{tensorflow, builder.Workers(3)},
	{builder.Leader(v1alpha1.Launcher), builder.Workers(2), builder.PS(1), builder.Evaluators(1)},
	{pytorch, builder.Leader(v1alpha1.Master), builder.Workers(2), builder.Elastic(1, 4)},
	{pytorch, builder.Workers(3), builder.Elastic(2, 4), metElsewhere},
	{pytorch, builder.Workers(3), accompanied(v1alpha1.Worker)},
	{builder.Workers(3), builder.AllWorkers(), prepared(v1alpha1.Worker)},
	{pytorch, builder.Workers(3), checked(v1alpha1.Worker), inPlace},
	{tensorflow, builder.Leader(v1alpha1.Chief), builder.Workers(2), builder.PS(1), checked(v1alpha1.PS)},
	{pytorch, builder.Workers(2), restartedInPlace(v1alpha1.Worker)},
	{tensorflow, builder.Workers(2), builder.PS(1), accompanied(v1alpha1.PS), restartedInPlace(v1alpha1.Worker)},
	{mpi, builder.Leader(v1alpha1.Launcher), builder.Workers(2)},
	{mpi, builder.Leader(v1alpha1.Launcher), builder.Workers(2), native, builder.Clean(v1alpha1.CleanAll)},
	{mpi, builder.Leader(v1alpha1.Launcher), builder.Workers(2, builder.Scope(v1alpha1.ScopeReplica))},
	{mpi, builder.Leader(v1alpha1.Launcher), builder.Workers(2), withoutSSH},
	{builder.Framework(v1alpha1.XGBoost), builder.Leader(v1alpha1.Master), builder.Workers(2), builder.Evaluators(1)},
	{builder.Framework(v1alpha1.LightGBM), builder.Workers(3), builder.AllWorkers()},
	{builder.Framework(v1alpha1.Paddle), builder.Workers(3)},
	{builder.Framework(v1alpha1.Paddle), builder.Workers(2), builder.PS(1)},
	{pytorch, builder.Workers(2), builder.Page(9500, 20, v1alpha1.StallRestart), builder.Asking(6)},
	{pytorch, builder.Leader(v1alpha1.Master), builder.Workers(2), builder.Page(9500, 20, v1alpha1.StallRestart), inPlace},
	{builder.Workers(2), builder.Evaluators(1), builder.Page(9500, 15, v1alpha1.StallNotify)},
	{tensorflow, builder.PS(1), builder.Workers(12)},
	{builder.Framework(v1alpha1.Paddle), builder.PS(2), builder.Workers(8)},
	{builder.Workers(2), builder.PS(1)},
	{pytorch, builder.Workers(10), builder.Elastic(1, 12), metElsewhere},
	{pytorch, builder.Workers(12)},
	{pytorch, builder.Workers(3), builder.AllWorkers(), builder.Elastic(2, 5)},
}

// accompanied gives a role's pods a second container that runs beside the first.
func accompanied(role v1alpha1.Role) builder.JobOption {
	return builder.Of(role, builder.Template(func(t *corev1.PodTemplateSpec) {
		t.Spec.Containers = append(t.Spec.Containers, corev1.Container{Name: "logger", Image: "log"})
	}))
}

// prepared gives a role's pods an init container, and a side-car that the kubelet keeps running.
func prepared(role v1alpha1.Role) builder.JobOption {
	return builder.Of(role, builder.Template(func(t *corev1.PodTemplateSpec) {
		t.Spec.InitContainers = []corev1.Container{{Name: "prepare", Image: "data"},
			{Name: "agent", Image: "agent", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}}
	}))
}

// checked gives a role's pods a preflight check of their nodes.
func checked(role v1alpha1.Role) builder.JobOption {
	return builder.Of(role, builder.Template(func(t *corev1.PodTemplateSpec) {
		t.Spec.InitContainers = []corev1.Container{{Name: "preflight-a", Image: "check"}}
	}))
}

// restartedInPlace lets the kubelet start a role's containers again in their pods when they exit with 42.
func restartedInPlace(role v1alpha1.Role) builder.JobOption {
	return builder.Of(role, builder.Template(func(t *corev1.PodTemplateSpec) {
		t.Spec.Containers[0].RestartPolicy = ptr.To(corev1.ContainerRestartPolicyNever)
		t.Spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestart,
			ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}}}}
	}))
}

// inPlace restarts the replicas that are well in their pods.
var inPlace = builder.Recovery(func(r *v1alpha1.Recovery) { r.RestartMethod = v1alpha1.RestartInPlace })

// quick has every pod end within five seconds: then a job whose ranks meet at a port of each attempt is restarted in place by default.
var quick = builder.EveryRole(builder.PodSpec(func(pod *corev1.PodSpec) { pod.TerminationGracePeriodSeconds = ptr.To[int64](5) }))

// declared has the template say at which port the ranks meet.
var declared = builder.EveryRole(builder.PodSpec(func(pod *corev1.PodSpec) {
	pod.Containers[0].Ports = []corev1.ContainerPort{{Name: "pytorchjob-port", ContainerPort: 23456}}
}))

// withoutGrace has the API server remove every pod that it is to delete at once.
var withoutGrace = builder.EveryRole(builder.PodSpec(func(pod *corev1.PodSpec) { pod.TerminationGracePeriodSeconds = new(int64) }))

// metElsewhere lets the workers of an elastic job meet at an endpoint outside the job.
func metElsewhere(job *v1alpha1.TrainingJob) {
	job.Spec.Elastic.Rendezvous = &v1alpha1.Rendezvous{Endpoint: "etcd:2379"}
}

// storm is mixed faults by chance.
type storm struct {
	rng *rand.Rand
	// calm is set when the faults stop.
	calm bool
	// lagAtMost is how far caches fall behind, and rarely how rarely a write goes wrong.
	lagAtMost, rarely int
	meddler           int
	// reelects is in one of how many ticks another process leads.
	reelects int
	// silence is in which storms a restart waits for a silent node; nil in others.
	silence *silence
	// unkind is what half of the storms have more; nil in others.
	unkind *unkind
	// refuses answers creates as quotas and policies do; nil for none.
	refuses func(*server.Request) error
	// fields are those that the storm's jobs had.
	fields map[string]bool
}

var wrongs = append([]operator.Outcome{
	operator.CrashBefore, operator.CrashBefore, operator.CrashAfter, operator.CrashAfter, operator.CrashLate, operator.CrashLate,
	operator.Twice, operator.Twice, operator.Freeze, operator.Freeze, operator.Freeze, operator.Slow, operator.Slow,
}, operator.Errors...)

func (s *storm) write(r *run, _ int, _ *server.Request) operator.Outcome {
	if s.calm || s.rng.IntN(s.rarely) > 0 {
		return operator.Done
	}
	o := wrongs[s.rng.IntN(len(wrongs))]
	if (o == operator.Freeze || o == operator.Slow) && r.frozen != nil {
		return operator.Done
	}
	return o
}

func (s *storm) read(_ *run, _ *operator.Process, _ int, _ server.Kind, live bool) error {
	if !s.calm && (live && s.rng.IntN(10) == 0 || s.rng.IntN(400) == 0) {
		return operator.Unavailable
	}
	return nil
}

// seen loses, delays or falsifies one in so many reads.
func (s *storm) seen(now, last state.Seen) state.Seen {
	if s.calm {
		return now
	}
	switch s.rng.IntN(30) {
	case 0:
		return state.Seen{}
	case 1:
		return last
	case 2:
		now.Page.Attempt, now.Page.Step, now.Stacks.List = "7", 1<<40, nil
	}
	return now
}

func (s *storm) lag(_ *run, p *operator.Process, kind server.Kind) int {
	switch {
	case s.calm:
		return 0
	case kind == server.Jobs && !p.Leads && s.rng.IntN(8) > 0:
		return p.Cache.Behind(kind) // the worst of former leaders: it sees the pods of the present and the job of the past
	case kind == server.PodGroups && s.rng.IntN(8) > 0:
		return p.Cache.Behind(kind) // few changes come, so a lag of some changes would soon be none
	}
	return s.rng.IntN(s.lagAtMost)
}

func (s *storm) delay(*run) time.Duration { return time.Duration(s.rng.IntN(20000)) * time.Millisecond }

func (s *storm) thaw(r *run) {
	for range s.rng.IntN(15) {
		s.tick(r)
	}
}

// newStorm returns the run of a seed.
func newStorm(seed int64, tell func(string)) (*run, *storm) {
	rng := rand.New(rand.NewPCG(uint64(seed), 1))
	s := &storm{rng: rng, lagAtMost: 1 + rng.IntN(8), rarely: 5 + rng.IntN(30), meddler: 8 + rng.IntN(60), reelects: 25, fields: map[string]bool{}}
	if s.silence = newSilence(seed); s.silence != nil { // it shows only to a process that leads for some time, of a job that goes on
		s.rarely, s.reelects = 10*s.rarely, 8*s.reelects
	}
	r := &run{World: world.New(), faults: s, keepsEnded: seed%2 == 0}
	r.OldKubelets = seed%16 == 2
	r.Chance = rng
	r.Habits = world.Habits{Failing: 1 + rng.IntN(6), Strange: rng.IntN(2), Unstartable: rng.IntN(3), Lazy: 1 + rng.IntN(20), Succeeding: 60, Staying: seed%2 == 0, Programless: rng.IntN(2) * 10, Following: []int{0, 60, 95}[rng.IntN(3)]}
	if s.silence != nil {
		r.Habits.Succeeding = 0
	}
	if rng.IntN(10) == 0 {
		r.Server.Unserved = map[server.Kind]bool{server.PodGroups: true}
	}
	if rng.IntN(4) == 0 {
		for _, node := range nodes {
			r.Skew[node] = time.Duration(rng.IntN(7)-3) * time.Second
		}
	}
	r.begin(tell)
	r.Server.Admit = func(request *server.Request) error { return s.admit(r, request) }
	if s.unkind = newUnkind(seed); s.unkind != nil {
		s.unkind.begin(r)
	}
	job := s.seedJob(r)
	if seed%8 == 0 { // as restored from a backup
		builder.FirstAttempt("7")(job)
	}
	r.Submit(job)
	return r, s
}

// admit answers a request before the API server takes it.
func (s *storm) admit(r *run, request *server.Request) error {
	if s.refuses != nil {
		if err := s.refuses(request); err != nil {
			return err
		}
	}
	return s.unkind.admit(r, request)
}

func (s *storm) seedJob(r *run) *v1alpha1.TrainingJob {
	rng := s.rng
	// there are three nodes only: a job that avoided all of them for a day would never end
	forgive := builder.Recovery(func(r *v1alpha1.Recovery) { r.AvoidNodesSeconds = ptr.To(int32(rng.IntN(20))) })
	options := append([]builder.JobOption{builder.BackOff(rng.IntN(3), 8), builder.MaxRestarts(rng.IntN(12)), forgive}, jobs[rng.IntN(len(jobs))]...)
	switch rng.IntN(8) {
	case 0:
		options = append(options, builder.TTL(int32(rng.IntN(20))))
	case 1:
		options = append(options, builder.Deadline(int32(20+rng.IntN(100))))
	case 2:
		options = append(options, builder.StartupDeadline(int32(5+rng.IntN(30))))
	case 3:
		options = append(options, builder.Clean([]v1alpha1.CleanPodPolicy{v1alpha1.CleanAll, v1alpha1.CleanNone}[rng.IntN(2)]))
	case 4:
		options = append(options, builder.SchedulingTimeout(int32(20+rng.IntN(60))))
	}
	if rng.IntN(5) == 0 {
		options = append(options, builder.Served())
	}
	job := newJob(s.unkind.draw(r, options)...)
	builder.NoteFields(&job.Spec, s.fields)
	return job
}

// newJob returns the job as a user sends it.
func newJob(options ...builder.JobOption) *v1alpha1.TrainingJob {
	job := builder.Job("j", options...)
	job.UID, job.Generation, job.CreationTimestamp = "", 0, metav1.Time{}
	return job
}

// play tells a story to its end, or to the first violation, which it returns.
func (s *storm) play(r *run) string {
	for range s.ticks() {
		if s.tick(r); r.isWrong() {
			return r.check.Wrong
		}
	}
	s.settle(r)
	return r.check.Wrong
}

// ticks returns how long the storm lasts.
func (s *storm) ticks() int {
	if s.silence != nil {
		return 2 * stormy
	}
	return stormy
}

// tick is a moment in the storm.
func (s *storm) tick(r *run) {
	r.Tick(time.Duration(50+s.rng.IntN(1500)) * time.Millisecond)
	r.check.Served(false)
	if r.frozen == nil && !slices.ContainsFunc(r.operators, (*operator.Process).IsHindered) {
		r.check.Due(stormySlack)
	}
	if s.silence == nil || s.rng.IntN(6) == 0 {
		s.meddle(r)
	}
	s.unkind.tick(s, r)
	r.freeQuota()
	r.deliver()
	if s.silence != nil {
		s.silence.tick(r)
	}
	if s.rng.IntN(s.reelects) == 0 && r.frozen == nil {
		r.lead(r.operators[s.rng.IntN(len(r.operators))])
	}
	for _, p := range r.operators {
		switch {
		case p == r.frozen || r.isWrong():
			continue
		case p.Dead():
			r.start(p)
		}
		if r.catchUp(p); p.IsAwake() && (p.Leads || s.rng.IntN(4) == 0) || s.rng.IntN(20) == 0 {
			p.Reconcile()
		}
	}
}

// meddle is what users and the cluster do.
func (s *storm) meddle(r *run) {
	if pods := r.Pods(); len(pods) > 0 && s.rng.IntN(s.meddler) == 0 {
		s.takeAway(r, pods[s.rng.IntN(len(pods))])
	}
	switch s.rng.IntN(120) {
	case 0, 1:
		s.again(r)
	case 2, 3, 4, 5:
		r.EditSpec(func(spec *v1alpha1.TrainingJobSpec) { spec.Suspend = ptr.To(!spec.IsSuspended() && s.rng.IntN(2) == 0) })
	case 41:
		if job := r.Job(); job != nil && job.Spec.Elastic == nil {
			r.Suspend(true)
			r.Scale(1 + s.rng.IntN(4))
			r.Suspend(false)
		}
	case 6, 7, 8, 9, 10, 11, 12, 13:
		if job := r.Job(); job != nil && job.Spec.Elastic != nil {
			e := job.Spec.Elastic
			r.Scale(int(e.MinReplicas) + s.rng.IntN(int(e.MaxReplicas-e.MinReplicas)+1))
		}
	case 14, 15:
		s.toggleNode(r)
	case 16:
		s.refuses = s.admission()
	case 17, 18, 19:
		s.refuses = nil
	case 20, 21:
		r.NoNodes = !r.NoNodes
	case 28, 29:
		r.Room = s.rng.IntN(3)
	case 30:
		r.Server.Unserved = nil
	case 31, 32, 33, 34, 35, 36, 37, 38, 39, 40:
		if job := r.Job(); job != nil && job.Spec.IsSuspended() {
			r.Suspend(false) // soon, while what was suspended is still ending
		}
	case 22, 23, 24, 25, 26, 27:
		steps := int64(s.rng.IntN(5))
		r.ReportByPage(steps, false)
	case 42:
		r.AskForRestart()
	case 43:
		r.AskForRestartOf([]string{"worker-0", "worker-1", "worker-3", "ps-0", "evaluator-0"}[s.rng.IntN(5)]) // the job may have none of that name
	case 54:
		s.retune(r)
	case 55:
		r.Racks = map[string]string{"node-0": "a", "node-1": "a", "node-2": "b"}
	case 56, 57:
		r.Racks = nil
	case 59, 60, 61:
		r.Unreachable = !r.Unreachable
	case 62, 63:
		r.Reading = s.reading()
	case 58:
		if groups := r.Server.List(server.PodGroups); len(groups) > 0 {
			r.DeleteGroup(groups[s.rng.IntN(len(groups))].GetName())
		}
	case 44, 45, 46, 47, 48, 49:
		r.ReportByPage(0, true)
	case 50, 51, 52, 53:
		s.monitor(r)
	case 64, 65, 66, 67:
		if r.Served() != nil {
			s.changeServed(r)
		}
	default:
		s.trouble(r)
	}
}

// reading draws how soon the ranks show their stacks, and what one of them shows.
func (s *storm) reading() world.Reading {
	pages := []string{world.Reads, "", "no JSON", `{"threads": []}`, `{"threads": [{"frames": [{"function": "\u0000", "line": -1}]}], "others": [{"rank": "9", "silent": true}]}`}
	return world.Reading{
		After: time.Duration(s.rng.IntN(4)) * time.Second,
		Pages: map[string]string{fmt.Sprintf("worker-%d", s.rng.IntN(3)): pages[s.rng.IntN(len(pages))]},
	}
}

// retune changes fields that may change while the job runs.
func (s *storm) retune(r *run) {
	r.EditSpec(func(spec *v1alpha1.TrainingJobSpec) {
		if spec.Scheduling != nil && spec.Scheduling.Gang == v1alpha1.GangNative && s.rng.IntN(2) == 0 {
			spec.Scheduling.MinAvailable = ptr.To(1 + s.rng.Int32N(6)) // may be more than there are
		} else if progress := spec.Progress; s.rng.IntN(2) == 0 {
			s.watch(spec, progress)
		} else if s.rng.IntN(2) == 0 {
			spec.Recovery.TerminationGraceSeconds = ptr.To([]int32{2, 5, 30}[s.rng.IntN(3)])
		} else {
			spec.Recovery.RestartMethod = []v1alpha1.RestartMethod{"", v1alpha1.RestartInPlace, v1alpha1.RestartRecreate}[s.rng.IntN(3)]
		}
	})
}

// watch adds what makes a job report, or changes what is expected of it, or takes it away.
func (s *storm) watch(spec *v1alpha1.TrainingJobSpec, progress *v1alpha1.Progress) {
	switch change := s.rng.IntN(4); {
	case progress == nil:
		spec.Progress = &v1alpha1.Progress{StallAfterSeconds: 20, Action: v1alpha1.StallRestart, CheckpointGraceSeconds: int32(s.rng.IntN(2) * 6)}
	case change < 2:
		progress.CheckpointGraceSeconds = int32(s.rng.IntN(3) * 6)
	case change == 2:
		progress.Port = 9500 - progress.Port // the page goes, as in jobs of former versions, or comes
	default:
		spec.Progress = nil
	}
}

// nodes are the world's.
var nodes = []string{"node-0", "node-1", "node-2"}

// rejections are the words of kubelets that turn pods away.
var rejections = []string{"UnexpectedAdmissionError", "OutOfnvidia.com/gpu", "NodeAffinity", "TopologyAffinityError"}

// giveUp has Kueue end a pod without a node, if there is one.
func (s *storm) giveUp(r *run) {
	for _, pod := range r.Pods() {
		if pod.Spec.NodeName == "" && !world.IsOver(pod) && pod.DeletionTimestamp == nil {
			r.GiveUp(pod)
			return
		}
	}
}

// trouble is what nodes do, and pods that do not end.
func (s *storm) trouble(r *run) {
	node := nodes[s.rng.IntN(len(nodes))]
	switch s.rng.IntN(60) {
	case 0:
		r.Rejecting[node] = rejections[s.rng.IntN(len(rejections))]
	case 1, 2, 3:
		clear(r.Rejecting)
	case 4:
		r.Reboot(node)
	case 11, 12:
		s.giveUp(r)
	case 5:
		if pods := r.Pods(); len(pods) > 0 {
			r.Deaf[pods[s.rng.IntN(len(pods))].Spec.Hostname] = true
		}
	case 6, 7:
		clear(r.Deaf)
	case 8:
		if pods := r.Pods(); len(pods) > 0 {
			r.NoImage[pods[s.rng.IntN(len(pods))].Spec.Hostname] = true
		}
	case 9, 10:
		clear(r.NoImage)
	}
}

// admission refuses what the operator creates, as quotas and policies do.
func (s *storm) admission() func(*server.Request) error {
	err := apierrors.NewForbidden(server.Pods.Resource(), "", errQuota)
	some := []string{"", "", "worker-1", "worker-0", "evaluator"}[s.rng.IntN(5)]
	return func(r *server.Request) error {
		if r.User == operator.User && r.Verb == server.Create && r.Kind == server.Pods && strings.Contains(r.Key.Name, some) {
			return err
		}
		return nil
	}
}

// takeAway is somebody's hand, not the operator's: a drain, a preemption, kubectl delete, or the pod is just gone.
func (s *storm) takeAway(r *run, pod *corev1.Pod) {
	if pod.DeletionTimestamp != nil {
		return
	}
	switch s.rng.IntN(4) {
	case 0:
		r.Remove(world.User, pod)
	case 1:
		r.Drain(world.User, pod, "EvictionByEvictionAPI")
	case 2:
		r.Preempt(pod)
	default:
		r.DeletePod(world.User, pod)
	}
}

// again deletes the job, and creates it anew once it is gone.
func (s *storm) again(r *run) {
	ways := []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationBackground, metav1.DeletePropagationForeground}
	if r.Job() == nil {
		r.Submit(s.seedJob(r))
		return
	}
	r.DeleteJob(ways[s.rng.IntN(len(ways))])
	if r.Job() == nil && s.rng.IntN(2) == 0 {
		r.Submit(s.seedJob(r))
	}
}

func (s *storm) toggleNode(r *run) {
	node := nodes[s.rng.IntN(len(nodes))]
	switch s.rng.IntN(6) {
	case 0:
		r.FailNode(node)
	case 1:
		r.SilenceNode(node, time.Duration(s.rng.IntN(60))*time.Second)
	case 2:
		r.DeleteNode(node)
	case 3:
		r.TaintNode(node)
	default:
		r.ReviveNode(node)
	}
}

// monitored are the types of conditions that say that a node is unhealthy; nobody has named the last to the operator.
var monitored = []corev1.NodeConditionType{operator.Breaks, operator.Breaks, operator.StaysOff, operator.Loses, corev1.NodeMemoryPressure}

// monitor is what says of a node that it is unhealthy, and not any more: some flap.
func (s *storm) monitor(r *run) {
	node, kind := nodes[s.rng.IntN(len(nodes))], monitored[s.rng.IntN(len(monitored))]
	switch s.rng.IntN(4) {
	case 0, 1:
		r.ReportUnhealthy(node, kind)
	case 2:
		r.SayNotIll(node, kind, corev1.ConditionFalse)
	default:
		r.SayNotIll(node, kind, corev1.ConditionUnknown)
	}
}

// settle ends the faults and lets the job come to its end.
func (s *storm) settle(r *run) {
	s.calm, r.late, r.frozen = true, nil, nil
	s.refuses, r.Server.Unserved, r.NoNodes, r.Room = nil, nil, false, 0
	s.unkind.calm(r)
	clear(r.Rejecting)
	clear(r.Deaf)
	clear(r.NoImage)
	clear(r.Leases.Mute)
	r.Unreachable, r.Leases.Slow, r.NoClaims = false, 0, false
	for _, node := range nodes {
		r.ReviveNode(node)
		for _, kind := range monitored {
			r.SayNotIll(node, kind, corev1.ConditionFalse)
		}
	}
	r.Habits = world.Habits{Lazy: 1, Succeeding: 4, Serving: "ps", Staying: r.Habits.Staying}
	r.EditSpec(func(spec *v1alpha1.TrainingJobSpec) {
		if spec.Scheduling != nil {
			spec.Scheduling.MinAvailable = nil // a job that needs more than it has would wait for ever
		}
	})
	r.Suspend(false)
	leader := r.leader()
	r.start(leader)
	begin, looks := leader.Reconciles, 0
	for i := range calm {
		r.Tick(time.Second)
		r.LetGo()
		r.OpenGates()
		r.freeQuota()
		r.check.Served(i > followsWithin)
		if i > followsWithin {
			r.check.Due(calmSlack)
		}
		if r.catchUp(leader); leader.IsAwake() && !r.isWrong() {
			leader.Reconcile()
		}
		if job := r.Job(); job != nil && job.Spec.Progress != nil {
			looks++ // at the page of rank 0, once a second
		}
		if r.isWrong() || r.isSettled() {
			break
		}
	}
	r.rest(leader, max(0, leader.Reconciles-begin-looks))
}

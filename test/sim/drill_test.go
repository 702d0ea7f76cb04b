package sim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/operator"
	"github.com/trainingjob/operator/test/sim/world"
)

// A drill is a job that trains in full, and one fault after another, each with what follows from it. The world knows each cause, so every charge,
// every name and every avoided node of the status is compared with what truly happened.
type drill struct {
	nothing
	rng *rand.Rand
	// kind is the job's framework, with what else matters to who follows whom.
	kind string
	// last is the node of the last fault, "" for none.
	last string
	// against are by node how many faults of the program were there, and how many the status has named.
	against map[string]int
	// broken are the nodes that have shown that they are bad.
	broken map[string]bool
	// restarts is how many restarts the status counted when the job last trained in full, and deletes how often the operator has deleted each pod.
	restarts int32
	deletes  map[string]int
	// rounds is how many blows and scenes the drill has.
	rounds int
	// named are by kind of job and of fault how often the incident named the truth.
	named map[[2]string]score
}

// score is how many faults had a first replica, and how often the incident named it, at once and after late evidence.
type score struct{ faults, atOnce, late int }

func (s score) plus(other score) score {
	return score{s.faults + other.faults, s.atOnce + other.atOnce, s.late + other.late}
}

const (
	// drillNodes is how many nodes there are.
	drillNodes = 12
	// lateEvidence is how long after a restart evidence can change its cause: 60 s by default, with what a silent node takes.
	lateEvidence = 80 * time.Second
	// restartsWithin is how long after a fault the restart begins, at the latest: a node may be silent for 50 s, and then counts as lost after 15 s.
	restartsWithin = 150 * time.Second
)

// newDrill returns the drill of a seed.
func newDrill(seed int64, tell func(string)) (*run, *drill) {
	rng := rand.New(rand.NewPCG(uint64(seed), 2))
	d := &drill{rng: rng, deletes: map[string]int{}, named: map[[2]string]score{}, rounds: 2 + rng.IntN(4)}
	if d.forget(); rng.IntN(16) == 0 {
		d.rounds = 14
	}
	r := &run{World: world.New(), faults: d, keepsEnded: seed%8 != 0}
	r.OldKubelets = seed%16 == 2
	r.Chance = rng
	r.Habits = world.Habits{Lazy: 2, Following: []int{0, 50, 90, 100}[rng.IntN(4)], SideCarCode: int32(rng.IntN(2)),
		Late:     []time.Duration{0, time.Second, 2 * time.Second, 5 * time.Second}[rng.IntN(4)],
		Training: true, WarmUp: time.Duration(rng.IntN(2)*15) * time.Second, BackOff: 10 * time.Second, Spread: rng.IntN(4) == 0, Forgetful: rng.IntN(2) * 2}
	for i := len(nodes); i < drillNodes; i++ {
		r.AddNode(fmt.Sprintf("node-%d", i))
	}
	skew := []time.Duration{0, 0, 0, 0, 0, 2, 60, 3600}[rng.IntN(8)] * time.Second
	for _, node := range r.Nodes() {
		if skew > 0 {
			r.Skew[node] = time.Duration(rng.Int64N(2*int64(skew))) - skew
		}
	}
	r.begin(tell)
	job := drillJob(rng)
	r.Habits.Agents = world.Agents(rand.New(rand.NewPCG(uint64(seed), 3)).IntN(3))
	d.kind = kindOfDrill(job) + kindOfAgents(job, r.Habits.Agents)
	if skew > 2*time.Second {
		d.kind += fmt.Sprintf(", clocks differ by %v", skew)
	}
	r.Submit(job)
	return r, d
}

func kindOfDrill(job *v1alpha1.TrainingJob) string {
	kind := string(job.Spec.Framework)
	if job.Spec.Replicas(v1alpha1.PS) > 0 {
		kind += " with PS"
	}
	if job.Spec.Elastic != nil {
		kind += ", elastic"
	}
	return kind
}

// kindOfAgents returns what the agents of torchrun add to the kind of a drill.
func kindOfAgents(job *v1alpha1.TrainingJob, agents world.Agents) string {
	if job.Spec.Framework != v1alpha1.PyTorch {
		return ""
	}
	return map[world.Agents]string{world.AgentsWithoutFiles: ", torchrun", world.AgentsWithFiles: ", torchrun with error files"}[agents]
}

// play plays the drill to its end, or to the first violation, which it returns.
func (d *drill) play(r *run) (wrong string) {
	defer func() {
		if p := recover(); p != nil {
			if _, stopped := p.(stop); !stopped {
				panic(p)
			}
			wrong = r.check.Wrong
		}
	}()
	if isImpatient := d.rng.IntN(8) == 0; isImpatient && isCollective(r.Job()) && r.Job().Spec.ReplicaSpecs[v1alpha1.Worker].RestartPolicy != v1alpha1.RestartExitCode {
		d.impatience(r)
	}
	for range d.rounds {
		d.trains(r)
		d.restarts = r.Job().Status.Restarts
		r.wait(time.Duration(10+d.rng.IntN(60)) * time.Second)
		d.isCalm(r, "nothing has happened")
		if s := d.scene(r); s != nil {
			d.story(r, "%s", s.name)
			s.play(d, r)
			continue
		}
		d.strike(r)
	}
	d.finish(r)
	return r.check.Wrong
}

// scene draws what is not a fault; nil for none.
func (d *drill) scene(r *run) *scene {
	if d.rng.IntN(3) > 0 {
		return nil
	}
	var fitting []*scene
	for i := range scenes {
		if scenes[i].fits == nil || scenes[i].fits(r.Job()) {
			fitting = append(fitting, &scenes[i])
		}
	}
	return fitting[d.rng.IntN(len(fitting))]
}

// write counts how often the operator deletes a pod.
func (d *drill) write(_ *run, _ int, q *server.Request) operator.Outcome {
	if q.Verb == server.Delete && q.Kind == server.Pods {
		d.deletes[q.Key.Name]++
	}
	return operator.Done
}

// forget drops what is known of a job: another one begins.
func (d *drill) forget() { d.against, d.broken, d.restarts = map[string]int{}, map[string]bool{}, 0 }

func (d *drill) story(r *run, format string, args ...any) {
	if r.Say != nil {
		r.Say("drill: "+format, args...)
	}
}

// fail ends the drill with a violation.
func (d *drill) fail(r *run, format string, args ...any) {
	r.check.Violate(format, args...)
	panic(stop{})
}

// until lets time pass until it is so, and reports whether that came in time.
func (d *drill) until(r *run, within time.Duration, isSo func(*v1alpha1.TrainingJobStatus) bool) bool {
	for end := r.Clock.Now().Add(within); r.Clock.Now().Before(end); r.step() {
		if r.isWrong() {
			panic(stop{})
		}
		if isSo(&r.Job().Status) {
			return true
		}
	}
	return false
}

// trains waits until the job runs in full.
func (d *drill) trains(r *run) {
	total := int32(0)
	for role := range r.Job().Spec.ReplicaSpecs {
		total += r.Job().Spec.Replicas(role)
	}
	isThere := d.until(r, 10*time.Minute, func(s *v1alpha1.TrainingJobStatus) bool {
		return s.Phase == v1alpha1.PhaseRunning && s.Ready == fmt.Sprintf("%d/%d", total, total) || s.Phase == v1alpha1.PhaseFailed
	})
	switch s := &r.Job().Status; {
	case s.Phase == v1alpha1.PhaseFailed:
		d.fail(r, "12 verdicts are earned: %s: the job has failed, and no fault was permanent: %s", d.kind, s.Reason)
	case !isThere:
		d.fail(r, "liveness: %s: the job does not run in full: %s %s", d.kind, s.Phase, s.Message)
	case !d.until(r, calmSlack, func(*v1alpha1.TrainingJobStatus) bool { return !slices.ContainsFunc(r.Pods(), runsBehindOpenGate) }):
		d.fail(r, "19 in place: %s: the job runs in full, and a gate is open", d.kind)
	}
}

// runsBehindOpenGate reports whether the pod would not be kept if its process ended now, although it has a gate.
func runsBehindOpenGate(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil && world.HasGate(pod) && pod.Annotations[v1alpha1.AnnotationStartGate] == v1alpha1.GateOpen
}

// strike deals one blow to one replica, waits until it is over, and compares the status with the truth.
func (d *drill) strike(r *run) {
	pod, b := d.draw(r)
	if pod == nil {
		return
	}
	d.last = pod.Spec.NodeName
	before := r.Job().Status.DeepCopy()
	d.story(r, "%s: %s on %s", b.name, pod.Name, pod.Spec.NodeName)
	shown := r.ShownStep()
	b.deal(d, r, pod)
	fault := r.FaultOf(pod)
	atOnce := ""
	restarted := d.until(r, restartsWithin, func(s *v1alpha1.TrainingJobStatus) bool {
		if s.Restarts > before.Restarts && atOnce == "" {
			atOnce = s.Incidents[0].Pod
		}
		return atOnce != "" || b.is == nothingAtAll && s.Phase == v1alpha1.PhaseFailed
	})
	switch {
	case b.is == nothingAtAll:
		if s := &r.Job().Status; s.Phase != v1alpha1.PhaseRunning || s.ChargedRestarts > before.ChargedRestarts {
			d.fail(r, "12 verdicts are earned: %s: the end of a role that the job does not need costs it: %s", d.kind, s.Reason)
		}
		d.repair(r, false)
		return
	case !restarted:
		d.fail(r, "8 exactly once: %s: %s of %s is followed by no restart", d.kind, b.name, pod.Name)
	}
	d.trains(r)
	r.wait(lateEvidence)
	d.trains(r)
	if fault == nil { // it began when the pod's grace was over
		fault = r.FaultOf(pod)
	}
	d.compare(r, before, b, pod)
	if p := r.Job().Status.Progress; p != nil && p.Step < shown {
		d.fail(r, "25 time is the observer's: %s: before %s a page has shown step %d, and the status has %d", d.kind, b.name, shown, p.Step)
	}
	d.score(r, before, b, fault, atOnce)
	d.blame(r, before, b, pod)
	for _, node := range r.Nodes() {
		r.ReviveNode(node)
		r.Cordon(node, false)
	}
}

// draw draws a fault and the pod that it hits, often one on the node of the last fault.
func (d *drill) draw(r *run) (*corev1.Pod, *blow) {
	job := r.Job()
	pods := slices.DeleteFunc(r.Pods(), func(pod *corev1.Pod) bool {
		return pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil
	})
	if again := slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return pod.Spec.NodeName != d.last }); len(again) > 0 && d.rng.IntN(2) == 0 {
		pods = again
	}
	pod := pods[d.rng.IntN(len(pods))]
	var fitting []*blow
	for i := range blows {
		if blows[i].fits(job, pod) {
			fitting = append(fitting, &blows[i])
		}
	}
	if len(fitting) == 0 {
		return nil, nil
	}
	return pod, fitting[d.rng.IntN(len(fitting))]
}

// compare asks for charges and restarts as the documents promise.
func (d *drill) compare(r *run, before *v1alpha1.TrainingJobStatus, b *blow, pod *corev1.Pod) {
	now := &r.Job().Status
	paid, attempts := now.ChargedRestarts-before.ChargedRestarts, now.Attempt-before.Attempt
	switch {
	case b.is == charged && paid != 1:
		d.fail(r, "22 blame is true: one fault, one charge: %s: %s of %s is charged %d times", d.kind, b.name, pod.Name, paid)
	case b.is == free && paid > 0 && b.name != "reboot": // of a reboot a collective may know only that a rank ended first
		d.fail(r, "22 blame is true: one fault, one charge: %s: %s of %s is charged %d times, and is free", d.kind, b.name, pod.Name, paid)
	case attempts > 1:
		d.fail(r, "22 blame is true: one fault, one restart: %s: %s of %s restarts the whole job %d times", d.kind, b.name, pod.Name, attempts)
	}
}

// score notes whether the incident names a replica with which the fault began.
func (d *drill) score(r *run, before *v1alpha1.TrainingJobStatus, b *blow, fault *world.Fault, atOnce string) {
	if fault == nil {
		return
	}
	s, now := score{faults: 1}, &r.Job().Status
	if fault.Began(atOnce) {
		s.atOnce = 1
	}
	if slices.ContainsFunc(freshOf(before, now), func(i v1alpha1.Incident) bool { return fault.Began(i.Pod) }) {
		s.late = 1
	}
	key := [2]string{d.kind, b.name}
	d.named[key] = d.named[key].plus(s)
}

// freshOf returns the incidents that the status has gained. A pod that restarts in place may have earlier ones.
func freshOf(before, now *v1alpha1.TrainingJobStatus) []v1alpha1.Incident {
	return now.Incidents[:min(int(now.Restarts-before.Restarts), len(now.Incidents))]
}

// blame asks that the job avoids nodes that have broken, and those on which the program has failed twice.
func (d *drill) blame(r *run, before *v1alpha1.TrainingJobStatus, b *blow, pod *corev1.Pod) {
	node, now := pod.Spec.NodeName, &r.Job().Status
	isNamed := slices.ContainsFunc(freshOf(before, now), func(i v1alpha1.Incident) bool { return i.Pod == pod.Name && i.Node == node })
	if b.breaksNode {
		d.broken[node] = true
	} else if b.countsFor && isNamed {
		d.against[node]++
	}
	avoids := slices.ContainsFunc(now.AvoidedNodes, func(n v1alpha1.AvoidedNode) bool { return n.Name == node })
	if why := "broke"; (d.broken[node] || d.against[node] > 1) && !avoids {
		if !d.broken[node] {
			why = "was to blame twice"
		}
		d.fail(r, "22 blame is true: %s: after %s of %s the job does not avoid %s, which %s", d.kind, b.name, pod.Name, node, why)
	}
}

// finish lets the job succeed: its programs end with 0, and side-cars as they will.
func (d *drill) finish(r *run) {
	d.trains(r)
	before := r.Job().Status.DeepCopy()
	isRemoved := d.rng.IntN(4) == 0
	if crashes := d.rng.IntN(3) == 0; crashes && isCollective(r.Job()) && r.Job().Spec.SuccessPolicy == v1alpha1.SuccessLeader && r.Habits.Late == 0 {
		d.crashAtTeardown(r)
	}
	for _, pod := range r.Pods() {
		if isNeeded(r.Job(), pod) && !serves(r.Job(), pod) && pod.Status.Phase == corev1.PodRunning {
			r.Exit(pod, 0, "")
		}
	}
	if isRemoved {
		d.removeDone(r)
	}
	if !d.until(r, 3*time.Minute, inPhase(v1alpha1.PhaseSucceeded)) {
		s := &r.Job().Status
		d.fail(r, "13 success is not lost: %s: all programs have ended with 0, and the job is %s with %d more restarts", d.kind, s.Phase, s.Restarts-before.Restarts)
	}
	d.endsWithJob(r)
}

// removeDone has a cleaner of completed pods delete some as soon as their kubelets have reported them.
func (d *drill) removeDone(r *run) {
	left := 3
	for range 30 {
		r.Tick(moment) // the operator is busy for a moment
		for _, pod := range r.Pods() {
			if left > 0 && pod.Status.Phase == corev1.PodSucceeded && pod.DeletionTimestamp == nil {
				r.DeletePod(world.User, pod)
				left--
			}
		}
		if d.rng.IntN(3) == 0 {
			r.operate()
		}
	}
}

package sim_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/operator"
	"github.com/trainingjob/operator/test/sim/world"
)

// scene is what users and clusters do to a job between its faults, with what the documents promise then.
type scene struct {
	name string
	// fits reports whether the job can be in it; nil for every one.
	fits func(job *v1alpha1.TrainingJob) bool
	play func(d *drill, r *run)
}

var scenes = []scene{
	{"repair", nil, func(d *drill, r *run) { d.repair(r, false) }},
	{"start over", hasPage, (*drill).startOver},
	{"a rank that cannot start", isSmall, (*drill).cannotStart},
	{"a check without end", hasStartDeadline, (*drill).checksOn},
	{"a pod that is withheld", startsAtOnce, (*drill).withhold},
	{"a finalizer", nil, (*drill).hold},
	{"the same name again", nil, (*drill).createAgain},
	{"rank 0 is done", endsApart, (*drill).suspendWhenDone},
	{"a request in the back-off", backsOff, (*drill).askInBackOff},
	{"an impatient user", nil, (*drill).askAgainAndAgain},
	{"the kubelet starts a process again", restartsItself, (*drill).restartItself},
	{"a page is dropped", hasPage, (*drill).dropPage},
	{"clocks jump", nil, (*drill).jump},
	{"a policy deletes pods", isFixed, (*drill).police},
	{"windows end", hasWindow, (*drill).outlastWindow},
	{"a pod that never ends", nil, (*drill).neverEnds},
	{"a request for what was given up", hasApart, (*drill).askForGivenUp},
	{"a request while a rank still starts", meetsAlone, (*drill).askWhileHeld},
	{"a full quota", nil, (*drill).fillQuota},
	{"rank 0 begins slowly", leadsApart, (*drill).beginSlowly},
	{"a rack is lost", losesAsOne, (*drill).loseRack},
	{"a node is lost, and no restart is left", losesAsOne, (*drill).loseWithoutBudget},
	{"no memory, seconds after others", hasParameterServer, (*drill).lackMemoryAfterOthers},
}

const (
	// promptly is how long the operator, kubelets and schedulers take for what nothing is in the way of.
	promptly = 40 * time.Second
	// tellsWithin is how long after something is withheld the status names it.
	tellsWithin = 50 * time.Second
	// refusedAtMost is how often something is tried that is refused for tellsWithin, and deletesAtMost how often a pod is deleted that stays.
	refusedAtMost, deletesAtMost = 40, 20
	// skewed is by how much clocks differ that jump.
	skewed = 10 * time.Minute
)

func hasPage(job *v1alpha1.TrainingJob) bool { return job.Spec.Progress != nil }

func hasStartDeadline(job *v1alpha1.TrainingJob) bool {
	return job.Spec.RunPolicy.StartupDeadlineSeconds != nil && isCollective(job) && !backsOff(job)
}

// isSmall reports whether the status has room for an incident of each replica. All nodes reject them in one pass.
func isSmall(job *v1alpha1.TrainingJob) bool {
	return hasStartDeadline(job) && job.Spec.Replicas(v1alpha1.Worker) <= 8
}

// isCollective reports whether a lost rank restarts the whole job.
func isCollective(job *v1alpha1.TrainingJob) bool {
	return slices.Contains([]v1alpha1.Framework{v1alpha1.PyTorch, v1alpha1.JAX}, job.Spec.Framework) && job.Spec.Elastic == nil
}

// isFixed reports whether the job needs as many workers as it has.
func isFixed(job *v1alpha1.TrainingJob) bool { return job.Spec.Elastic == nil }

// endsApart reports whether rank 0 can end before the others.
func endsApart(job *v1alpha1.TrainingJob) bool {
	return job.Spec.SuccessPolicy == v1alpha1.SuccessAllWorkers && hasPage(job) && job.Spec.Progress.CheckpointGraceSeconds > 30
}

func backsOff(job *v1alpha1.TrainingJob) bool {
	return *job.Spec.Recovery.BackoffSeconds >= 20 && isFixed(job)
}

// startsAtOnce reports whether a job that needs all its workers has a short back-off.
func startsAtOnce(job *v1alpha1.TrainingJob) bool { return !backsOff(job) && isFixed(job) }

func restartsItself(job *v1alpha1.TrainingJob) bool {
	return len(job.Spec.ReplicaSpecs[v1alpha1.Worker].Template.Spec.Containers[0].RestartPolicyRules) > 0
}

func hasWindow(job *v1alpha1.TrainingJob) bool { return *job.Spec.Recovery.WindowSeconds < 600 }

// repair suspends the job, changes its template, and resumes it: to repair a template there is no other way.
func (d *drill) repair(r *run, anew bool) {
	kept := d.kept(r)
	r.Suspend(true)
	if !d.until(r, 2*time.Minute, inPhase(v1alpha1.PhaseSuspended)) {
		d.fail(r, "liveness: %s: the job is not suspended: %s", d.kind, r.Job().Status.Message)
	}
	if kept != "" && !slices.ContainsFunc(r.Pods(), func(pod *corev1.Pod) bool { return pod.Name == kept }) {
		d.fail(r, "28 repairs: %s: a suspension deletes %s, whose log says why the job failed", d.kind, kept)
	}
	r.EditSpec(func(spec *v1alpha1.TrainingJobSpec) {
		for role, replicas := range spec.ReplicaSpecs {
			replicas.Template.Annotations = map[string]string{"example.com/repaired": r.Clock.Elapsed().String()}
			spec.ReplicaSpecs[role] = replicas
		}
	})
	if anew {
		r.StartOver()
	}
	r.Suspend(false)
	d.trains(r)
}

func inPhase(phase v1alpha1.Phase) func(*v1alpha1.TrainingJobStatus) bool {
	return func(s *v1alpha1.TrainingJobStatus) bool { return s.Phase == phase }
}

// kept returns the name of the pod behind the last failure, if its log is still there.
func (d *drill) kept(r *run) string {
	last := r.Job().Status.LastFailure
	for _, pod := range r.Pods() {
		if last != nil && pod.Name == last.Pod && world.IsOver(pod) && pod.DeletionTimestamp == nil {
			return pod.Name
		}
	}
	return ""
}

// startOver has the user throw the checkpoints away while the job is suspended. Steps count from 0, and each restart is followed by new ones.
func (d *drill) startOver(r *run) {
	r.wait(100 * time.Second)
	d.repair(r, true)
	for range 4 {
		r.wait(r.Habits.WarmUp + 12*time.Second) // a process that has not reported yet has shown no progress
		pod := d.anyPod(r, restarts(1))
		if pod == nil {
			return
		}
		before := r.Job().Status.Restarts
		r.Exit(pod, 1, "ValueError: batch 17 is empty")
		d.until(r, restartsWithin, func(s *v1alpha1.TrainingJobStatus) bool {
			return s.Restarts > before || s.Phase == v1alpha1.PhaseFailed
		})
		d.trains(r)
	}
}

// anyPod returns a pod that runs; nil if none fits.
func (d *drill) anyPod(r *run, fits func(*v1alpha1.TrainingJob, *corev1.Pod) bool) *corev1.Pod {
	pods := slices.DeleteFunc(r.Pods(), func(pod *corev1.Pod) bool {
		return pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil || !fits(r.Job(), pod)
	})
	if len(pods) == 0 {
		return nil
	}
	return pods[d.rng.IntN(len(pods))]
}

// cannotStart has every node turn the job's pods away, so that the next attempt does not run in full.
func (d *drill) cannotStart(r *run) {
	for _, node := range r.Nodes() {
		r.Rejecting[node] = "UnexpectedAdmissionError"
	}
	d.missesStart(r)
	clear(r.Rejecting)
	d.trains(r)
}

// checksOn has a rank wait for its image, while the node of an evaluator, if there is one, is still being checked.
func (d *drill) checksOn(r *run) {
	r.NoImage[d.anyPod(r, isNeeded).Spec.Hostname] = true
	r.Unchecked = true
	d.missesStart(r)
	r.Unchecked = false
	clear(r.NoImage)
	d.trains(r)
}

// missesStart restarts the whole job, which cannot start, and waits for its deadline.
func (d *drill) missesStart(r *run) {
	r.Exit(d.anyPod(r, func(job *v1alpha1.TrainingJob, pod *corev1.Pod) bool {
		return isNeeded(job, pod) && roleOf(pod) == "worker"
	}), 137, "")
	deadline := time.Duration(*r.Job().Spec.RunPolicy.StartupDeadlineSeconds) * time.Second
	attempt := r.Job().Status.Attempt
	d.until(r, restartsWithin, func(s *v1alpha1.TrainingJobStatus) bool { return s.Attempt > attempt })
	if !d.until(r, deadline+promptly, func(s *v1alpha1.TrainingJobStatus) bool {
		return s.Attempt > attempt+1 || s.Phase == v1alpha1.PhaseRunning // ranks that restart in place need no image
	}) {
		d.fail(r, "27 deadlines come: %s: the job does not run in full within startupDeadlineSeconds, and no restart follows: %s", d.kind, r.Job().Status.Message)
	}
}

// obstacle is what keeps a pod from running, with a word by which a status names it.
type obstacle struct {
	word string
	put  func(r *run, pod *corev1.Pod)
}

// denied is what the API server answers with.
const denied = "no more pods today"

// obstacles are what keeps a pod from running; code is what the API server answers where it refuses, tries how often it does.
func obstacles(code int32, tries *int) []obstacle {
	return []obstacle{
		{"ImagePullBackOff", func(r *run, pod *corev1.Pod) { r.NoImage[pod.Spec.Hostname] = true }},
		{"Insufficient nvidia.com/gpu", func(r *run, pod *corev1.Pod) { r.Homeless[pod.Spec.Hostname] = true }},
		{"scheduling gates", func(r *run, pod *corev1.Pod) {
			r.Server.Admit = onCreate(pod, gate)
		}},
		{denied, func(r *run, pod *corev1.Pod) {
			r.Server.Admit = onCreate(pod, func(*server.Request) error {
				*tries++
				return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reasonsByCode[code],
					Message: `admission webhook "pods.example.com" denied the request: ` + denied}}
			})
		}},
	}
}

// gate keeps the scheduler from the pod that is to be created.
func gate(q *server.Request) error {
	world.Gate(q)
	return nil
}

// onCreate answers the operator's creates of further pods of the pod's replica.
func onCreate(pod *corev1.Pod, answer func(*server.Request) error) func(*server.Request) error {
	return func(q *server.Request) error {
		if q.User != operator.User || q.Verb != server.Create || q.Kind != server.Pods || q.Object.(*corev1.Pod).Spec.Hostname != pod.Spec.Hostname {
			return nil
		}
		return answer(q)
	}
}

// reasonsByCode are the reasons that go with codes. A webhook answers with any of them.
var reasonsByCode = map[int32]metav1.StatusReason{
	400: metav1.StatusReasonBadRequest, 403: metav1.StatusReasonForbidden, 404: metav1.StatusReasonNotFound, 409: metav1.StatusReasonConflict,
	422: metav1.StatusReasonInvalid, 429: metav1.StatusReasonTooManyRequests, 500: metav1.StatusReasonInternalError, 503: metav1.StatusReasonServiceUnavailable,
}

// withhold keeps the successor of a pod from running. The status says what keeps it.
func (d *drill) withhold(r *run) {
	pod, tries := d.anyPod(r, isNeeded), 0
	code := []int32{400, 403, 404, 409, 422, 429, 500, 503}[d.rng.IntN(8)]
	all := obstacles(code, &tries)
	o := all[d.rng.IntN(len(all))]
	if o.word == denied {
		d.story(r, "the API server answers with %d", code)
	}
	o.put(r, pod)
	r.DeletePod(world.User, pod)
	if !d.until(r, tellsWithin, tells(o.word)) {
		d.fail(r, "24 what waits says for what: %s: the status does not say %q: %s", d.kind, o.word, r.Job().Status.Message)
	}
	if tries > refusedAtMost {
		d.fail(r, "19 frugal: %s: within a minute a pod is created %d times that is refused with %d", d.kind, tries, code)
	}
	clear(r.NoImage)
	clear(r.Homeless)
	r.Server.Admit = nil
	r.OpenGates()
	d.trains(r)
}

// tells reports whether the message of the status or of a condition has the word.
func tells(word string) func(*v1alpha1.TrainingJobStatus) bool {
	return func(s *v1alpha1.TrainingJobStatus) bool {
		return strings.Contains(s.Message, word) || slices.ContainsFunc(s.Conditions, func(c metav1.Condition) bool {
			return strings.Contains(c.Message, word) || strings.Contains(c.Reason, word)
		})
	}
}

// hold has somebody's finalizer keep a pod that has ended. The job goes on without it, and is not to delete it again and again.
func (d *drill) hold(r *run) {
	pod := d.anyPod(r, isNeeded)
	r.Keep(pod)
	r.DeletePod(world.User, r.pod(slotOf(pod)))
	r.wait(3 * time.Second)
	d.trains(r)
	r.wait(3 * time.Minute)
	if n := d.deletes[pod.Name]; n > deletesAtMost {
		d.fail(r, "19 frugal: %s: %s, which a finalizer keeps, is deleted %d times", d.kind, pod.Name, n)
	}
	r.LetGo()
	d.trains(r)
}

func slotOf(pod *corev1.Pod) string { return roleOf(pod) + "-" + pod.Labels[v1alpha1.LabelIndex] }

func slotName(role v1alpha1.Role, index int) string {
	return fmt.Sprintf("%s-%d", strings.ToLower(string(role)), index)
}

// createAgain deletes the job while a finalizer keeps one of its pods, and creates it anew.
func (d *drill) createAgain(r *run) {
	pod := d.anyPod(r, isNeeded)
	r.Keep(pod)
	again := newJob()
	again.Spec = *r.Job().Spec.DeepCopy()
	r.DeleteJob(metav1.DeletePropagationBackground)
	for end := r.Clock.Now().Add(2 * time.Minute); r.Job() != nil && r.Clock.Now().Before(end); {
		r.step()
	}
	if r.Job() != nil {
		r.LetGo()
		return // the quota's finalizer waits for the pod
	}
	d.forget()
	r.Submit(again)
	if !d.until(r, tellsWithin, func(s *v1alpha1.TrainingJobStatus) bool {
		return s.Phase == v1alpha1.PhaseRunning || tells(world.Keeper)(s)
	}) {
		d.fail(r, "24 what waits says for what: %s: the status does not name the finalizer of a former job's pod: %s", d.kind, r.Job().Status.Message)
	}
	r.LetGo()
	d.trains(r)
}

// suspendWhenDone suspends the job when rank 0 has ended: nobody can answer a request for a checkpoint.
func (d *drill) suspendWhenDone(r *run) {
	for _, pod := range r.Pods() {
		if slotOf(pod) == "worker-0" {
			r.Exit(pod, 0, "")
		}
	}
	r.wait(10 * time.Second)
	if r.Job().Status.Phase != v1alpha1.PhaseRunning {
		return
	}
	r.Suspend(true)
	if !d.until(r, 30*time.Second, inPhase(v1alpha1.PhaseSuspended)) {
		d.fail(r, "liveness: %s: the job waits for a checkpoint that nobody can save: %s", d.kind, r.Job().Status.Message)
	}
	panic(stop{})
}

// askInBackOff asks for a restart of a replica that waits in its back-off. The request ends the wait.
func (d *drill) askInBackOff(r *run) {
	pod := d.anyPod(r, func(job *v1alpha1.TrainingJob, pod *corev1.Pod) bool {
		return restarts(1)(job, pod) && roleOf(pod) == "worker"
	})
	if pod == nil {
		return
	}
	slot := slotOf(pod)
	for range 2 {
		d.trains(r)
		before := r.Job().Status.Restarts
		r.Exit(r.pod(slot), 1, "ValueError: batch 17 is empty")
		d.until(r, restartsWithin, func(s *v1alpha1.TrainingJobStatus) bool { return s.Restarts > before })
	}
	r.AskForRestartOf(slot)
	if !d.until(r, 14*time.Second, func(*v1alpha1.TrainingJobStatus) bool {
		next := r.pod(slot)
		return next != nil && next.DeletionTimestamp == nil && !world.IsOver(next)
	}) {
		d.fail(r, "29 requests: %s: a requested restart of %s waits for the end of its back-off: %s", d.kind, slot, r.Job().Status.Message)
	}
	uid := r.pod(slot).UID
	d.trains(r)
	r.wait(promptly)
	if is := r.pod(slot); is == nil || is.UID != uid {
		d.fail(r, "29 requests: %s: a request in the back-off of %s restarts it again", d.kind, slot)
	}
}

// askAgainAndAgain asks for a restart every three seconds. The job begins anew now and then nevertheless.
func (d *drill) askAgainAndAgain(r *run) {
	half, begins, seen := r.Clock.Now().Add(40*time.Second), false, map[string]bool{}
	for range 30 {
		r.AskForRestart()
		for range 6 {
			r.step()
			for _, pod := range r.Pods() {
				process := string(pod.UID) // a new pod, or a new process in its pod
				if all := pod.Status.ContainerStatuses; len(all) > 0 {
					process += all[0].ContainerID
				}
				begins = begins || r.Clock.Now().After(half) && pod.DeletionTimestamp == nil && !seen[process]
				seen[process] = true
			}
		}
	}
	if !begins && *r.Job().Spec.Recovery.MaxBackoffSeconds < 20 {
		d.fail(r, "29 requests: %s: requests put the start off without end", d.kind)
	}
	r.wait(promptly)
	d.trains(r)
}

// restartItself has the template's own rule start rank 0's process again, twice. The kubelet waits before the second time.
func (d *drill) restartItself(r *run) {
	for range 2 {
		r.Exit(r.pod("worker-0"), 42, "")
		r.wait(18 * time.Second)
	}
	r.wait(promptly)
	d.isCalm(r, "the kubelet has started rank 0's process again in its pod")
}

// dropPage has the process of rank 0 answer no read for a moment; after it the network drops all reads.
func (d *drill) dropPage(r *run) {
	r.Stopped = true
	r.wait(4 * time.Second)
	r.Stopped, r.Unreachable = false, true
	r.wait(100 * time.Second)
	d.isCalm(r, "the operator cannot read the page")
	r.Unreachable = false
	r.wait(10 * time.Second)
}

// jump sets the clocks of nodes, or of the operator: that is as if all others jumped.
func (d *drill) jump(r *run) {
	by := time.Duration(d.rng.Int64N(2*int64(skewed))) - skewed
	all := d.rng.IntN(2) == 0
	for _, node := range r.Nodes() {
		if all || d.rng.IntN(3) == 0 {
			r.Skew[node] += by
		}
	}
	if !strings.Contains(d.kind, "clocks") {
		d.kind += ", clocks have jumped"
	}
	r.wait(100 * time.Second)
	d.isCalm(r, "clocks have jumped")
}

// police has something delete a replica's pods as soon as they are there.
func (d *drill) police(r *run) {
	slot, seen := slotOf(d.anyPod(r, isNeeded)), map[string]bool{}
	for end := r.Clock.Now().Add(40 * time.Second); r.Clock.Now().Before(end); r.step() {
		if pod := r.pod(slot); pod != nil && pod.DeletionTimestamp == nil && !seen[pod.Name] && !world.IsOver(pod) {
			seen[pod.Name] = true
			r.Remove(world.User, pod)
		}
	}
	if len(seen) > 15 {
		d.fail(r, "19 frugal: %s: within 40 s a pod is created %d times that is deleted each time", d.kind, len(seen))
	}
	d.trains(r)
}

// outlastWindow waits until no charge is within its window.
func (d *drill) outlastWindow(r *run) {
	window := time.Duration(*r.Job().Spec.Recovery.WindowSeconds) * time.Second
	r.wait(window + time.Minute)
	for _, b := range r.Job().Status.Budgets {
		if b.Used > 0 {
			d.fail(r, "25 time is the observer's: %s: %s shows %d charges, and the last one is past its window", d.kind, b.Name, b.Used)
		}
	}
}

// isCalm fails if the job has restarted although nothing has gone wrong since it last trained in full.
func (d *drill) isCalm(r *run, what string) {
	if s := &r.Job().Status; s.Restarts != d.restarts {
		last := ""
		if s.LastFailure != nil {
			last = fmt.Sprintf("%s %s: %s", s.LastFailure.Pod, s.LastFailure.Cause, s.LastFailure.Message)
		}
		d.fail(r, "22 blame is true: %s: %s, and the job restarts %d times: %s", d.kind, what, s.Restarts-d.restarts, last)
	}
}

// impatience has a rank find no node at first, and those that wait for it give up.
func (d *drill) impatience(r *run) {
	var host string
	if d.until(r, promptly, func(*v1alpha1.TrainingJobStatus) bool { return len(r.Pods()) > 1 }) {
		host = r.Pods()[len(r.Pods())-1].Spec.Hostname
	}
	r.Homeless[host] = true
	for range 4 {
		r.wait(15 * time.Second)
		for _, pod := range r.Pods() {
			if pod.Spec.Hostname != host && pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
				r.Exit(pod, 1, "torch.distributed.DistStoreError: Timed out after 16 seconds waiting for clients. 1/2 clients joined.")
			}
		}
	}
	r.wait(r.Habits.Late) // nothing shows that a rank gave up before, if its kubelet reports that after the node has come
	clear(r.Homeless)
	if r.Job().Status.ChargedRestarts > 0 {
		d.fail(r, "22 blame is true: %s: ranks wait for one that finds no node, and are charged %d times", d.kind, r.Job().Status.ChargedRestarts)
	}
}

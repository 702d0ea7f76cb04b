package sim_test

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Hangs and what is none, and what several replicas do at once.

// hangSlack is how much later than stallAfterSeconds a hang restarts the job: a read of the page, and one of the stacks.
const hangSlack = 10 * time.Second

func stallAfter(job *v1alpha1.TrainingJob) time.Duration {
	return time.Duration(job.Spec.Progress.StallAfterSeconds) * time.Second
}

// hang has a rank hang, and sometimes the operator start anew shortly before it restarts the job. A report that the status has is not new then.
func (d *drill) hang(r *run, pod *corev1.Pod) {
	r.wait(r.Habits.WarmUp) // a process that has not reported yet is not known to hang
	limit, restarts := stallAfter(r.Job()), r.Job().Status.Restarts
	due := r.Clock.Now().Add(limit + hangSlack)
	r.Hang(pod, d.rng.IntN(4) > 0)
	if d.rng.IntN(2) == 0 {
		r.wait(5 * time.Second)
		r.AskForRestartOf("worker-99") // there is none: the status notes that, and with it the last report
		r.wait(limit - 9*time.Second)
		if p := r.Job().Status.Progress; p == nil || p.Step != r.ShownStep() {
			due = due.Add(limit)
		}
		r.start(r.leader())
	}
	if !d.until(r, due.Sub(r.Clock.Now()), func(s *v1alpha1.TrainingJobStatus) bool { return s.Restarts > restarts }) {
		d.fail(r, "27 deadlines come: %s: %s hangs, and no restart follows within %v: %s", d.kind, pod.Name, limit, r.Job().Status.Message)
	}
}

// rankZero is the slot whose page the operator reads.
func rankZero(job *v1alpha1.TrainingJob) string {
	for _, role := range []v1alpha1.Role{v1alpha1.Chief, v1alpha1.Master, v1alpha1.Launcher} {
		if job.Spec.Replicas(role) > 0 {
			return slotName(role, 0)
		}
	}
	return slotName(v1alpha1.Worker, 0)
}

// leadsApart reports whether rank 0 restarts without the others, and a hang restarts the job.
func leadsApart(job *v1alpha1.TrainingJob) bool {
	isApart := job.Spec.Framework == v1alpha1.Custom || job.Spec.Replicas(v1alpha1.PS) > 0
	return hasPage(job) && job.Spec.Progress.Action == v1alpha1.StallRestart && isApart && !backsOff(job)
}

// beginSlowly has a new process of rank 0 come late, and answer no read for almost as long as the job may go without a report. That time begins
// with the process.
func (d *drill) beginSlowly(r *run) {
	slot := rankZero(r.Job())
	pod, attempt := r.pod(slot), r.Job().Status.Attempt
	r.NoImage[pod.Spec.Hostname] = true
	r.Exit(pod, 137, "")
	r.wait(25 * time.Second)
	clear(r.NoImage)
	runsAgain := func(*v1alpha1.TrainingJobStatus) bool {
		next := r.pod(slot)
		return next != nil && next.UID != pod.UID && next.Status.Phase == corev1.PodRunning
	}
	if !d.until(r, promptly, runsAgain) || r.Job().Status.Attempt > attempt {
		return // the whole job restarts
	}
	d.restarts = r.Job().Status.Restarts
	r.Stopped = true
	r.wait(stallAfter(r.Job()) - 5*time.Second)
	r.Stopped = false
	r.wait(promptly)
	d.isCalm(r, "a new process of rank 0 begins slowly")
}

// losesAsOne reports whether the status has room for the incidents of a rack.
func losesAsOne(job *v1alpha1.TrainingJob) bool {
	return isFixed(job) && (isCollective(job) || job.Spec.Replicas(v1alpha1.Worker) <= 8)
}

// loseRack cuts off several nodes in one moment. The job avoids each that had a pod of it.
func (d *drill) loseRack(r *run) {
	var rack []string
	for _, pod := range r.Pods() {
		if node := pod.Spec.NodeName; pod.Status.Phase == corev1.PodRunning && len(rack) < 3 && isNeeded(r.Job(), pod) && !slices.Contains(rack, node) {
			rack = append(rack, node)
		}
	}
	noticed, restarts := time.Duration(d.rng.IntN(50))*time.Second, r.Job().Status.Restarts
	for _, node := range rack {
		d.broken[node] = true
		r.SilenceNode(node, noticed)
	}
	how := ""
	d.until(r, restartsWithin, func(s *v1alpha1.TrainingJobStatus) bool {
		if s.Restarts > restarts && s.Incidents[0].Cause == v1alpha1.CauseRetryable {
			how = ", once peers that ended have restarted it"
		}
		return s.Restarts > restarts
	})
	d.trains(r)
	r.wait(lateEvidence)
	d.trains(r)
	for _, node := range rack {
		if !slices.ContainsFunc(r.Job().Status.AvoidedNodes, func(n v1alpha1.AvoidedNode) bool { return n.Name == node }) {
			d.fail(r, "22 blame is true: %s: %v are lost at once%s, and the job does not avoid %s", d.kind, rack, how, node)
		}
	}
	for _, node := range rack {
		r.ReviveNode(node)
	}
}

// loseWithoutBudget cuts off a node when the job has used up its budget. What its peers do shows before the loss does, and does not fail the job.
func (d *drill) loseWithoutBudget(r *run) {
	most := r.Job().Spec.Recovery.MaxRestarts
	setMost := func(most *int32) {
		r.EditSpec(func(spec *v1alpha1.TrainingJobSpec) { spec.Recovery.MaxRestarts = most })
	}
	setMost(ptr.To(r.Job().Status.ChargedRestarts))
	pod := d.anyPod(r, isNeeded)
	d.broken[pod.Spec.NodeName] = true
	restarts := r.Job().Status.Restarts
	r.SilenceNode(pod.Spec.NodeName, time.Duration(d.rng.IntN(40))*time.Second)
	d.until(r, restartsWithin, func(s *v1alpha1.TrainingJobStatus) bool {
		return s.Restarts > restarts || s.Phase == v1alpha1.PhaseFailed
	})
	d.trains(r)
	r.wait(lateEvidence)
	d.trains(r)
	setMost(most)
	r.ReviveNode(pod.Spec.NodeName)
}

// hasParameterServer reports whether the job has workers that are replaced alone after an exception, and parameter servers without which none trains.
func hasParameterServer(job *v1alpha1.TrainingJob) bool {
	return job.Spec.Replicas(v1alpha1.PS) > 0 && job.Spec.ReplicaSpecs[v1alpha1.Worker].RestartPolicy != v1alpha1.RestartExitCode
}

// lackMemoryAfterOthers lets workers fail together, each of which is replaced alone. Seconds later a parameter server runs out of memory. The restart of the whole job
// is the parameter server's, whatever shows late of the workers.
func (d *drill) lackMemoryAfterOthers(r *run) {
	worker := d.anyPod(r, func(_ *v1alpha1.TrainingJob, pod *corev1.Pod) bool { return roleOf(pod) == "worker" })
	ps := d.anyPod(r, func(_ *v1alpha1.TrainingJob, pod *corev1.Pod) bool { return roleOf(pod) == "ps" })
	attempt := r.Job().Status.Attempt
	r.Share("a file server fails", d.others(r, worker))
	r.wait(time.Duration(d.rng.IntN(10)) * time.Second)
	if ps = r.pod(slotOf(ps)); ps == nil || r.Job().Status.Attempt > attempt { // the workers' end restarts the whole job
		d.trains(r)
		return
	}
	r.OutOfMemory(ps)
	d.until(r, restartsWithin, func(s *v1alpha1.TrainingJobStatus) bool { return s.Attempt > attempt })
	d.trains(r)
	r.wait(lateEvidence)
	d.trains(r)
	for _, i := range r.Job().Status.Incidents {
		if i.Scope == v1alpha1.ScopeJob && i.Attempt == attempt {
			if i.Pod != ps.Name || i.Cause != v1alpha1.CauseOOM {
				d.fail(r, "22 blame is true: %s: %s ran out of memory, and the restart names %s (%s)", d.kind, ps.Name, i.Pod, i.Cause)
			}
			return
		}
	}
	d.fail(r, "8 exactly once: %s: %s ran out of memory, and no restart of the whole job follows", d.kind, ps.Name)
}

// crashAtTeardown has a rank end with 0, another one crash as it ends, and rank 0 end with 0 a moment later: the job has succeeded.
func (d *drill) crashAtTeardown(r *run) {
	var others []*corev1.Pod
	for _, pod := range r.Pods() {
		isOld := pod.DeletionTimestamp != nil // its node was away
		if isNeeded(r.Job(), pod) && slotOf(pod) != rankZero(r.Job()) && pod.Status.Phase == corev1.PodRunning && !isOld {
			others = append(others, pod)
		}
	}
	if len(others) < 2 {
		return
	}
	first, restarts := r.pod(rankZero(r.Job())), r.Job().Status.Restarts
	r.Exit(others[0], 0, "")
	r.step()
	isLate := r.pod(slotOf(others[0])).Status.Phase == corev1.PodRunning // its kubelet reports the success too late
	r.Exit(others[1], 137, "")
	switch r.step(); {
	case r.EndedItself(first) || isLate && r.Job().Status.Restarts > restarts: // rank 0 has followed, and the job restarts
		d.until(r, restartsWithin, func(s *v1alpha1.TrainingJobStatus) bool { return s.Restarts > restarts })
		d.trains(r)
	case r.Job().Status.Restarts > restarts:
		d.fail(r, "13 success is not lost: %s: a rank crashes after another one has succeeded, and the job restarts before rank 0 can", d.kind)
	}
}

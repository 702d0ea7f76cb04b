package sim_test

import (
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
	"github.com/trainingjob/operator/test/sim/world"
)

// What drills draw from: jobs, and kinds of faults.

const (
	// badNode is the exit code by which the programs of drills report that their node is bad.
	badNode = 77
	// board is a role that a job does not need.
	board v1alpha1.Role = "board"
)

// drillJobs returns the kinds of jobs, with n workers.
func drillJobs(n int) [][]builder.JobOption {
	several := max(2, n)
	paddle, jax, xgboost := builder.Framework(v1alpha1.Paddle), builder.Framework(v1alpha1.JAX), builder.Framework(v1alpha1.XGBoost)
	return [][]builder.JobOption{
		{pytorch, builder.Workers(several)},
		{pytorch, builder.Leader(v1alpha1.Master), builder.Workers(n), inPlace},
		{pytorch, builder.Workers(several, builder.Policy(v1alpha1.RestartExitCode))},
		{pytorch, builder.Workers(several), builder.Elastic(1, several)},
		{pytorch, builder.Workers(several), builder.Elastic(1, several), metElsewhere},
		{jax, builder.Workers(several)},
		{xgboost, builder.Leader(v1alpha1.Master), builder.Workers(n)},
		{tensorflow, builder.PS(1), builder.Workers(n)},
		{tensorflow, builder.Leader(v1alpha1.Chief), builder.PS(2), builder.Workers(n), builder.Evaluators(1)},
		{tensorflow, builder.Workers(several)},
		{tensorflow, builder.PS(1), builder.Workers(n), builder.EveryRole(builder.Policy(v1alpha1.RestartExitCode))},
		{mpi, builder.Leader(v1alpha1.Launcher), builder.Workers(n), builder.EveryRole(builder.Policy(v1alpha1.RestartExitCode))},
		{paddle, builder.PS(1), builder.Workers(n)},
		{mpi, builder.Leader(v1alpha1.Launcher), builder.Workers(n)},
		{builder.Workers(n)},
		{builder.Workers(n), builder.PS(1)},
		{builder.Workers(n), builder.Replicas(board, 1)},
		{builder.Workers(several), builder.AllWorkers(), builder.Progress(40, v1alpha1.StallRestart), builder.Asking(60)},
		{builder.Workers(n), restartedInPlace(v1alpha1.Worker), builder.Progress(30, v1alpha1.StallRestart)},
		{pytorch, builder.Workers(several), builder.Evaluators(1), checked(v1alpha1.Evaluator), builder.StartupDeadline(60)},
		{builder.Leader(v1alpha1.Master), builder.Workers(n, builder.Scope(v1alpha1.ScopeJob))},
		{builder.Workers(several), accompanied(v1alpha1.Worker), builder.Rules(v1alpha1.RecoveryRule{ContainerName: "logger", Cause: v1alpha1.CauseRetryable})},
		{pytorch, builder.Workers(several), builder.Rules(v1alpha1.RecoveryRule{ExitCodes: []int32{badNode}, Cause: v1alpha1.CauseInfrastructure})},
		{builder.Workers(n), builder.Rules(v1alpha1.RecoveryRule{ExitCodes: []int32{badNode}, Cause: v1alpha1.CauseInfrastructure})},
		{pytorch, builder.Workers(several), builder.Rules(v1alpha1.RecoveryRule{ExitCodes: []int32{143}, Cause: v1alpha1.CauseFatal})},
	}
}

// drillJob draws a job.
func drillJob(rng *rand.Rand) *v1alpha1.TrainingJob {
	kinds := drillJobs([]int{1, 2, 3, 4, 8, 12, 24, 40}[rng.IntN(8)])
	generous := builder.Recovery(func(r *v1alpha1.Recovery) {
		r.MaxOOMRestarts, r.MaxHangRestarts = ptr.To[int32](100), ptr.To[int32](100)
	})
	options := append([]builder.JobOption{builder.MaxRestarts(100), generous, builder.BackOff(1, 4)}, kinds[rng.IntN(len(kinds))]...)
	if rng.IntN(2) == 0 {
		options = append(options, builder.Progress(int32(20+rng.IntN(40)), v1alpha1.StallRestart))
	}
	switch rng.IntN(10) {
	case 0:
		options = append(options, builder.BackOff(20, 60))
	case 1, 2:
		options = append(options, builder.StartupDeadline(int32(60+rng.IntN(60))))
	case 3:
		options = append(options, builder.Recovery(func(r *v1alpha1.Recovery) { r.WindowSeconds = ptr.To[int32](300) }))
	case 4:
		options = append(options, builder.Asking(60))
	}
	if rng.IntN(2) == 0 {
		options = append(options, quick)
	}
	return newJob(options...)
}

// costs are what a fault costs the job, by the documents.
type costs int

const (
	// charged is a restart of the program's budget, free one of none, and nothing no restart at all.
	charged costs = iota
	free
	nothingAtAll
)

// blow is a kind of fault.
type blow struct {
	name string
	is   costs
	// breaksNode is whether the node has shown that it is bad, countsFor whether the second such fault there shows it.
	breaksNode, countsFor bool
	// fits reports whether the fault can come to the job, and to the pod; nil for every one.
	fits func(job *v1alpha1.TrainingJob, pod *corev1.Pod) bool
	deal func(d *drill, r *run, pod *corev1.Pod)
}

// exits ends the pod with a code and words.
func exits(code int32, words string) func(*drill, *run, *corev1.Pod) {
	return func(_ *drill, r *run, pod *corev1.Pod) { r.Exit(pod, code, words) }
}

var blows = []blow{
	{name: "exception", countsFor: true, fits: restarts(1), deal: exits(1, "ValueError: batch 17 is empty")},
	{name: "own code", countsFor: true, fits: restarts(42), deal: exits(42, "")},
	{name: "SIGKILL", countsFor: true, fits: restarts(137), deal: exits(137, "")},
	{name: "SIGABRT", countsFor: true, fits: restarts(134), deal: exits(134, "terminate called after throwing an instance of 'std::bad_alloc'")},
	{name: "EOFError", countsFor: true, fits: restarts(1), deal: exits(1, "EOFError: Ran out of input")},
	{name: "storage time-out", countsFor: true, fits: restarts(1), deal: exits(1, "TimeoutError: [Errno 110] Connection timed out: '/data/shard-7'")},
	{name: "out of memory", fits: isNeeded, deal: func(_ *drill, r *run, pod *corev1.Pod) { r.OutOfMemory(pod) }},
	{name: "shared file server", fits: restarts(1), deal: func(d *drill, r *run, pod *corev1.Pod) { r.Share("a file server fails", d.others(r, pod)) }},
	{name: "storage limit", fits: isNeeded, deal: func(_ *drill, r *run, pod *corev1.Pod) { r.EvictInTwo(pod) }},
	{name: "bad node, by a rule", is: free, countsFor: true, fits: hasRule(badNode), deal: exits(badNode, "")},
	{name: "hang", countsFor: true, fits: hangs, deal: (*drill).hang},
	{name: "exit of a pod that is then deleted", fits: restarts(1), deal: func(_ *drill, r *run, pod *corev1.Pod) {
		r.Exit(pod, 1, "ValueError: batch 17 is empty")
		for world.End(r.pod(slotOf(pod))) == nil {
			r.Tick(moment)
		}
		r.Remove(world.User, r.pod(slotOf(pod)))
	}},
	{name: "unneeded role", is: nothingAtAll, fits: isUnneeded, deal: exits(127, "board: not found")},
	{name: "kubectl delete", is: free, fits: isNeeded, deal: func(_ *drill, r *run, pod *corev1.Pod) { r.DeletePod(world.User, pod) }},
	{name: "drain", is: free, fits: isNeeded, deal: func(_ *drill, r *run, pod *corev1.Pod) { r.Drain(world.User, pod, "EvictionByEvictionAPI") }},
	{name: "device taint", is: free, fits: isNeeded, deal: func(_ *drill, r *run, pod *corev1.Pod) { r.Drain(world.User, pod, "DeletionByDeviceTaintManager") }},
	{name: "drain of a node", is: free, fits: isNeeded, deal: (*drill).drainNode},
	{name: "preemption", is: free, fits: isNeeded, deal: func(_ *drill, r *run, pod *corev1.Pod) { r.Preempt(pod) }},
	{name: "node lost", is: free, breaksNode: true, fits: isNeeded, deal: func(d *drill, r *run, pod *corev1.Pod) {
		r.SilenceNode(pod.Spec.NodeName, time.Duration(d.rng.IntN(50))*time.Second)
	}},
	{name: "node deleted", is: free, fits: isNeeded, deal: func(_ *drill, r *run, pod *corev1.Pod) { r.DeleteNode(pod.Spec.NodeName) }},
	{name: "node pressure", is: free, breaksNode: true, fits: isNeeded, deal: func(_ *drill, r *run, pod *corev1.Pod) { r.EvictForNode(pod) }},
	{name: "kubelet starts under pressure", is: free, breaksNode: true, fits: isNeeded, deal: func(_ *drill, r *run, pod *corev1.Pod) { r.EvictAtStart(pod.Spec.NodeName) }},
	{name: "reboot", is: free, countsFor: true, fits: isNeeded, deal: func(_ *drill, r *run, pod *corev1.Pod) { r.Reboot(pod.Spec.NodeName) }},
}

func roleOf(pod *corev1.Pod) string { return pod.Labels[v1alpha1.LabelRole] }

// isNeeded reports whether the job cannot run without the pod.
func isNeeded(_ *v1alpha1.TrainingJob, pod *corev1.Pod) bool {
	return roleOf(pod) != string(board) && roleOf(pod) != "evaluator"
}

func isUnneeded(job *v1alpha1.TrainingJob, pod *corev1.Pod) bool { return !isNeeded(job, pod) }

// hangs reports whether the ranks of the job wait for each other, and the operator is to restart them then.
func hangs(job *v1alpha1.TrainingJob, pod *corev1.Pod) bool {
	return isNeeded(job, pod) && isCollective(job) && hasPage(job) && job.Spec.Progress.Action == v1alpha1.StallRestart
}

// drainNode cordons the pod's node, and evicts all of the job's pods there, one after another.
func (d *drill) drainNode(r *run, pod *corev1.Pod) {
	r.Cordon(pod.Spec.NodeName, true)
	for _, other := range r.Pods() {
		if is := r.pod(slotOf(other)); is != nil && is.Spec.NodeName == pod.Spec.NodeName && is.DeletionTimestamp == nil && !world.IsOver(is) {
			r.Drain(world.User, is, "EvictionByEvictionAPI")
			r.wait(time.Duration(d.rng.IntN(2)*d.rng.IntN(24)) * moment) // a PodDisruptionBudget may refuse one until the others run
		}
	}
}

// restarts reports whether a needed pod restarts after the exit code.
func restarts(code int32) func(*v1alpha1.TrainingJob, *corev1.Pod) bool {
	return func(job *v1alpha1.TrainingJob, pod *corev1.Pod) bool {
		isPermanent := job.Spec.ReplicaSpecs[v1alpha1.Worker].RestartPolicy == v1alpha1.RestartExitCode && code != 137
		return isNeeded(job, pod) && !isPermanent && (code != 42 || !restartsItself(job))
	}
}

// hasRule reports whether a rule of the job is for the exit code.
func hasRule(code int32) func(*v1alpha1.TrainingJob, *corev1.Pod) bool {
	return func(job *v1alpha1.TrainingJob, pod *corev1.Pod) bool {
		return slices.ContainsFunc(job.Spec.Recovery.Rules, func(r v1alpha1.RecoveryRule) bool { return slices.Contains(r.ExitCodes, code) })
	}
}

// others returns the pods that share a fault with the pod: some of its role.
func (d *drill) others(r *run, pod *corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(r.Pods(), func(other *corev1.Pod) bool {
		return roleOf(other) != roleOf(pod) || other.UID != pod.UID && d.rng.IntN(4) == 0
	})
}

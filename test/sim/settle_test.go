package sim_test

import (
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/builder"
	"github.com/trainingjob/operator/test/sim/invariant"
	"github.com/trainingjob/operator/test/sim/operator"
	"github.com/trainingjob/operator/test/sim/world"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

var (
	errQuota = errors.New("exceeded quota: compute, requested: pods=1, used: pods=8, limited: pods=8")
	// errCountQuota is of a quota that counts pods that have ended too.
	errCountQuota = errors.New("exceeded quota: objects, requested: count/pods=1, used: count/pods=8, limited: count/pods=8")
)

// begin starts two operators, of which the first leads, and the checks; tell, if set, hears the story.
func (r *run) begin(tell func(string)) *run {
	r.check = invariant.New(r.World)
	r.Key = client.ObjectKeyFromObject(builder.Job("j"))
	return r.with(2, tell)
}

func (r *run) leader() *operator.Process {
	for _, p := range r.operators {
		if p.Leads {
			return p
		}
	}
	return r.operators[0]
}

// isSettled reports whether the job has ended, or is gone, and no pod can run any more.
func (r *run) isSettled() bool {
	job := r.Job()
	if job == nil {
		return len(r.Pods())+len(r.Server.List(server.Services))+len(r.Server.List(server.PodGroups))+len(r.Server.List(server.Secrets)) == 0
	}
	if job.DeletionTimestamp != nil || !meta.IsStatusConditionTrue(job.Status.Conditions, v1alpha1.ConditionFinished) {
		return false
	}
	for _, pod := range r.Pods() {
		if pod.DeletionTimestamp != nil || world.WaitsAtGate(pod) {
			return false // its kubelet has yet to let it go
		}
		if !world.IsOver(pod) && (job.Spec.RunPolicy.CleanPodPolicy != v1alpha1.CleanNone || pod.Status.Phase == corev1.PodPending) {
			return false // what never ran goes under every policy
		}
	}
	return job.Spec.RunPolicy.TTLSecondsAfterFinished == nil && !r.hasIdleGroup()
}

// hasIdleGroup reports whether there is a pod group of which no pod can run.
func (r *run) hasIdleGroup() bool {
	return slices.ContainsFunc(r.Server.List(server.PodGroups), func(group client.Object) bool {
		return !slices.ContainsFunc(r.Pods(), func(pod *corev1.Pod) bool { return server.GroupOf(pod) == group.GetName() && !world.IsOver(pod) })
	})
}

// rest checks what must hold at the end: liveness, quiet, and that a look at a job at rest writes nothing.
func (r *run) rest(leader *operator.Process, reconciles int) {
	if r.isWrong() {
		return
	}
	if !r.isSettled() {
		phase, message := v1alpha1.Phase("gone"), ""
		if job := r.Job(); job != nil {
			phase, message = job.Status.Phase, job.Status.Message
		}
		r.check.Violate("liveness: after %d reconciles without faults the job is %s (%s) and has %d pods", reconciles, phase, message, len(r.Pods()))
		return
	}
	most := reconcilesAtMost
	if job := r.Job(); job != nil {
		most += 5 * int(job.Status.Restarts) // a deadline that cannot be met, and that a rule makes free, restarts it again and again
	}
	if reconciles > most {
		r.check.Violate("liveness: the job needed %d reconciles without faults, at most %d are fine", reconciles, most)
	}
	r.resync(leader)
}

// resync lets the operator write what it has put off, if it wakes for that, checks the end, and that a look that nobody asked for
// writes nothing: what it would have written nothing would ever have woken it for.
func (r *run) resync(leader *operator.Process) {
	for range 5 {
		r.Clock.Pass(2 * time.Second)
		if r.catchUp(leader); leader.IsAwake() && !r.isWrong() {
			leader.Reconcile()
		}
	}
	before := leader.Writes
	r.check.Quiet()
	for _, later := range []time.Duration{10 * time.Second, time.Hour} {
		r.Clock.Pass(later)
		r.catchUp(leader)
		leader.Resync()
		leader.Reconcile()
		if n := leader.Writes - before; n > 0 && !r.isWrong() {
			r.check.Violate("19 frugal: a look at a job at rest, %v later, makes %d writes", later, n)
		}
	}
}

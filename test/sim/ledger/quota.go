package ledger

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// Quota replays a history that has the Workloads of Kueue too, and compares what pods hold of a resource with what Kueue counts. It
// returns every sentence that does not hold:
//
//	covered     at no time do the pods of a job hold more than its Workloads have quota for
//	exceeded    at no time do all pods hold more than the quota of the ClusterQueue, unless it borrows
//	given back  at the end, no Workload has quota whose job is gone, has ended or rests, and has no pods
//	gated       at the end, no pod of a job with quota waits at a gate of Kueue
//	agreed      at the end, the ClusterQueue reports the sum of its Workloads
//
// A pod holds the resource from its creation, or from the removal of its last scheduling gate, until it has ended, is gone, or is given up
// on a lost node. It counts if it was created while its job named a queue; all pods of a job count once the job has a Workload.
func Quota(seen []Observation, cluster *unstructured.Unstructured, name corev1.ResourceName) []string {
	total := readAs[clusterQueue](cluster)
	q := &quotas{resource: name, jobs: map[types.UID]*queued{}, nominal: total.nominal(name)}
	for _, o := range seen {
		q.enter(o)
	}
	q.end(total.reserved(name))
	return q.Broken
}

// quotas is the state of a ClusterQueue at one revision of its history. nominal is -1 for one that borrows.
type quotas struct {
	sentences
	resource corev1.ResourceName
	nominal  int64
	jobs     map[types.UID]*queued
}

// queued is what is known of one job. now is nil for one that is gone.
type queued struct {
	now       *v1alpha1.TrainingJob
	pods      map[types.UID]*holder
	workloads map[types.UID]*holder
}

// holder is the present version of a pod, or of a Workload.
type holder struct {
	name                        string
	amount                      int64
	counts, isGated, isAdmitted bool
}

func (q *quotas) job(uid types.UID) *queued {
	if q.jobs[uid] == nil {
		q.jobs[uid] = &queued{pods: map[types.UID]*holder{}, workloads: map[types.UID]*holder{}}
	}
	return q.jobs[uid]
}

// enter enters what happened next.
func (q *quotas) enter(o Observation) {
	var owner *metav1.OwnerReference
	switch {
	case o.Job != nil:
		j := q.job(o.Job.UID)
		if j.now = o.Job; o.Event == watch.Deleted {
			j.now = nil
		}
		return
	case o.Pod != nil:
		if owner = OwnerOf(o.Pod); owner != nil {
			q.job(owner.UID).pod(o, q.resource)
		}
	case o.Workload != nil:
		if owner = OwnerOf(o.Workload); owner != nil {
			q.job(owner.UID).workload(o, q.resource)
		}
	}
	if owner != nil {
		held, granted := q.jobs[owner.UID].held(), sumOf(q.jobs[owner.UID].workloads)
		q.must(held <= granted, "covered: pods of %s hold %d, and it has quota for %d, at revision %d", owner.Name, held, granted, o.Revision)
		q.exceeded(o.Revision)
	}
}

func (q *quotas) exceeded(revision uint64) {
	var all int64
	for _, j := range q.jobs {
		all += sumOf(j.pods)
	}
	q.must(q.nominal < 0 || all <= q.nominal, "exceeded: all pods hold %d of %d, at revision %d", all, q.nominal, revision)
}

// pod enters a version of a pod of the job.
func (j *queued) pod(o Observation, name corev1.ResourceName) {
	h := j.pods[o.Pod.UID]
	if h == nil {
		h = &holder{name: o.Pod.Name, counts: j.now != nil && j.now.Labels[v1alpha1.LabelQueue] != ""}
		j.pods[o.Pod.UID] = h
	}
	h.amount, h.isGated = 0, false
	isGivenUp := IsFenced(o.Pod) && o.Pod.DeletionTimestamp != nil
	if o.Event == watch.Deleted || !CanRun(o.Pod) || isGivenUp {
		return
	}
	h.isGated = slices.ContainsFunc(o.Pod.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool {
		return strings.HasPrefix(g.Name, "kueue.x-k8s.io/")
	})
	if len(o.Pod.Spec.SchedulingGates) == 0 {
		h.amount = limitsOf(o.Pod, name)
	}
}

func limitsOf(pod *corev1.Pod, name corev1.ResourceName) (amount int64) {
	for i := range pod.Spec.Containers {
		amount += pod.Spec.Containers[i].Resources.Limits.Name(name, resource.DecimalSI).Value()
	}
	return amount
}

// workload enters a version of a Workload of the job.
func (j *queued) workload(o Observation, name corev1.ResourceName) {
	h := &holder{name: o.Workload.GetName()}
	j.workloads[o.Workload.GetUID()] = h
	w := readAs[workload](o.Workload)
	isInactive := w.Spec.Active != nil && !*w.Spec.Active // Kueue counts it no more, whatever its status shows
	if o.Event == watch.Deleted || isInactive || meta.IsStatusConditionTrue(w.Status.Conditions, "Finished") {
		return
	}
	h.isAdmitted = meta.IsStatusConditionTrue(w.Status.Conditions, "Admitted")
	for _, a := range w.Status.Admission.PodSetAssignments {
		usage := a.ResourceUsage[name]
		h.amount += usage.Value()
	}
}

// held returns how much the pods hold that need quota.
func (j *queued) held() (amount int64) {
	for _, h := range j.pods {
		if h.counts || len(j.workloads) > 0 {
			amount += h.amount
		}
	}
	return amount
}

// end compares the quota that Workloads still hold with the reservation of the ClusterQueue.
func (q *quotas) end(reserved int64) {
	var granted int64
	for _, uid := range slices.Sorted(maps.Keys(q.jobs)) {
		j := q.jobs[uid]
		granted += sumOf(j.workloads)
		for _, h := range j.workloads {
			q.must(h.amount == 0 || sumOf(j.pods) > 0 || j.needs(h), "given back: Workload %s has quota for %d, and its job needs none", h.name, h.amount)
		}
		for _, h := range j.pods {
			q.must(!h.isGated || sumOf(j.workloads) == 0, "gated: %s waits at a gate, and its job has quota", h.name)
		}
	}
	q.must(granted == reserved, "agreed: the ClusterQueue has reserved %d, and its Workloads have quota for %d", reserved, granted)
}

// needs reports whether a job without pods needs the quota of its Workload: it runs, or its admission checks are not done.
func (j *queued) needs(h *holder) bool {
	isEnded := j.now == nil || meta.IsStatusConditionTrue(j.now.Status.Conditions, v1alpha1.ConditionFinished)
	return !isEnded && (!j.now.Spec.IsSuspended() || !h.isAdmitted)
}

func sumOf(all map[types.UID]*holder) (amount int64) {
	for _, h := range all {
		amount += h.amount
	}
	return amount
}

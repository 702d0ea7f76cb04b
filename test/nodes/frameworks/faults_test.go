//go:build frameworks

package frameworks

import (
	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// A fault is something that happens to a replica or to its node, and what the job's status must say about it.
type fault struct {
	name, label string
	// do breaks, mend undoes it once the job has gone on without what is broken; nil if nothing is to be undone.
	do, mend func(*run)
	cause    v1alpha1.Cause
	reason   string
	// ofNode: all replicas on the node are hit, so any of them may be named.
	ofNode bool
	// prepare changes the job before it is created.
	prepare func(*run)
}

// The program, which nobody asked to end, does not end well.
var killed = fault{
	name: "the process is killed", label: "kill", cause: v1alpha1.CauseRetryable, reason: "Error",
	do: func(r *run) { lab("pod", "kill", r.pod().Name, "-n", r.namespace, "--dir", labDir) },
}

var faults = []fault{
	killed,
	{
		name: "somebody deletes the pod", label: "delete", cause: v1alpha1.CauseInfrastructure, reason: "Deleted",
		do: func(r *run) { r.kubectl("delete", "pod", r.pod().Name, "--wait=false") },
	},
	{
		name: "somebody drains the node", label: "drain", cause: v1alpha1.CauseInfrastructure, reason: "EvictionByEvictionAPI", ofNode: true,
		do: func(r *run) {
			r.kubectl("drain", r.node, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=60s",
				"--pod-selector="+v1alpha1.LabelJobName+"="+r.name)
		},
		mend: func(r *run) { r.kubectl("uncordon", r.node) },
	},
	{
		name: "the power fails on the node", label: "node-kill", cause: v1alpha1.CauseInfrastructure, reason: "NodeLost", ofNode: true,
		prepare: slowly,
		do:      func(r *run) { lab("node", "kill", r.node, "--dir", labDir) },
		mend:    func(r *run) { lab("node", "boot", r.node, "--dir", labDir) },
	},
	{
		name: "the network is cut on the node", label: "cut", cause: v1alpha1.CauseInfrastructure, reason: "NodeLost", ofNode: true,
		// ranks that are on the same node go on there
		prepare: func(r *run) { r.slower(4) },
		do:      func(r *run) { lab("node", "cut", r.node, "--dir", labDir) },
		mend:    func(r *run) { lab("node", "heal", r.node, "--dir", labDir) },
	},
	{
		name: "memory runs out", label: "oom", cause: v1alpha1.CauseOOM, reason: "OOMKilled",
		prepare: func(r *run) { r.limitMemory("1Gi") },
		do:      func(r *run) { r.fillMemory(r.pod()) },
	},
}

// slowly has a training that goes on without the victim last until a lost node is noticed, which takes half a minute. The ranks of
// a collective wait for each other anyway.
func slowly(r *run) {
	if r.hit.scope == v1alpha1.ScopeReplica {
		r.slower(4)
	}
}

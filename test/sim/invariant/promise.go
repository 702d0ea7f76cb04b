package invariant

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// What the documents promise, written down once more: the checks compare the product with this and ask no code of the product
// what is right. Of pkg/job/state they use the types and the decoding of a status only.

// kindOfJob is a row of the table of scopes in docs/recovery.md.
type kindOfJob string

const (
	parameterServer   kindOfJob = "TensorFlow or Paddle with PS"
	collective        kindOfJob = "collective"
	elasticCollective kindOfJob = "elastic PyTorch"
	custom            kindOfJob = "Custom"
)

// scopes is the table "Scope: what is restarted" of docs/recovery.md. The worker that leads an elastic job is leadingWorker.
var scopes = map[kindOfJob]map[v1alpha1.Role]v1alpha1.RestartScope{
	parameterServer: {
		v1alpha1.Worker: v1alpha1.ScopeReplica, v1alpha1.Chief: v1alpha1.ScopeReplica, v1alpha1.Master: v1alpha1.ScopeReplica,
		v1alpha1.PS: v1alpha1.ScopeJob, v1alpha1.Evaluator: v1alpha1.ScopeReplica,
	},
	collective: {
		v1alpha1.Worker: v1alpha1.ScopeJob, v1alpha1.Chief: v1alpha1.ScopeJob, v1alpha1.Master: v1alpha1.ScopeJob,
		v1alpha1.Launcher: v1alpha1.ScopeJob, v1alpha1.Evaluator: v1alpha1.ScopeReplica,
	},
	elasticCollective: {
		v1alpha1.Worker: v1alpha1.ScopeReplica, leadingWorker: v1alpha1.ScopeJob, v1alpha1.Chief: v1alpha1.ScopeJob,
		v1alpha1.Master: v1alpha1.ScopeJob, v1alpha1.Evaluator: v1alpha1.ScopeReplica,
	},
	custom: {
		v1alpha1.Worker: v1alpha1.ScopeReplica, v1alpha1.Chief: v1alpha1.ScopeReplica, v1alpha1.Master: v1alpha1.ScopeReplica,
		v1alpha1.PS: v1alpha1.ScopeJob, v1alpha1.Evaluator: v1alpha1.ScopeReplica, v1alpha1.Launcher: v1alpha1.ScopeJob,
	},
}

// leadingWorker is the column of worker 0 in an elastic job that has neither chief nor master.
const leadingWorker v1alpha1.Role = "the worker that leads"

func kindOf(spec *v1alpha1.TrainingJobSpec) kindOfJob {
	switch {
	case spec.Framework == v1alpha1.Custom:
		return custom
	case (spec.Framework == v1alpha1.TensorFlow || spec.Framework == v1alpha1.Paddle) && spec.Replicas(v1alpha1.PS) > 0:
		return parameterServer
	case spec.Elastic != nil:
		return elasticCollective
	default:
		return collective
	}
}

// isCollective reports whether the job's ranks must all begin together: by the framework, or as workers and leader have the scope Job.
func isCollective(spec *v1alpha1.TrainingJobSpec) bool {
	kind := kindOf(spec)
	return kind == collective || kind == elasticCollective || spec.Replicas(v1alpha1.Worker) > 0 &&
		scopeOf(spec, state.Slot{Role: v1alpha1.Worker, Index: 1}) == v1alpha1.ScopeJob && scopeOf(spec, leader(spec)) == v1alpha1.ScopeJob
}

// scopeOf returns what is restarted when the slot breaks: what the user wrote, else what the table says.
func scopeOf(spec *v1alpha1.TrainingJobSpec, slot state.Slot) v1alpha1.RestartScope {
	if own := spec.ReplicaSpecs[slot.Role].RestartScope; own != "" {
		return own
	}
	column := slot.Role
	if kindOf(spec) == elasticCollective && slot == leader(spec) {
		if r := spec.Elastic.Rendezvous; r != nil && r.Endpoint != "" { // the leader does not hold the rendezvous then
			return v1alpha1.ScopeReplica
		}
		if slot.Role == v1alpha1.Worker {
			column = leadingWorker
		}
	}
	return cmp.Or(scopes[kindOf(spec)][column], v1alpha1.ScopeReplica) // of a Custom job's own roles too
}

// isApart reports whether the failures of the role cost the job nothing. This holds for an evaluator and for a Custom job's own role, unless the role
// restarts the whole job.
func isApart(spec *v1alpha1.TrainingJobSpec, role v1alpha1.Role) bool {
	isOwn := !slices.Contains(v1alpha1.Roles, role)
	return (role == v1alpha1.Evaluator || isOwn) && spec.ReplicaSpecs[role].RestartScope != v1alpha1.ScopeJob
}

// isNeeded reports whether the job does not run without the role's replicas: ranks and parameter servers.
func isNeeded(role v1alpha1.Role) bool {
	return role.IsLeader() || role == v1alpha1.Worker || role == v1alpha1.PS
}

// leader returns the slot that leads the job: chief, master or launcher, or worker 0 if there is none of them.
func leader(spec *v1alpha1.TrainingJobSpec) state.Slot {
	for _, role := range []v1alpha1.Role{v1alpha1.Chief, v1alpha1.Master, v1alpha1.Launcher} {
		if spec.Replicas(role) > 0 {
			return state.Slot{Role: role}
		}
	}
	return state.Slot{Role: v1alpha1.Worker}
}

// total returns how many replicas the job has.
func total(spec *v1alpha1.TrainingJobSpec) int {
	n := 0
	for role := range spec.ReplicaSpecs {
		n += int(spec.Replicas(role))
	}
	return n
}

// worldSize returns how many ranks meet: all replicas but parameter servers and evaluators.
func worldSize(spec *v1alpha1.TrainingJobSpec) int {
	return total(spec) - int(spec.Replicas(v1alpha1.PS)) - int(spec.Replicas(v1alpha1.Evaluator))
}

// hostName is "<job>-<role>-<index>", the same in every life.
func hostName(job string, slot state.Slot) string {
	return fmt.Sprintf("%s-%s-%d", job, strings.ToLower(string(slot.Role)), slot.Index)
}

// leaderHost is how the name of the leader begins that pods look up: by the Service of a job that serves a Kubeflow job, which each replica has,
// and else by the job's.
func leaderHost(job *v1alpha1.TrainingJob) string {
	host := hostName(job.Name, leader(&job.Spec))
	if len(job.OwnerReferences) > 0 {
		return host
	}
	return host + "." + job.Name + "."
}

// podName is the host name in the first life, and "<host name>-a<attempt>r<replacement>" in every other.
func podName(job string, slot state.Slot, life state.Life) string {
	if life.Attempt == 0 && life.Replacement == 0 {
		return hostName(job, slot)
	}
	return fmt.Sprintf("%s-a%dr%d", hostName(job, slot), life.Attempt, life.Replacement)
}

// parsePodName returns whose pod has that name; named is false for the name of no replica's pod. A role of the job's own is written there
// as it is.
func parsePodName(job, name string) (slot state.Slot, life state.Life, named bool) {
	role, rest, _ := strings.Cut(strings.TrimPrefix(name, job+"-"), "-")
	index, suffix, hasSuffix := strings.Cut(rest, "-")
	slot = state.Slot{Role: v1alpha1.Role(role), Index: atoi(index)}
	for _, known := range v1alpha1.Roles {
		if strings.EqualFold(string(known), role) {
			slot.Role = known
		}
	}
	if attempt, replacement, found := strings.Cut(strings.TrimPrefix(suffix, "a"), "r"); hasSuffix && found {
		life = state.Life{Attempt: atoi(attempt), Replacement: atoi(replacement)}
	}
	return slot, life, podName(job, slot, life) == name
}

// atoi returns a number, or -1, which no name has, for what is none.
func atoi(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}

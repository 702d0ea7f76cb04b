package jobset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// cast is which role each replicated job has, and whose success ends the TrainingJob.
type cast struct {
	roles  map[string]v1alpha1.Role // by replicated job
	policy v1alpha1.SuccessPolicy
}

// casting gives the awaited replicated jobs the roles whose success a TrainingJob can await, Master and Worker, and all others a role of their own.
//
//	awaited                       roles              successPolicy
//	one, beside others, one pod   Master             Leader; the first other one is Worker
//	one                           Worker             AllWorkers, or AnyWorker for any of several Jobs with one pod each
//	two, and one has 1 pod        Master, Worker     AllWorkers, or AnyWorker
func (s *JobSet) casting() (*cast, error) {
	awaited, all := s.awaited(), s.Spec.ReplicatedJobs
	isAny := s.Spec.SuccessPolicy.Operator == "Any" && (len(awaited) != 1 || awaited[0].jobs() > 1)
	c := &cast{roles: map[string]v1alpha1.Role{}, policy: v1alpha1.SuccessAllWorkers}
	if isAny {
		c.policy = v1alpha1.SuccessAnyWorker
	}
	single := slices.IndexFunc(awaited, func(j *ReplicatedJob) bool { return j.size() == 1 })
	hasWide := slices.ContainsFunc(awaited, func(j *ReplicatedJob) bool { return j.pods() > 1 })
	switch {
	case isAny && hasWide, len(awaited) == 0, len(awaited) > 2, len(awaited) == 2 && single < 0:
		return nil, fmt.Errorf("spec.successPolicy awaits %d replicated jobs: name one in targetReplicatedJobs, or two, and one pod for one of them (with operator Any, one pod for each Job)", len(awaited))
	case len(awaited) == 2:
		c.roles[awaited[single].Name], c.roles[awaited[1-single].Name] = v1alpha1.Master, v1alpha1.Worker
	case len(all) > 1 && single == 0:
		c.policy = v1alpha1.SuccessLeader
		other := slices.IndexFunc(all, func(j ReplicatedJob) bool { return j.Name != awaited[0].Name })
		c.roles[awaited[0].Name], c.roles[all[other].Name] = v1alpha1.Master, v1alpha1.Worker
	default:
		c.roles[awaited[0].Name] = v1alpha1.Worker
	}
	for i := range all {
		if name := all[i].Name; c.roles[name] == "" {
			c.roles[name] = c.ownRole(name, i)
		}
	}
	return c, nil
}

// awaited returns the replicated jobs whose success counts.
func (s *JobSet) awaited() (awaited []*ReplicatedJob) {
	targets := s.Spec.SuccessPolicy.TargetReplicatedJobs
	for i := range s.Spec.ReplicatedJobs {
		if job := &s.Spec.ReplicatedJobs[i]; len(targets) == 0 || slices.Contains(targets, job.Name) {
			awaited = append(awaited, job)
		}
	}
	return awaited
}

// longestRole is the longest name of a job's own role.
const longestRole = 15

// ownRole returns a role of the TrainingJob's own for the replicated job at that place: its name as far as a role may have it.
func (c *cast) ownRole(name string, at int) v1alpha1.Role {
	role := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, name)
	role = role[:min(len(role), longestRole)]
	isBuiltIn := slices.ContainsFunc(v1alpha1.Roles, func(r v1alpha1.Role) bool { return strings.EqualFold(string(r), role) })
	if isBuiltIn || role == "" || role[0] <= '9' || c.nameOf(v1alpha1.Role(role)) != "" {
		role = "job" + strconv.Itoa(at)
	}
	return v1alpha1.Role(role)
}

// nameOf returns the replicated job of a role; empty for none.
func (c *cast) nameOf(role v1alpha1.Role) string {
	for name, is := range c.roles {
		if is == role {
			return name
		}
	}
	return ""
}

// rolesOf returns the roles of the named replicated jobs; of all for no names.
func (c *cast) rolesOf(names []string) (roles []v1alpha1.Role) {
	for name, role := range c.roles {
		if len(names) == 0 || slices.Contains(names, name) {
			roles = append(roles, role)
		}
	}
	slices.SortFunc(roles, v1alpha1.Role.Compare)
	return roles
}

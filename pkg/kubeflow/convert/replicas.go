package convert

import (
	"strings"

	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// replicas converts the roles.
func (c *conversion) replicas(spec *fields) {
	roles := spec.object(c.kind.replicaSpecs)
	c.job.Spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{}
	for _, name := range roles.names() {
		role, known := c.roleOf(strings.ToLower(name))
		if !known {
			c.fail(roles.at(name), "is no role of %s: write %s", c.kind.name, c.roleNames())
			continue
		}
		if other, taken := c.sources[role]; taken {
			c.fail(roles.at(name), "and %s become one role, %s: leave one of them out", other, role)
			continue
		}
		c.sources[role] = name
		c.job.Spec.ReplicaSpecs[role] = c.replicaSpec(roles.object(name), role)
	}
	if len(c.sources) == 0 && len(c.errs) == 0 {
		c.fail(roles.path, "has no role: write %s", c.roleNames())
	}
	c.exitCodes()
}

// roleOf returns the role of a name in lower case; known is false if the kind has no such role.
func (c *conversion) roleOf(name string) (role v1alpha1.Role, known bool) {
	if role, known = c.kind.served[name]; known && c.served {
		return role, true
	}
	role, known = c.kind.roles[name]
	return role, known
}

// roleNames returns the roles that the kind knows, for people.
func (c *conversion) roleNames() string {
	var names []string
	for _, role := range []string{"chief", "master", "launcher", "worker", "ps", "evaluator"} {
		if _, known := c.kind.roles[role]; known {
			names = append(names, strings.ToUpper(role[:1])+role[1:])
		}
	}
	return strings.Replace(strings.Join(names, ", "), "Ps", "PS", 1)
}

// replicaSpec converts one role.
func (c *conversion) replicaSpec(f *fields, role v1alpha1.Role) v1alpha1.ReplicaSpec {
	replicas := read[int32](f, "replicas")
	if replicas == nil {
		replicas = ptr.To(int32(1))
		if fallback, other := c.kind.replicas[role]; other {
			replicas = ptr.To(fallback)
		}
	}
	if *replicas < 0 {
		c.fail(f.at("replicas"), "is %d: write 0 or more", *replicas)
	}
	if role.IsLeader() && *replicas > 1 {
		c.fail(f.at("replicas"), "is %d: a job has one %s", *replicas, role)
	}
	spec := v1alpha1.ReplicaSpec{Replicas: replicas, RestartPolicy: c.restartPolicy(f, role), Template: c.template(f)}
	c.leftOver(f)
	return spec
}

// restartPolicy converts the restart policy of one role.
func (c *conversion) restartPolicy(f *fields, role v1alpha1.Role) v1alpha1.RestartPolicy {
	given := read[v1alpha1.RestartPolicy](f, "restartPolicy")
	if given == nil || *given == "" {
		fallback := c.kind.restarts[role]
		if fallback != v1alpha1.RestartOnFailure {
			c.note(Added, f.at("restartPolicy"), nil, "the default of %s is %s, the default of TrainingJob OnFailure: write OnFailure for restarts", c.kind.name, fallback)
		}
		return fallback
	}
	switch *given {
	case v1alpha1.RestartNever, v1alpha1.RestartOnFailure, v1alpha1.RestartExitCode:
	case v1alpha1.RestartAlways:
		c.note(Changed, f.at("restartPolicy"), *given, "restarts after exit code 0 too, but not where the job waits for that replica's success")
	default:
		c.fail(f.at("restartPolicy"), "is %s: write Never, OnFailure, Always or ExitCode", *given)
	}
	return *given
}

// retriedByKubeflow are exit codes that a TrainingJob with restartPolicy ExitCode takes for permanent and Training Operator 1.9
// retries, as it does all from 128 on: those that happen. 255 is exit(-1).
var retriedByKubeflow = []int32{128, 139, 255}

// exitCodes keeps the meaning of restartPolicy ExitCode by a rule.
func (c *conversion) exitCodes() {
	var roles []v1alpha1.Role
	for _, role := range c.job.Spec.Roles() {
		if c.job.Spec.ReplicaSpecs[role].RestartPolicy == v1alpha1.RestartExitCode {
			roles = append(roles, role)
		}
	}
	if len(roles) == 0 {
		return
	}
	c.job.Spec.Recovery.Rules = append(c.job.Spec.Recovery.Rules, v1alpha1.RecoveryRule{
		Name: "retried-by-kubeflow", Roles: roles, ExitCodes: retriedByKubeflow, Cause: v1alpha1.CauseRetryable})
	for _, role := range roles {
		c.note(Changed, "spec."+c.kind.replicaSpecs+"."+c.sources[role]+".restartPolicy", v1alpha1.RestartExitCode,
			"retried every exit code from 128 on; a TrainingJob retries signals (129 to 192) but 139, and a rule is added for 128, 139 and 255: "+
				"add 193 to 254 to recovery.rules if the program exits with them")
	}
}

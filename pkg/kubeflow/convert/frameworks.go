package convert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// tensorflow converts what only a TFJob has.
func (c *conversion) tensorflow(spec *fields) {
	if former := c.sources[chief]; strings.EqualFold(former, "master") {
		c.note(Changed, "spec.tfReplicaSpecs."+former, nil, "becomes Chief: TF_CONFIG calls it chief, and its pod is %s-chief-0", c.job.Name)
	}
	if policy := read[string](spec, "successPolicy"); policy != nil && *policy != "" {
		switch path := spec.at("successPolicy"); {
		case *policy != "AllWorkers":
			c.fail(path, "is %s: write AllWorkers or leave it out", *policy)
		case c.has(chief):
			c.note(Dropped, path, *policy, "did nothing beside a chief, whose success alone is the job's: write successPolicy: AllWorkers to wait for the workers as well")
		default:
			c.job.Spec.SuccessPolicy = v1alpha1.SuccessAllWorkers
		}
	}
	c.dynamicWorkers(spec)
}

// mostDynamicWorkers is the upper bound of workers that had none.
const mostDynamicWorkers = 100

// dynamicWorkers converts enableDynamicWorker, which let the number of workers change without bounds.
func (c *conversion) dynamicWorkers(spec *fields) {
	path := spec.at("enableDynamicWorker")
	if dynamic := read[bool](spec, "enableDynamicWorker"); dynamic == nil || !*dynamic {
		return
	}
	workers := c.job.Spec.Replicas(worker)
	if c.job.Spec.Replicas(ps) == 0 || workers == 0 {
		c.note(Dropped, path, true, "needs a role PS and workers: the workers of a job without parameter servers wait for each other")
		return
	}
	c.job.Spec.Elastic = &v1alpha1.Elastic{MinReplicas: 1, MaxReplicas: max(workers, mostDynamicWorkers)}
	c.note(Changed, path, true, "becomes elastic with 1 to %d workers: write the bounds that you want; a worker that fails for good now fails the job", c.job.Spec.Elastic.MaxReplicas)
}

// jax converts the particulars of a JAXJob: it succeeds when all workers succeed.
func (c *conversion) jax(*fields) {
	c.needsAll()
	c.namePort(worker)
}

// boosting finds out whose program an XGBoostJob runs.
func (c *conversion) boosting(*fields) {
	for _, role := range []v1alpha1.Role{master, worker} {
		spec := c.job.Spec.ReplicaSpecs[role]
		if len(spec.Template.Spec.Containers) > 0 && says(&spec.Template, "lightgbm", "lgbm", "LightGBM") {
			c.job.Spec.Framework = v1alpha1.LightGBM
			c.note(Changed, "spec.xgbReplicaSpecs."+c.sources[role]+".template", mainOf(&spec.Template).Image,
				"speaks of LightGBM, so the framework is LightGBM; write XGBoost if that is wrong")
			return
		}
	}
}

// paddle converts what only a PaddleJob has. A Master made it a job with parameter servers.
func (c *conversion) paddle(spec *fields) {
	if c.has(master) {
		c.paddleServer()
	} else {
		c.needsAll()
	}
	if c.has(ps) {
		c.note(Changed, "spec.paddleReplicaSpecs."+c.sources[ps], nil, "becomes PS, a parameter server: the pod is %s-ps-0, and the job succeeds when all workers have", c.job.Name)
		for _, role := range []v1alpha1.Role{ps, worker} {
			if template := c.job.Spec.ReplicaSpecs[role].Template; c.has(role) && says(&template, "paddle.distributed.launch", "fleetrun") {
				c.note(Changed, "spec.paddleReplicaSpecs."+c.sources[role]+".template.spec.containers", slices.Concat(mainOf(&template).Command, mainOf(&template).Args),
					"a job with parameter servers starts its program with plain python, not with paddle.distributed.launch, which cannot find servers by name")
			}
		}
	}
	elastic := spec.object("elasticPolicy")
	for _, name := range elastic.names() {
		c.drop(elastic, name, "a Paddle job has a fixed number of workers: write replicas, and recovery.maxRestarts for restarts")
	}
}

// paddleServer sets what the launcher reads of a served job with a Master, which is its server and its meeting place. The launcher of the master
// serves the meeting if PADDLE_MASTER is its own address. Source: pkg/controller.v1/paddlepaddle/envvar.go of Training Operator 1.9.
func (c *conversion) paddleServer() {
	template := c.job.Spec.ReplicaSpecs[master].Template
	port := cmp.Or(portOf(&template, "master"), 36543)
	c.setEnvOf(master, corev1.EnvVar{Name: "POD_IP_DUMMY", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "status.podIP"}}})
	c.setEnvOf(master, corev1.EnvVar{Name: "PADDLE_MASTER", Value: fmt.Sprintf("$(POD_IP_DUMMY):%d", port)})
	c.setEnvOf(master, corev1.EnvVar{Name: "PADDLE_SERVER_NUM", Value: "1"})
	c.setEnvOf(worker, corev1.EnvVar{Name: "PADDLE_TRAINER_NUM", Value: "1"})
}

// has reports whether the job has a role.
func (c *conversion) has(role v1alpha1.Role) bool {
	_, found := c.job.Spec.ReplicaSpecs[role]
	return found
}

// needsAll makes the job succeed when all workers succeed, as a job without a master did.
func (c *conversion) needsAll() {
	if c.job.Spec.Replicas(worker) == 1 {
		return
	}
	c.job.Spec.SuccessPolicy = v1alpha1.SuccessAllWorkers
	c.note(Added, "spec.successPolicy", nil, "%s without a leader succeeds when all workers succeed; TrainingJob when worker 0 succeeds, unless it sets AllWorkers", c.kind.name)
}

// needsAny makes the job succeed with the first worker that succeeds, as an elastic job without a master did.
func (c *conversion) needsAny() {
	c.job.Spec.SuccessPolicy = v1alpha1.SuccessAnyWorker
	c.note(Added, "spec.successPolicy", nil, "an elastic %s without a Master succeeds with the first worker that does; TrainingJob with worker 0, unless it sets AnyWorker", c.kind.name)
}

// namePort writes the default port of the kind into the template of the leader's role, where it was not a TrainingJob's.
func (c *conversion) namePort(role v1alpha1.Role) {
	template := ptr.To(c.job.Spec.ReplicaSpecs[role].Template) // whose containers are the job's own
	if portOf(template, c.kind.port.name) != 0 {
		return
	}
	own := mainOf(template)
	own.Ports = append(own.Ports, corev1.ContainerPort{Name: c.kind.port.name, ContainerPort: c.kind.port.number})
	c.note(Added, "spec."+c.kind.replicaSpecs+"."+c.sources[role]+".template.spec.containers["+own.Name+"].ports", nil,
		"the default of %s is port %d, TrainingJob has another default: remove %s to use it", c.kind.name, c.kind.port.number, c.kind.port.name)
}

// portOf returns the port of that name in the template; 0 for none.
func portOf(template *corev1.PodTemplateSpec, name string) int32 {
	for _, container := range template.Spec.Containers {
		for _, port := range container.Ports {
			if port.Name == name {
				return port.ContainerPort
			}
		}
	}
	return 0
}

// setEnv sets a variable in all containers of all roles, in place of what they say of it, as the operator did.
func (c *conversion) setEnv(name, value string) {
	for _, role := range c.job.Spec.Roles() {
		c.setEnvOf(role, corev1.EnvVar{Name: name, Value: value})
	}
}

// setEnvOf sets a variable in all containers of a role.
func (c *conversion) setEnvOf(role v1alpha1.Role, variable corev1.EnvVar) {
	containers := c.job.Spec.ReplicaSpecs[role].Template.Spec.Containers
	for i := range containers {
		own := &containers[i]
		if former := slices.IndexFunc(own.Env, func(v corev1.EnvVar) bool { return v.Name == variable.Name }); former >= 0 {
			if !c.served {
				c.note(Dropped, fmt.Sprintf("spec.%s.%s.template.spec.containers[%d].env[%d]", c.kind.replicaSpecs, c.sources[role], i, former),
					variable.Name+"="+own.Env[former].Value, "the operator overwrote it with %s", variable.Value)
			}
			own.Env = slices.Delete(own.Env, former, former+1)
		}
		own.Env = append(own.Env, variable)
	}
}

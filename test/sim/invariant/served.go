package invariant

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/world"
)

// looksAtMost is how many looks the controller of a Kubeflow job needs at most until its TrainingJob is as the Kubeflow job requests: it
// suspends the TrainingJob, and changes and resumes it.
const looksAtMost = 3

// Served checks invariant 26: a TrainingJob that serves a Kubeflow job gets its number of pods back, whatever a user does to it alone. Kueue
// counts the Kubeflow job. quiet is whether nothing has gone wrong for so long that the pods follow.
func (c *Checker) Served(quiet bool) {
	job, want := c.world.Job(), c.world.Served()
	if want == nil || job == nil || job.DeletionTimestamp != nil || is(job, v1alpha1.ConditionFinished) {
		c.asServed = c.world.Looks
		return
	}
	wrong := differs(want, &job.Spec)
	switch {
	case wrong == "":
		c.asServed = c.world.Looks
	case c.world.Looks-c.asServed > looksAtMost:
		c.violate("26 served: the controller has looked %d times, and the TrainingJob differs from its Kubeflow job: %s", c.world.Looks-c.asServed, wrong)
	}
	if quiet && wrong == "" {
		c.checkPodsOf(job, want)
	}
}

// differs returns in what a TrainingJob differs from what its Kubeflow job requests: "" for nothing.
func differs(want, is *v1alpha1.TrainingJobSpec) string {
	switch {
	case want.IsSuspended() != is.IsSuspended():
		return "suspend"
	case !slices.Equal(want.Roles(), is.Roles()):
		return "its roles"
	}
	for role := range want.ReplicaSpecs {
		if want.Replicas(role) != is.Replicas(role) {
			return "the replicas of " + string(role)
		}
	}
	return ""
}

// checkPodsOf: the pods are no more than the Kubeflow job requests.
func (c *Checker) checkPodsOf(job *v1alpha1.TrainingJob, want *v1alpha1.TrainingJobSpec) {
	pods := map[v1alpha1.Role]int32{}
	for _, pod := range c.world.Pods() {
		if pod.DeletionTimestamp != nil || world.IsOver(pod) {
			continue
		}
		if slot, _, named := parsePodName(job.Name, pod.Name); named {
			pods[slot.Role]++
		}
	}
	for _, role := range slices.Sorted(maps.Keys(pods)) {
		if most := want.Replicas(role); pods[role] > most {
			c.violate("26 served: %d pods of %s, and the Kubeflow job requests %d", pods[role], role, most)
		}
	}
}

// hearServed notes a change by a user, and checks that the API server accepts what the controller of a Kubeflow job changes.
func (c *Checker) hearServed(request *server.Request, was, is *v1alpha1.TrainingJob) {
	switch {
	case request.User == world.User:
		c.asServed = c.world.Looks
	case request.User == world.Kubeflow && !was.Spec.IsSuspended() && !is.Spec.IsSuspended() && !equality.Semantic.DeepEqual(fixed(&was.Spec), fixed(&is.Spec)):
		c.violate("26 served: the API server refuses a change that needs a suspended job")
	}
}

// fixed returns the part of a spec that may change only while the job is suspended (docs/api.md): all of it that draws of the generator change,
// but the workers of an elastic job.
func fixed(spec *v1alpha1.TrainingJobSpec) map[v1alpha1.Role]v1alpha1.ReplicaSpec {
	roles := maps.Clone(spec.ReplicaSpecs)
	for role, replicas := range roles {
		if role == v1alpha1.Worker && spec.Elastic != nil {
			replicas.Replicas = nil
		}
		roles[role] = replicas
	}
	return roles
}

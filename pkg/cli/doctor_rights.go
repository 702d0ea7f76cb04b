package cli

import (
	"context"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/rights"
	"github.com/trainingjob/operator/pkg/kubeflow/convert"
)

// need is what some verbs of kubectl tj need.
type need struct {
	verbs    string
	rights   []rights.Right
	isNeeded bool
}

// on returns the rights to act on a resource.
func on(group, resource, field string, verbs ...string) []rights.Right {
	var list []rights.Right
	for _, verb := range verbs {
		list = append(list, rights.Right{Verb: verb, Group: group, Resource: resource, Field: field})
	}
	return list
}

// needs are the rights of the verbs, those first without which nothing works.
var needs = []need{
	{"list, status, why, timeline, report, ui", on(v1alpha1.Group, "trainingjobs", "", "get", "list", "watch"), true},
	{"status, why, report: pods", on("", "pods", "", "list", "watch"), true},
	{"why, report: Events", on("", "events", "", "list"), false},
	{"logs", on("", "pods", "log", "get"), false},
	{"stacks", on("", "pods", "proxy", "get"), false},
	{"submit", on(v1alpha1.Group, "trainingjobs", "", "create"), false},
	{"suspend, resume, scale", on(v1alpha1.Group, "trainingjobs", "", "patch"), false},
	{"restart", append(on(v1alpha1.Group, "trainingjobs", "", "patch"), on("", "pods", "", "list")...), false},
	{"delete", on(v1alpha1.Group, "trainingjobs", "", "delete"), false},
}

// needs returns the rights of the verbs, also for the Kubeflow kinds, JobSets and TrainJobs of the cluster.
func (c *connection) needs() []need {
	all := slices.Clone(needs)
	if reading, steering := c.rightsOn(jobSet, trainJob); len(reading) > 0 {
		all = append(all, need{"all verbs on JobSets and TrainJobs", reading, false}, need{"suspend, resume, restart, delete of JobSets and TrainJobs", steering, false})
	}
	reading, steering := c.rightsOn(convert.ServedKinds()...)
	if len(reading) == 0 {
		return all
	}
	all = append(all, need{"all verbs on Kubeflow jobs", reading, false}, need{"suspend, resume, scale, restart, delete of Kubeflow jobs", steering, false})
	if c.resources(workloadKind.GroupVersion().String())["workloads"] {
		all = append(all, need{"suspend, resume, why of Kubeflow jobs in a queue of Kueue", on(workloadKind.Group, "workloads", "", "list", "patch", "delete"), false})
	}
	return all
}

// rightsOn returns the rights to read, and to change, the kinds that the cluster has.
func (c *connection) rightsOn(kinds ...convert.Kind) (reading, steering []rights.Right) {
	for _, kind := range kinds {
		resource, version := plural(kind.Name), versionOf(kind.Name)
		if c.resources(version)[resource] {
			group, _, _ := strings.Cut(version, "/")
			reading = append(reading, on(group, resource, "", "get", "list")...)
			steering = append(steering, on(group, resource, "", "patch", "delete")...)
		}
	}
	return reading, steering
}

// checkRights returns which verbs of kubectl tj the caller may use in the namespace.
func (t *tool) checkRights(ctx context.Context, c *connection) []finding {
	var findings []finding
	var allowed []string
	for _, need := range c.needs() {
		lacks, err := c.lacks(ctx, need.rights)
		if err != nil {
			return append(findings, note("Your rights are not known: %s", explain(err, t.flags)))
		}
		if len(lacks) == 0 {
			allowed = append(allowed, need.verbs)
			continue
		}
		report := note
		if need.isNeeded {
			report = bad
		}
		var missing []string
		for _, right := range lacks {
			missing = append(missing, right.String())
		}
		from := "An administrator grants them: JobSet has no ClusterRole for users."
		if roles := rights.Roles(lacks); len(roles) > 0 {
			from = "Ask for the ClusterRole " + strings.Join(roles, " and ") + "."
		}
		findings = append(findings, report("Your rights in namespace %s do not suffice for: %s. Missing: %s. %s", c.namespace, need.verbs, strings.Join(missing, ", "), from))
	}
	switch {
	case len(findings) == 0:
		return []finding{ok("Your rights in namespace %s suffice for all verbs.", c.namespace)}
	case len(allowed) > 0:
		findings = append(findings, ok("Your rights in namespace %s suffice for: %s.", c.namespace, strings.Join(allowed, "; ")))
	}
	return findings
}

// lacks returns which of the rights the caller does not have in the namespace.
func (c *connection) lacks(ctx context.Context, all []rights.Right) ([]rights.Right, error) {
	var lacks []rights.Right
	for _, r := range all {
		attributes := &authorizationv1.ResourceAttributes{Namespace: c.namespace, Verb: r.Verb, Group: r.Group, Resource: r.Resource, Subresource: r.Field}
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes}}
		answer, err := c.core.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		if !answer.Status.Allowed {
			lacks = append(lacks, r)
		}
	}
	return lacks, nil
}

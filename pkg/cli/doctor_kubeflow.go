package cli

import (
	"context"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/kubeflow/convert"
)

// Names of the installation of Kubeflow's operator. Source: manifests/base of Training Operator 1.9.
const (
	formerLabel   = "control-plane"
	formerValue   = "kubeflow-training-operator"
	formerWebhook = "validator.training-operator.kubeflow.org"
)

// operators are the Deployments of this operator and of Kubeflow's that run.
type operators struct {
	own, former []appsv1.Deployment
}

// checkKubeflow returns which Kubeflow kinds are served, and what Kubeflow's operator left behind. Without such a kind there is nothing to find.
func (t *tool) checkKubeflow(ctx context.Context, c *connection) []finding {
	resources := c.resources(v1alpha1.KubeflowVersion)
	all := convert.ServedKinds()
	has := which(all, func(kind convert.Kind) bool { return resources[plural(kind.Name)] })
	found, err := c.operators(ctx)
	if err != nil || len(found.own) == 0 { // it may run outside the cluster
		return c.checkByJobs(ctx, t, has, found)
	}
	flagged := which(all, func(kind convert.Kind) bool { return isFlagged(found.own, kind) })
	var findings []finding
	if missing := which(flagged, func(kind convert.Kind) bool { return !slices.Contains(has, kind) }); len(missing) > 0 {
		findings = append(findings, bad("The operator has --kubeflow-kinds with %s, and the cluster lacks that CRD: it is not ready until it can list the kind.", names(missing)))
	}
	if served := which(has, func(kind convert.Kind) bool { return slices.Contains(flagged, kind) }); len(served) > 0 {
		findings = append(findings, ok("The operator serves %s of Kubeflow.", names(served)))
		findings = append(findings, c.checkUnserved(ctx, t, served)...)
	}
	if unserved := which(has, func(kind convert.Kind) bool { return !slices.Contains(flagged, kind) }); len(unserved) > 0 {
		findings = append(findings, note("The operator does not serve %s: --kubeflow-kinds does not name it. docs/migrating.md shows how to serve it.", names(unserved)))
	}
	return append(findings, c.checkFormer(ctx, found, flagged)...)
}

// checkByJobs returns which of the kinds are served as the jobs of the namespace show, where no Deployment of the operator can be read.
func (c *connection) checkByJobs(ctx context.Context, t *tool, has []convert.Kind, found *operators) []finding {
	jobs, err := c.jobs(ctx, c.namespace, "")
	if err != nil || len(has) == 0 {
		return nil // checkRights reports why
	}
	isServed := func(kind convert.Kind) bool {
		return slices.ContainsFunc(jobs, func(job v1alpha1.TrainingJob) bool { return serves(&job, kind) })
	}
	var findings []finding
	served := which(has, isServed)
	if len(served) > 0 {
		findings = append(findings, ok("An operator serves %s of Kubeflow, as jobs of namespace %s show.", names(served), c.namespace))
	}
	if others := which(has, func(kind convert.Kind) bool { return !isServed(kind) }); len(others) > 0 {
		findings = append(findings, note("Whether an operator serves %s is not known: you see no Deployment of it, and no job that it serves.", names(others)))
	}
	return slices.Concat(findings, c.checkUnserved(ctx, t, has), c.checkFormer(ctx, found, served))
}

// which returns the kinds for which the question is true.
func which(kinds []convert.Kind, is func(convert.Kind) bool) []convert.Kind {
	return slices.DeleteFunc(slices.Clone(kinds), func(kind convert.Kind) bool { return !is(kind) })
}

// names lists kinds for people.
func names(kinds []convert.Kind) string {
	var list []string
	for _, kind := range kinds {
		list = append(list, kind.Name)
	}
	return strings.Join(list, ", ")
}

// operators finds the Deployments of both operators, in all namespaces or else in the one where manifests/base puts this operator.
func (c *connection) operators(ctx context.Context) (*operators, error) {
	var list appsv1.DeploymentList
	err := c.kube.List(ctx, &list)
	if apierrors.IsForbidden(err) {
		list = appsv1.DeploymentList{}
		err = c.kube.List(ctx, &list, client.InNamespace(operatorNamespace))
	}
	found := &operators{}
	for i := range list.Items {
		labels := list.Items[i].Labels
		switch {
		case ptr.Deref(list.Items[i].Spec.Replicas, 1) == 0:
		case labels["app.kubernetes.io/name"] == electionLease:
			found.own = append(found.own, list.Items[i])
		case labels[formerLabel] == formerValue:
			found.former = append(found.former, list.Items[i])
		}
	}
	return found, err
}

// isFlagged reports whether a Deployment of this operator has the kind in --kubeflow-kinds, or for JobSets --jobsets.
func isFlagged(own []appsv1.Deployment, kind convert.Kind) bool {
	for i := range own {
		if kind == jobSet && hasJobSets(&own[i]) {
			return true
		}
		for _, value := range flagOf(&own[i], "kubeflow-kinds") {
			if slices.Contains(strings.Split(value, ","), kind.Name) {
				return true
			}
		}
	}
	return false
}

// flagOf returns the values of a flag in the arguments of the Deployment.
func flagOf(d *appsv1.Deployment, flag string) []string {
	var values []string
	for _, container := range d.Spec.Template.Spec.Containers {
		arguments := slices.Concat(container.Command, container.Args)
		for i, argument := range arguments {
			name, value, hasValue := strings.Cut(strings.TrimLeft(argument, "-"), "=")
			switch {
			case name != flag || !strings.HasPrefix(argument, "-"):
			case hasValue:
				values = append(values, value)
			case i+1 < len(arguments):
				values = append(values, arguments[i+1])
			}
		}
	}
	return values
}

// hasJobSets reports whether the arguments of the Deployment have --jobsets, a flag whose value follows an equals sign or is true.
func hasJobSets(d *appsv1.Deployment) bool {
	return slices.ContainsFunc(d.Spec.Template.Spec.Containers, func(container corev1.Container) bool {
		return slices.ContainsFunc(slices.Concat(container.Command, container.Args), func(argument string) bool {
			return slices.Contains([]string{"--jobsets", "-jobsets", "--jobsets=true", "-jobsets=true"}, argument)
		})
	})
}

// checkJobSets returns whether the JobSets that name this operator are served. Without JobSets in the cluster and the flag there is nothing to find.
func (t *tool) checkJobSets(ctx context.Context, c *connection) []finding {
	isThere := c.resources(v1alpha1.JobSetVersion)["jobsets"]
	found, err := c.operators(ctx)
	isKnown := err == nil && len(found.own) > 0 // else it may run outside the cluster
	unserved := c.checkUnserved(ctx, t, []convert.Kind{jobSet})
	switch isServed := isFlagged(found.own, jobSet); {
	case isServed && !isThere:
		return []finding{bad("The operator has --jobsets, and the cluster lacks the CRD of JobSets: it is not ready until it can list them. Install JobSet.")}
	case isServed:
		return append(unserved, ok("The operator serves the JobSets that name %s in spec.managedBy.", v1alpha1.OperatorName))
	case isThere && len(unserved) > 0:
		return []finding{bad("%s", unserved[0].text)}
	case isThere && isKnown:
		return []finding{note("The operator does not serve JobSets: it has no --jobsets. docs/migrating.md shows how to serve them.")}
	default:
		return nil
	}
}

// checkUnserved looks for a Kubeflow job of the namespace that should have a TrainingJob by now and has none.
func (c *connection) checkUnserved(ctx context.Context, t *tool, kinds []convert.Kind) []finding {
	jobs, err := c.jobs(ctx, c.namespace, "")
	if err != nil {
		return nil // checkRights reports why
	}
	for _, kind := range kinds {
		list := emptyListOf(kind.Name)
		if err := c.kube.List(ctx, list, client.InNamespace(c.namespace)); err != nil {
			continue
		}
		for i := range list.Items {
			job := &list.Items[i]
			var own *v1alpha1.TrainingJob
			if at := slices.IndexFunc(jobs, func(own v1alpha1.TrainingJob) bool { return own.Name == job.GetName() }); at >= 0 {
				own = &jobs[at]
			}
			isServed := own != nil && serves(own, kind)
			if !isServed && causeInStatus(kind, job) == "" && t.now().Sub(job.GetCreationTimestamp().Time) > unseenAfter {
				return []finding{note("%s", sentence(c.unserved(ctx, kind, job.GetName(), own).Error()))}
			}
		}
	}
	return nil
}

// checkFormer reports an operator of Kubeflow that runs beside this one, and a webhook of one that does not run.
func (c *connection) checkFormer(ctx context.Context, found *operators, flagged []convert.Kind) []finding {
	var findings []finding
	for i := range found.former {
		former := &found.former[i]
		enabled := flagOf(former, "enable-scheme")
		both := which(flagged, func(kind convert.Kind) bool {
			return len(enabled) == 0 || slices.ContainsFunc(enabled, func(scheme string) bool { return strings.EqualFold(scheme, kind.Name) })
		})
		if len(both) == 0 {
			findings = append(findings, note("Kubeflow's operator runs in namespace %s, and this operator serves none of its kinds.", former.Namespace))
			continue
		}
		findings = append(findings, bad("Kubeflow's operator runs in namespace %s beside this one, and both serve %s: kubectl -n %s delete deployment %s",
			former.Namespace, names(both), former.Namespace, former.Name))
	}
	webhook := &admissionv1.ValidatingWebhookConfiguration{}
	if err := c.kube.Get(ctx, client.ObjectKey{Name: formerWebhook}, webhook); err == nil && len(found.former) == 0 {
		findings = append(findings, bad("The webhook of Kubeflow's operator is there without the operator, so Kubeflow jobs can neither be created nor changed: "+
			"kubectl delete validatingwebhookconfiguration %s", formerWebhook))
	}
	return findings
}

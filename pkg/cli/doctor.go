package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/story"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/operator/support"
)

// finding is what a check found: "ok", "note" for something to know, "bad" for something that keeps jobs from running.
type finding struct{ level, text string }

func ok(format string, args ...any) finding   { return finding{"ok", fmt.Sprintf(format, args...)} }
func note(format string, args ...any) finding { return finding{"note", fmt.Sprintf(format, args...)} }
func bad(format string, args ...any) finding  { return finding{"bad", fmt.Sprintf(format, args...)} }

// colours of the levels.
var levels = map[string]string{"ok": green, "note": yellow, "bad": red}

func (t *tool) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Args: noNames,
		Short: "Check whether the cluster can run TrainingJobs, and your rights",
		Long: `Check whether the cluster can run TrainingJobs, and your rights in the namespace: the CRD and its version, whether the
operator is alive and leads, which gang schedulers' APIs there are, which Kubeflow kinds are served, whether JobSets are, quotas, and admission. It changes nothing. Its
exit status is 1 if something keeps jobs from running.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := t.connect()
			if err != nil {
				return err
			}
			server, err := c.discovery.ServerVersion()
			if err != nil {
				return err
			}
			findings := []finding{ok("Kubernetes %s answers.", server.GitVersion)}
			if warning := support.Warning(server.GitVersion); warning != "" {
				findings = []finding{note("%s", warning)}
			}
			for _, check := range []func(context.Context, *connection) []finding{t.checkAPI, t.checkOperator, t.checkDecodable, t.checkGangs, t.checkKubeflow, t.checkJobSets, t.checkQuotas, t.checkAdmission, t.checkRights} {
				findings = append(findings, check(cmd.Context(), c)...)
			}
			return t.printFindings(findings)
		},
	}
}

// printFindings prints a line for each finding; it returns an error if one is bad.
func (t *tool) printFindings(findings []finding) error {
	wrong := 0
	for _, f := range findings {
		if f.level == "bad" {
			wrong++
		}
		line := t.screen.paint(levels[f.level], fmt.Sprintf("%-5s", f.level)) + f.text + "\n"
		if _, err := io.WriteString(t.Out, line); err != nil {
			return err
		}
	}
	if wrong > 0 {
		return exitError(1)
	}
	return nil
}

// resources returns the resources of a group and version that the cluster serves; nil if it does not know the version.
func (c *connection) resources(version string) map[string]bool {
	list, err := c.discovery.ServerResourcesForGroupVersion(version)
	if err != nil {
		return nil
	}
	resources := map[string]bool{}
	for i := range list.APIResources {
		resources[list.APIResources[i].Name] = true
	}
	return resources
}

// checkAPI checks the CRD.
func (t *tool) checkAPI(_ context.Context, c *connection) []finding {
	resources := c.resources(v1alpha1.GroupVersion.String())
	switch {
	case !resources["trainingjobs"]:
		return []finding{bad("The cluster does not serve %s: install the CRD and the operator, as docs/install.md shows.", v1alpha1.GroupVersion)}
	case !resources["trainingjobs/status"] || !resources["trainingjobs/scale"]:
		return []finding{bad("The CRD is older than this program: it has no status or scale. Apply manifests/crd.")}
	default:
		return []finding{ok("The CRD serves %s.", v1alpha1.GroupVersion)}
	}
}

// electionLease is the Lease that operators elect their leader by.
const electionLease = "trainingjob-operator"

// checkOperator checks that an operator leads and acts.
func (t *tool) checkOperator(ctx context.Context, c *connection) []finding {
	var leases coordinationv1.LeaseList
	err := c.kube.List(ctx, &leases, client.MatchingFields{"metadata.name": electionLease})
	if apierrors.IsForbidden(err) {
		leases = coordinationv1.LeaseList{}
		err = c.kube.List(ctx, &leases, client.InNamespace(operatorNamespace), client.MatchingFields{"metadata.name": electionLease})
	}
	findings := t.leaders(leases.Items)
	switch {
	case apierrors.IsForbidden(err):
		findings = []finding{note("Whether an operator leads is not known: you may not read its Lease.")}
	case err != nil:
		findings = []finding{note("Whether an operator leads is not known: %s", explain(err, t.flags))}
	}
	return append(findings, t.checkUnseen(ctx, c)...)
}

// operatorNamespace is where manifests/base puts the operator.
const operatorNamespace = "trainingjob-system"

// leaders returns which operators lead.
func (t *tool) leaders(leases []coordinationv1.Lease) []finding {
	var findings []finding
	for i := range leases {
		spec := &leases[i].Spec
		lasts := time.Duration(ptr.Deref(spec.LeaseDurationSeconds, 15)) * time.Second
		holder := ptr.Deref(spec.HolderIdentity, "")
		switch {
		case holder == "" || spec.RenewTime == nil:
			findings = append(findings, bad("No operator leads in namespace %s: its Lease %s has no holder. Look at its pods there.", leases[i].Namespace, electionLease))
		case t.now().Sub(spec.RenewTime.Time) > 2*lasts:
			findings = append(findings, bad("The operator in namespace %s is not alive: %s last renewed its Lease %s ago.", leases[i].Namespace, holder, t.now().Sub(spec.RenewTime.Time).Round(time.Second)))
		default:
			findings = append(findings, ok("The operator in namespace %s is alive: %s leads.", leases[i].Namespace, holder))
		}
	}
	if len(findings) == 0 {
		findings = []finding{note("Whether an operator runs is not known: none has the Lease %s. Without --leader-elect, as in a lab, an operator needs none. To see, submit a job and run doctor again after 10 s.", electionLease)}
	}
	return findings
}

// unseenAfter is how old a job may be before the operator has looked at it.
const unseenAfter = 10 * time.Second

// checkUnseen looks for jobs that no operator looks at.
func (t *tool) checkUnseen(ctx context.Context, c *connection) []finding {
	jobs, err := c.jobs(ctx, c.namespace, "")
	if err != nil {
		return nil // checkRights reports why
	}
	seen := int64(0)
	for i := range jobs {
		job := &jobs[i]
		age := t.now().Sub(job.CreationTimestamp.Time)
		switch {
		case job.Spec.IsManagedElsewhere():
		case job.Status.Phase != "":
			seen++
		case age > unseenAfter:
			return []finding{bad("No operator looks at this namespace: job %s was created %s ago and has no status.", job.Name, age.Round(time.Second))}
		}
	}
	if seen == 0 {
		return nil
	}
	return []finding{ok("An operator has given a status to %s of namespace %s.", story.Count(seen, "job"), c.namespace)}
}

// checkDecodable lists the jobs that the API server stores and no client can decode. The operator ignores them.
func (t *tool) checkDecodable(ctx context.Context, c *connection) []finding {
	if _, err := c.jobs(ctx, c.namespace, ""); err != nil || c.skipped == nil {
		return nil // checkRights reports why
	}
	var findings []finding
	for _, s := range c.skipped() {
		findings = append(findings, bad("The operator ignores %s. Suspend the job and mend the field with kubectl edit, or delete it.", state.Printable(s.String())))
	}
	return findings
}

// checkGangs returns the values of scheduling.gang whose API the cluster has.
func (t *tool) checkGangs(_ context.Context, c *connection) []finding {
	var has, lacks []string
	for _, api := range []struct{ gang, version, resource string }{
		{"Native", "scheduling.k8s.io/v1beta1", "podgroups"},
		{"Volcano", "scheduling.volcano.sh/v1beta1", "podgroups"},
		{"Coscheduling", "scheduling.x-k8s.io/v1alpha1", "podgroups"},
	} {
		if c.resources(api.version)[api.resource] {
			has = append(has, api.gang)
		} else {
			lacks = append(lacks, api.gang)
		}
	}
	findings := []finding{note("No gang scheduler is installed: jobs start without gangs, and cannot use scheduling.gang (docs/scheduling.md).")}
	if len(has) > 0 {
		findings = []finding{ok("scheduling.gang can be %s.", strings.Join(has, ", "))}
		if len(lacks) > 0 {
			findings[0].text += " Not installed: " + strings.Join(lacks, ", ") + "."
		}
	}
	if c.resources("kueue.x-k8s.io/v1beta1") != nil || c.resources("kueue.x-k8s.io/v1beta2") != nil {
		findings = append(findings, ok("Kueue is there: label %s puts a job into a queue.", v1alpha1.LabelQueue))
	}
	return findings
}

// briefly returns why something could not be read.
func (t *tool) briefly(err error) string {
	if apierrors.IsForbidden(err) {
		return "you may not read them."
	}
	return explain(err, t.flags)
}

// allowsNoPod are the resources for which a quota of 0 allows no pod at all, even after others end.
var allowsNoPod = []corev1.ResourceName{corev1.ResourcePods, "count/pods"}

// checkQuotas returns the resources that a quota of the namespace has used up, and whether a quota allows no pod.
func (t *tool) checkQuotas(ctx context.Context, c *connection) []finding {
	var quotas corev1.ResourceQuotaList
	if err := c.kube.List(ctx, &quotas, client.InNamespace(c.namespace)); err != nil {
		return []finding{note("Quotas of namespace %s are not known: %s", c.namespace, t.briefly(err))}
	}
	var findings []finding
	for i := range quotas.Items {
		q := &quotas.Items[i]
		for _, name := range slices.Sorted(maps.Keys(q.Status.Hard)) {
			hard := q.Status.Hard[name]
			if hard.IsZero() && slices.Contains(allowsNoPod, name) {
				findings = append(findings, bad("Quota %s allows no pods: jobs of namespace %s cannot run. Have its %s raised.", q.Name, c.namespace, name))
				continue
			}
			if used := q.Status.Used[name]; used.Cmp(hard) >= 0 {
				findings = append(findings, note("Quota %s leaves no more %s: %s of %s used.", q.Name, name, used.String(), hard.String()))
			}
		}
	}
	if len(findings) == 0 {
		findings = []finding{ok("No quota of namespace %s is used up (%d there).", c.namespace, len(quotas.Items))}
	}
	return findings
}

// Labels of a namespace that change what its pods may be.
const (
	labelEnforce = "pod-security.kubernetes.io/enforce"
	labelMesh    = "istio-injection"
	labelLinkerd = "linkerd.io/inject"
)

// checkAdmission returns the effects of admission on the pods of the namespace.
func (t *tool) checkAdmission(ctx context.Context, c *connection) []finding {
	var ns corev1.Namespace
	if err := c.kube.Get(ctx, client.ObjectKey{Name: c.namespace}, &ns); err != nil {
		if apierrors.IsNotFound(err) {
			return []finding{bad("There is no namespace %s: create it, or give another one with -n.", c.namespace)}
		}
		return []finding{note("The requirements of admission in namespace %s are unknown: %s", c.namespace, t.briefly(err))}
	}
	findings := []finding{ok("Namespace %s enforces no level of pod security.", c.namespace)}
	if level := ns.Labels[labelEnforce]; level != "" && level != "privileged" {
		findings = []finding{note("Namespace %s enforces pod security level %s: templates must keep to it.", c.namespace, level)}
	}
	if ns.Labels[labelMesh] == "enabled" || ns.Annotations[labelLinkerd] == "enabled" {
		findings = append(findings, note("A service mesh puts a side-car into the pods of namespace %s: ranks may not reach each other through it. Annotate the templates with sidecar.istio.io/inject: \"false\" or linkerd.io/inject: disabled.", c.namespace))
	}
	return findings
}

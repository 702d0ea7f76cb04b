package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/forecast"
	"github.com/trainingjob/operator/pkg/cli/rights"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/operator/cluster"
)

// triesFor is how long the dry run of a job's pods may take.
const triesFor = 10 * time.Second

// tried is what a cluster shows about the pods of a job that does not exist yet.
type tried struct {
	// refusals are about pods that are not valid, so that the job never runs as it is written.
	refusals []string
	// notes are about all else: refusals that may end without a change of the job, and what was not tried.
	notes []string
}

// tryPods sends one pod of each role as a dry run: admission and validation decide as for the operator's pods, and nothing is created. A quota counts
// that one pod only. The operator has other rights than the user, so a right that the user lacks is no refusal.
func (c *connection) tryPods(ctx context.Context, job *v1alpha1.TrainingJob) (t tried) {
	if job.Spec.IsManagedElsewhere() {
		return t
	}
	ctx, cancel := context.WithTimeout(ctx, triesFor)
	defer cancel()
	for _, pod := range forecast.Pods(job) {
		role := pod.Labels[v1alpha1.LabelRole]
		err := c.kube.Create(ctx, pod, client.DryRunAll)
		if err == nil || apierrors.IsAlreadyExists(err) {
			continue
		}
		reason, words := cluster.Refusal(err)
		right, _, isDenied := rights.Denied(err.Error())
		text := fmt.Sprintf("the cluster would refuse the pods of role %s (%s): %s", role, reason, strings.ReplaceAll(words, "\n", "; "))
		switch {
		case isDenied:
			t.notes = append(t.notes, fmt.Sprintf("The pods were not tried in a dry run: you may not %s.", right))
			return t
		case reason == "", strings.Contains(words, "does not support dry run"):
			t.notes = append(t.notes, "The pods were not tried in a dry run: "+sentence(oneLine(state.Printable(err.Error()))))
			return t
		case reason == v1alpha1.ReasonInvalid:
			t.refusals = append(t.refusals, text)
		default:
			t.notes = append(t.notes, sentence(strings.ToUpper(text[:1])+text[1:]))
		}
	}
	return t
}

// refusal returns the refusals as one error; nil if there are none.
func (t *tried) refusal() error {
	if len(t.refusals) == 0 {
		return nil
	}
	return fmt.Errorf("%s", strings.Join(t.refusals, "; "))
}

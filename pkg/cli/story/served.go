package story

import (
	"regexp"
	"strings"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Name is how kubectl tj names the job: with the kind of the Kubeflow job, if it serves one.
func (v *View) Name() string {
	if ref := state.ServedJob(v.Job); ref != nil {
		return strings.ToLower(ref.Kind) + "/" + v.Job.Name
	}
	return v.Job.Name
}

// queue returns the queue in which the job waits. Of a job that serves a Kubeflow job, the Kubeflow job waits.
func (v *View) queue() string {
	if v.Served != nil {
		return v.Served.GetLabels()[v1alpha1.LabelQueue]
	}
	return state.QueueOf(v.Job)
}

// inFieldsOfKubeflow renames the field that suspends a job, in a sentence about a job that serves a Kubeflow job.
func (v *View) inFieldsOfKubeflow(text string) string {
	if state.ServedJob(v.Job) == nil {
		return text
	}
	return strings.ReplaceAll(text, "spec.suspend", "spec.runPolicy.suspend")
}

// ownFields matches a field that only a TrainingJob has.
var ownFields = regexp.MustCompile(`\b(recovery|scheduling|progress|elastic|network)\.([a-zA-Z]+)`)

// inKubeflowsWords rewords the advice for a job that serves a Kubeflow job: a user changes the Kubeflow job, and the operator changes this one after it.
func (v *View) inKubeflowsWords(list []string) []string {
	ref := state.ServedJob(v.Job)
	if ref == nil || len(list) == 0 {
		return list
	}
	words := strings.NewReplacer(
		"kubectl edit tj -n NS NAME", "kubectl edit "+strings.ToLower(ref.Kind)+" -n NS "+v.Job.Name,
		submitAgain, "A "+ref.Kind+" that has finished does not start again: correct the cause, delete the job and create it again.",
	)
	reworded := make([]string, 0, len(list)+1)
	for _, text := range list {
		reworded = append(reworded, words.Replace(text))
	}
	if found := ownFields.FindStringSubmatch(strings.Join(list, " ")); found != nil {
		how := "convert the job to a TrainingJob: kubectl tj convert --help"
		if found[1] == "recovery" || found[1] == "progress" {
			how = "write it as JSON in its annotation " + v1alpha1.AnnotationOverrides + ", such as {\"" + found[1] + "\":{\"" + found[2] +
				"\":...}}: kubectl edit " + strings.ToLower(ref.Kind) + " -n NS " + v.Job.Name
		}
		reworded = append(reworded, "A "+ref.Kind+" has no field "+found[0]+": "+how)
	}
	return reworded
}

package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
)

// listing are the flags of list.
type listing struct {
	all      bool
	selector string
	output   string
}

func (t *tool) listCommand() *cobra.Command {
	o := &listing{}
	cmd := &cobra.Command{
		Use: "list [NAME...]", Aliases: []string{"ls", "get"}, Args: jobNames(0, mostNames, 0), ValidArgsFunction: t.completeJobs(mostNames),
		Short:   "List the jobs of a namespace, or of all namespaces",
		Example: "  kubectl tj list -n team-a\n  kubectl tj list -A -l team=vision -o wide",
		RunE: func(cmd *cobra.Command, names []string) error {
			c, err := t.connect()
			if err != nil {
				return err
			}
			namespace := c.namespace
			if o.all {
				namespace = ""
			}
			jobs, err := c.jobs(cmd.Context(), namespace, o.selector)
			if err != nil {
				return err
			}
			if jobs, err = c.named(cmd.Context(), jobs, names); err != nil {
				return err
			}
			if o.output == "" || o.output == "wide" {
				c.showQueues(cmd.Context(), namespace, jobs)
			}
			return t.printJobs(jobs, o, namespace)
		},
	}
	cmd.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "list the jobs of all namespaces")
	cmd.Flags().StringVarP(&o.selector, "selector", "l", "", "list only jobs with these labels, as key=value,key2!=value2")
	addOutput(cmd, &o.output, "wide")
	return cmd
}

// named returns the jobs that have one of the names; all of them if there are no names.
func (c *connection) named(ctx context.Context, jobs []v1alpha1.TrainingJob, names []string) ([]v1alpha1.TrainingJob, error) {
	if len(names) == 0 {
		return jobs, nil
	}
	for _, name := range names {
		if !slices.ContainsFunc(jobs, func(job v1alpha1.TrainingJob) bool { return isNamed(&job, name) }) {
			_, err := c.job(ctx, name) // it knows the cause
			return nil, cmp.Or(err, c.unknown(ctx, name))
		}
	}
	return slices.DeleteFunc(jobs, func(job v1alpha1.TrainingJob) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return isNamed(&job, name) })
	}), nil
}

// isNamed reports whether a canonical name means the job.
func isNamed(job *v1alpha1.TrainingJob, name string) bool {
	return job.Name == name || nameOf(job) == name
}

// printJobs prints the list in the form that the flags ask for.
func (t *tool) printJobs(jobs []v1alpha1.TrainingJob, o *listing, namespace string) error {
	if o.output != "" && o.output != "wide" {
		list := &v1alpha1.TrainingJobList{Items: jobs}
		list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.Kind + "List"))
		return t.printObject(list, o.output)
	}
	if len(jobs) == 0 {
		where := "in any namespace"
		if namespace != "" {
			where = "in namespace " + namespace
		}
		fmt.Fprintf(t.ErrOut, "No TrainingJobs %s.\n", where)
		return nil
	}
	header := []string{"NAME", "PHASE", "READY", "RESTARTS", "AGE", "WHY"}
	if o.output == "wide" {
		header = []string{"NAME", "PHASE", "READY", "RESTARTS", "AGE", "FRAMEWORK", "QUEUE", "ATTEMPT", "STEP", "RAN", "WHY"}
	}
	if o.all {
		header = append([]string{"NAMESPACE"}, header...)
	}
	rows := [][]string{header}
	for i := range jobs {
		rows = append(rows, t.row(&jobs[i], o))
	}
	return t.table(rows)
}

func (t *tool) row(job *v1alpha1.TrainingJob, o *listing) []string {
	status := &job.Status
	row := []string{
		nameOf(job), cmp.Or(string(status.Phase), "-"), cmp.Or(status.Ready, "-"), fmt.Sprint(status.Restarts),
		duration.HumanDuration(t.now().Sub(job.CreationTimestamp.Time)),
	}
	if o.output == "wide" {
		step := "-"
		if status.Progress != nil {
			step = fmt.Sprint(status.Progress.Step)
		}
		row = append(row, string(job.Spec.Framework), cmp.Or(state.QueueOf(job), "-"), fmt.Sprint(status.Attempt), step, ratioOf(status, t.now()))
	}
	if o.all {
		row = append([]string{job.Namespace}, row...)
	}
	why := status.Reason
	if o.output == "wide" {
		why = strings.TrimSuffix(status.Reason+": "+status.Message, ": ")
	}
	return append(row, cmp.Or(why, "-"))
}

// ratioOf returns which part of its time the job has run: "0.973".
func ratioOf(status *v1alpha1.TrainingJobStatus, now time.Time) string {
	if ratio, ok := state.RunningTimeRatio(status, now); ok {
		return fmt.Sprintf("%.3f", ratio)
	}
	return "-"
}

// table prints rows in columns.
func (t *tool) table(rows [][]string) error {
	_, err := fmt.Fprint(t.Out, t.columns(rows))
	return err
}

// columns returns rows in columns, each line cut to the screen.
func (t *tool) columns(rows [][]string) string {
	var text strings.Builder
	w := printers.GetNewTabWriter(&text)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = state.Printable(cell)
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush() // into memory
	var b strings.Builder
	for line := range strings.Lines(t.screen.fit(text.String())) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}

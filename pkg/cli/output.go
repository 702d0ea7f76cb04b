package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// addOutput adds --output with the forms of kubectl and more. Another form is an error before any request to the cluster.
func addOutput(cmd *cobra.Command, to *string, more ...string) {
	forms := append([]string{"json", "yaml", "name"}, more...)
	cmd.Flags().StringVarP(to, "output", "o", "", "print "+strings.Join(forms, ", ")+" instead of text")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(forms, cobra.ShellCompDirectiveNoFileComp))
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if *to != "" && !slices.Contains(forms, *to) {
			return fmt.Errorf("--output %q: write %s", *to, strings.Join(forms, ", "))
		}
		return nil
	}
}

// printObject prints an object or a list as json, yaml or name.
func (t *tool) printObject(object runtime.Object, form string) error {
	if list, isList := object.(*v1alpha1.TrainingJobList); isList {
		for i := range list.Items {
			bare(&list.Items[i])
		}
		if form == "name" {
			return meta.EachListItem(list, func(o runtime.Object) error { return t.printObject(o, form) })
		}
	}
	if job, isJob := object.(*v1alpha1.TrainingJob); isJob {
		bare(job)
	}
	printer, err := genericclioptions.NewPrintFlags("").WithDefaultOutput(form).ToPrinter()
	if err != nil {
		return err
	}
	return printer.PrintObj(object, t.Out)
}

// bare makes a job what kubectl get -o yaml shows: with its kind, which clients drop, and without managedFields.
func bare(job *v1alpha1.TrainingJob) {
	job.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))
	job.ManagedFields = nil
}

package cli

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// completionTimeout is how long a shell may stand still for a completion.
const completionTimeout = 3 * time.Second

// completeJobs completes the names of jobs, at most as many as the verb takes: NAME, tj/NAME, and pytorchjob/NAME where the job serves such a job.
func (t *tool) completeJobs(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		c, err := t.connect()
		if err != nil || len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		jobs, err := c.jobs(ctx, c.namespace, "")
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		word, _, hasKind := strings.Cut(begun, "/")
		var names []string
		for i := range jobs {
			phase := string(jobs[i].Status.Phase)
			switch {
			case hasKind && isOfKind(&jobs[i], word):
				names = append(names, cobra.CompletionWithDesc(word+"/"+jobs[i].Name, phase))
			case !hasKind:
				names = append(names, cobra.CompletionWithDesc(jobs[i].Name, phase))
				if full := nameOf(&jobs[i]); full != jobs[i].Name {
					names = append(names, cobra.CompletionWithDesc(full, phase))
				}
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// isOfKind reports whether the word before a slash means the job.
func isOfKind(job *v1alpha1.TrainingJob, word string) bool {
	kind, isKubeflow := kubeflowKind(word)
	return isKubeflow && serves(job, kind) || slices.Contains(kinds, strings.ToLower(word))
}

// completeNamespaces completes what --namespace and --context may be.
func (t *tool) completeNamespaces(root *cobra.Command) {
	_ = root.RegisterFlagCompletionFunc("namespace", func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		c, err := t.connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		var list corev1.NamespaceList
		if err := c.kube.List(ctx, &list); err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
	_ = root.RegisterFlagCompletionFunc("context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		config, err := t.flags.ToRawKubeConfigLoader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return slices.Collect(maps.Keys(config.Contexts)), cobra.ShellCompDirectiveNoFileComp
	})
}

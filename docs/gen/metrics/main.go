// Command metrics writes the catalogue of the operator's metrics:
//
//	metrics PAGE.MD CATALOGUE.JSON
//
// The page is for people, the JSON for what checks rules and dashboards.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/trainingjob/operator/pkg/operator/metrics"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: metrics PAGE.MD CATALOGUE.JSON")
		os.Exit(2)
	}
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "metrics:", err)
		os.Exit(1)
	}
}

func generate(page, catalogue string) error {
	list, err := json.MarshalIndent(metrics.All, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(catalogue, append(list, '\n'), 0o644); err != nil {
		return err
	}
	return os.WriteFile(page, []byte(text()), 0o644)
}

var groups = []struct {
	group       metrics.Group
	title, says string
}{
	{metrics.GroupEvents, "Counted as it happens",
		"The leader counts them from 0 since its process began: use `rate` and `increase`, which handle restarts, and `sum` over the replicas."},
	{metrics.GroupFleet, "All jobs at this moment",
		"Read from the operator's cache at each scrape, without a request to the API server. Only the leader exports them."},
	{metrics.GroupProcess, "What the process can see",
		"Exported by every replica of the operator and by Kueue's adapter. `kind` is a kind with its group: `Pod`, `TrainingJob.trainingjob.dev`."},
	{metrics.GroupJobs, "Each job at this moment",
		"Only with the flag `--job-metrics`: about 20 series a job. They come from the job's status, so they outlive the operator, and they end with the job."},
}

// text returns the page.
func text() string {
	var out strings.Builder
	out.WriteString("# Metrics\n\nGenerated from [pkg/operator/metrics](../pkg/operator/metrics/catalogue.go) by `make generate`. [How to use them](admins.md#metrics).\n" +
		"No label contains a user's text, except names: of nodes, and of jobs, namespaces and queues in the series by job.\n" +
		"The operator also exports the metrics of controller-runtime (`controller_runtime_*`, `workqueue_*`, `rest_client_*`) and of Go (`go_*`, `process_*`).\n")
	for _, g := range groups {
		fmt.Fprintf(&out, "\n## %s\n\n%s\n\n| metric | type | labels | unit | meaning |\n|---|---|---|---|---|\n", g.title, g.says)
		for _, f := range metrics.All {
			if f.Group == g.group {
				fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s |\n", f.Name, f.Kind, strings.Join(quoted(f.Labels), " "), f.Unit, f.Help)
			}
		}
	}
	return out.String()
}

// quoted returns the labels as code, in order.
func quoted(labels []string) []string {
	list := slices.Clone(labels)
	for i, label := range list {
		list[i] = "`" + label + "`"
	}
	return list
}

// Command bench measures how fast the operator brings pods to Running, beside pods made by hand (the limit of the
// cluster, ratio 1.00) and batch/v1 Jobs, in the same run on the same cluster. It works on any kubeconfig; the pods must
// be able to run at once (on the lab's fake nodes they do).
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

type options struct {
	kubeconfig string
	metrics    string
	namespace  string
	image      string
	rounds     int
	workers    int
	jobs       int
	replicas   int
	only       []string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	log.SetLogger(logr.Discard()) // controller-runtime would say that nobody has set one
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measures pods per second of TrainingJobs, batch/v1 Jobs and pods made by hand",
		Args:  cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return checkNumbers(cmd) },
		RunE:              func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}
	cmd.AddCommand(recoveryCommand(&o), gangsCommand(&o), namesCommand(&o), partsCommand(&o), scaleCommand(&o), tenantsCommand(&o), queuedCommand(&o), floodCommand(&o), peersCommand(&o), renderCommand())
	f := cmd.PersistentFlags()
	f.StringVar(&o.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "path of the kubeconfig; default: the environment variable KUBECONFIG")
	f.StringVar(&o.metrics, "metrics", os.Getenv("OPERATOR_METRICS"), "URL of the operator's metrics, to count its requests, CPU and memory; empty leaves them out")
	f.StringVar(&o.namespace, "namespace", "default", "namespace to run in")
	f.StringVar(&o.image, "image", "registry.k8s.io/pause:3.10", "image of the pods")
	f.IntVar(&o.rounds, "rounds", 3, "rounds; the median counts")
	f.IntVar(&o.workers, "workers", 512, "pods of the one large job; bench without a command leaves it out at 0")
	f.IntVar(&o.jobs, "jobs", 100, "number of the small jobs; bench without a command leaves them out at 0")
	f.IntVar(&o.replicas, "replicas", 8, "pods of each small job")
	f.StringSliceVar(&o.only, "only", nil, "measure these only: by hand, same by hand, TrainingJob, batch/v1 Job; default: all")
	return cmd
}

// shape is how many jobs of how many pods are made.
type shape struct{ jobs, pods int }

func (s shape) String() string { return fmt.Sprintf("%d x %d", s.jobs, s.pods) }

func run(ctx context.Context, o options) error {
	var names []string
	makers := slices.Clone(allMakers)
	for _, m := range allMakers {
		names = append(names, m.name)
	}
	if len(o.only) > 0 {
		makers = slices.DeleteFunc(makers, func(m maker) bool { return !slices.Contains(o.only, m.name) })
	}
	if err := checkNames("only", o.only, names); err != nil {
		return err
	}
	shapes := o.shapes()
	if len(shapes) == 0 {
		return errors.New("--workers 0 --jobs 0: nothing is left to measure")
	}
	b, err := newBench(o)
	if err != nil {
		return err
	}
	for _, s := range shapes {
		if err := b.compare(ctx, s, makers); err != nil {
			return err
		}
	}
	return nil
}

// shapes are the large job and the small jobs, without what 0 leaves out.
func (o options) shapes() []shape {
	return slices.DeleteFunc([]shape{{1, o.workers}, {o.jobs, o.replicas}}, func(s shape) bool { return s.jobs*s.pods == 0 })
}

// compare measures all makers in turn, round by round, and reports their medians.
func (b *bench) compare(ctx context.Context, s shape, makers []maker) error {
	results := map[string][]result{}
	for round := range b.rounds {
		for _, m := range makers {
			r, err := b.measure(ctx, m, s)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", m.name, s, err)
			}
			fmt.Printf("  round %d, %s, %-17s %6.1f pods/s\n", round+1, s, m.name, r.rate)
			results[m.name] = append(results[m.name], r)
		}
	}
	report(s, makers, results)
	return nil
}

// report prints the medians of a shape, and each rate's ratio to the first maker's, by default pods made by hand.
func report(s shape, makers []maker, results map[string][]result) {
	limit := median(results[makers[0].name], func(r result) float64 { return r.rate })
	fmt.Printf("\n%s pods, from the first request until all run:\n", s)
	for _, m := range makers {
		rate := median(results[m.name], func(r result) float64 { return r.rate })
		fmt.Printf("  %-17s %6.1f s  %6.1f pods/s  ratio %.2f", m.name, float64(s.jobs*s.pods)/rate, rate, rate/limit)
		if results[m.name][0].operator != nil {
			fmt.Printf("  operator: %.1f requests a job, %.2f CPU s, %.0f MB",
				median(results[m.name], func(r result) float64 { return r.operator.requests })/float64(s.jobs),
				median(results[m.name], func(r result) float64 { return r.operator.cpu }),
				median(results[m.name], func(r result) float64 { return r.operator.memory })/1e6)
		}
		fmt.Println()
	}
	fmt.Println()
}

func median(results []result, of func(result) float64) float64 {
	var values []float64
	for _, r := range results {
		values = append(values, of(r))
	}
	return middle(values)
}

// middle returns the median of values, which it sorts.
func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

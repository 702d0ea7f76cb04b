package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/report"
	"github.com/trainingjob/operator/pkg/cli/web"
)

// uiFlags are the flags of ui.
type uiFlags struct {
	listing
	port int
}

func (t *tool) uiCommand() *cobra.Command {
	o := &uiFlags{}
	cmd := &cobra.Command{
		Use: "ui", Args: noNames,
		Short: "Show all jobs in your browser, live",
		Long: `Show the jobs in your browser, live: a list, and the report of each job.

It listens on this machine alone and prints an address that has a token in it: who has it sees what you may see. Control-C ends it.`,
		Example: "  kubectl tj ui\n  kubectl tj ui -A -l team=vision --port 8080",
		RunE:    func(cmd *cobra.Command, _ []string) error { return t.ui(cmd.Context(), o) },
	}
	cmd.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "show the jobs of all namespaces")
	cmd.Flags().StringVarP(&o.selector, "selector", "l", "", "show only jobs with these labels, as key=value,key2!=value2")
	cmd.Flags().IntVar(&o.port, "port", 0, "the port of 127.0.0.1 to listen on; 0 is any that is free")
	return cmd
}

func (t *tool) ui(ctx context.Context, o *uiFlags) error {
	if o.port < 0 || o.port > 65535 {
		return fmt.Errorf("--port %d: write one between 1 and 65535, or 0 for any that is free", o.port)
	}
	selected, err := labels.Parse(o.selector)
	if err != nil {
		return fmt.Errorf("--selector %q: write key=value, with commas between several: %w", o.selector, err)
	}
	c, err := t.connect()
	if err != nil {
		return err
	}
	namespace := c.namespace
	if o.all {
		namespace = ""
	}
	watching, end := context.WithCancel(ctx)
	defer end()
	jobs, err := t.watchJobs(watching, c, namespace, selected)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.port)))
	if err != nil {
		return fmt.Errorf("--port %d cannot be listened on: %w; without --port any that is free is taken", o.port, err)
	}
	server := web.New(jobs, t.now)
	fmt.Fprintln(t.Out, server.Address(listener.Addr()))
	t.say("Open this address in your browser. Control-C ends it.")
	return server.Serve(watching, listener)
}

// watchedJobs are the jobs of the pages, as a watch last showed them.
type watchedJobs struct {
	following
	tool  *tool
	c     *connection
	store cache.Store
}

// watchJobs follows the jobs until the context ends. It returns an error if the caller may not.
func (t *tool) watchJobs(ctx context.Context, c *connection, namespace string, selected labels.Selector) (*watchedJobs, error) {
	quiet := *t
	quiet.ErrOut = io.Discard // a page reports omissions once, and not with each request
	w := &watchedJobs{tool: &quiet, c: c, following: following{changed: make(chan struct{}), say: t.say}}
	if _, err := c.jobs(ctx, namespace, selected.String()); err != nil { // it knows more about what is wrong than a watch
		return nil, err
	}
	lister := c.lister(&v1alpha1.TrainingJobList{}, namespace, &client.ListOptions{LabelSelector: selected}, w.noteRequest)
	store, informer := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: lister, ObjectType: &v1alpha1.TrainingJob{}, Handler: w.wakes()})
	w.store = store
	return w, w.begin(ctx, informer)
}

// List returns the jobs, sorted, and a channel that is closed when they may have changed.
func (w *watchedJobs) List() ([]v1alpha1.TrainingJob, <-chan struct{}) {
	w.mu.Lock()
	changed := w.changed
	w.mu.Unlock()
	var jobs []v1alpha1.TrainingJob
	for _, o := range w.store.List() {
		if job, isJob := o.(*v1alpha1.TrainingJob); isJob {
			jobs = append(jobs, *job)
		}
	}
	slices.SortFunc(jobs, byName)
	return jobs, changed
}

// Report returns the report of a job that is shown.
func (w *watchedJobs) Report(ctx context.Context, namespace, name string) (report.Report, error) {
	o, found, err := w.store.GetByKey(namespace + "/" + name)
	job, isJob := o.(*v1alpha1.TrainingJob)
	if err != nil || !found || !isJob {
		return report.Report{}, web.ErrUnknown
	}
	v, err := w.c.view(ctx, w.tool, job)
	if err != nil {
		return report.Report{}, err
	}
	return reportOf(v), nil
}

// Explain returns an error as a sentence.
func (w *watchedJobs) Explain(err error) string { return explain(err, w.tool.flags) }

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"

	"github.com/trainingjob/operator/pkg/cli/advice"
	"github.com/trainingjob/operator/pkg/cli/story"
	"github.com/trainingjob/operator/pkg/job/stacks"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/operator/progress"
)

const (
	// stacksWithin is how long a rank may take to show its stacks, by way of the API server.
	stacksWithin = 5 * time.Second
	// stacksAtOnce is how many pages are read at once.
	stacksAtOnce = 32
	// longestStacks is the longest page of stacks, in bytes.
	longestStacks = 64 << 10
)

// stackFlags are the flags of stacks.
type stackFlags struct {
	replica, output string
	rank            int
}

// asked is a replica, and the stacks that its page shows.
type asked struct {
	Replica   string           `json:"replica"`
	Rank      int              `json:"rank"`
	Processes []stacks.Process `json:"processes,omitempty"`
	// Silent is whether it does not answer, Error why it shows no stacks otherwise.
	Silent bool   `json:"silent,omitempty"`
	Error  string `json:"error,omitempty"`

	slot state.Slot
	pod  string
	port int32
}

func (t *tool) stacksCommand() *cobra.Command {
	o := &stackFlags{}
	cmd := &cobra.Command{
		Use: "stacks NAME", Args: jobNames(1, 1, 0), ValidArgsFunction: t.completeJobs(1),
		Short: "Show where each rank of a job is, by its stack trace",
		Long: `Show where each rank is: the ranks grouped by their stacks, and the frames of each group.

The ranks serve their stacks with trainingjob.report() on the port that spec.progress.port names. The API server forwards the requests, with
your own rights. Each rank writes its stacks to its log too.`,
		Example: "  kubectl tj stacks mnist\n  kubectl tj stacks mnist --replica worker-2",
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.stacks(cmd.Context(), args[0], o)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", "", "print json instead of text")
	f.StringVar(&o.replica, "replica", "", "print all threads of this replica, such as worker-2")
	f.IntVar(&o.rank, "rank", -1, "print all threads of the replica with this rank")
	return cmd
}

func (t *tool) stacks(ctx context.Context, name string, o *stackFlags) error {
	if o.output != "" && o.output != "json" {
		return fmt.Errorf("--output %q: write json", o.output)
	}
	c, job, err := t.find(ctx, name)
	if err != nil {
		return err
	}
	pods, err := c.pods(ctx, job)
	if err != nil {
		return err
	}
	s, err := (&story.View{Job: job, Pods: pods, Now: t.now()}).Snapshot()
	if err != nil {
		return err
	}
	ranks, err := whoShowsStacks(s, advice.Of(job, c.folder), o)
	if err != nil {
		return err
	}
	if err := c.ask(ctx, job.Namespace, ranks); err != nil {
		return err
	}
	switch {
	case o.output != "":
		return t.printStacks(ranks)
	case o.replica != "" || o.rank >= 0:
		return t.printThreads(&ranks[0])
	default:
		t.printGroups(ranks)
		return nil
	}
}

// whoShowsStacks returns the running replicas that the flags name. It returns an error with an alternative if there are none.
func whoShowsStacks(s *state.Snapshot, reader advice.Reader, o *stackFlags) (ranks []asked, err error) {
	job := s.Job
	if !state.ReportsByPage(&job.Spec) {
		return nil, fmt.Errorf("%s has no spec.progress.port: its ranks serve no stacks. %s", reader.Name(), reader.Text(advice.NoStacks, nil))
	}
	var names []string
	isKnown := false
	for r := range s.Replicas() {
		rank := state.Rank(&job.Spec, r.Slot)
		names = append(names, r.Slot.String())
		if o.replica != "" && !strings.EqualFold(o.replica, r.Slot.String()) || o.rank >= 0 && o.rank != rank {
			continue
		}
		if isKnown = true; r.State == state.Running && r.Pod.Page.Port > 0 {
			ranks = append(ranks, asked{Replica: r.Slot.String(), Rank: rank, slot: r.Slot, pod: r.Pod.Name, port: r.Pod.Page.Port})
		}
	}
	switch {
	case !isKnown && o.replica != "":
		return nil, unknownReplica(job.Name, o.replica, names)
	case !isKnown:
		return nil, fmt.Errorf("--rank %d: %s has the ranks 0 to %d", o.rank, job.Name, len(names)-1)
	case len(ranks) == 0:
		return nil, fmt.Errorf("%s has no running pod of such a replica that serves a page: see %s", reader.Name(), reader.Command(advice.Status))
	}
	return ranks, nil
}

// ask has each replica show its stacks. It returns an error if the user may not ask.
func (c *connection) ask(ctx context.Context, namespace string, ranks []asked) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(stacksAtOnce)
	for i := range ranks {
		group.Go(func() error { return c.askOne(ctx, namespace, &ranks[i]) })
	}
	return group.Wait()
}

func (c *connection) askOne(ctx context.Context, namespace string, rank *asked) error {
	ctx, cancel := context.WithTimeout(ctx, stacksWithin)
	defer cancel()
	body, err := c.stacks(ctx, namespace, rank)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return err
	case errors.Is(err, context.DeadlineExceeded), progress.IsSilence(err):
		rank.Silent = true
	case err != nil:
		rank.Error = oneLine(err.Error())
	default:
		if rank.Processes, err = stacks.Parse(body); err != nil {
			rank.Error = err.Error()
		}
	}
	return nil
}

// proxiedStacks returns a function that returns the page of a rank's stacks, by the API server's proxy.
func proxiedStacks(core kubernetes.Interface) func(context.Context, string, *asked) ([]byte, error) {
	return func(ctx context.Context, namespace string, rank *asked) ([]byte, error) {
		answer, err := core.CoreV1().Pods(namespace).ProxyGet("http", rank.pod, fmt.Sprint(rank.port), "stacks", nil).Stream(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { _ = answer.Close() }() // only read from
		return io.ReadAll(io.LimitReader(answer, longestStacks))
	}
}

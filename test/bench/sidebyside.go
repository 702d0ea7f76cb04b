package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"github.com/spf13/cobra"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/trainingjob/operator/test/api/testbed"
	"github.com/trainingjob/operator/test/bench/results"
)

// peerOptions are those of bench peers.
type peerOptions struct {
	rows, makers []string
	huge         int
	restJobs     int
	restFor      time.Duration
	nodeWait     time.Duration
	results      string
}

// sideBySide measures contenders in turn on one lab. The operator runs all the time, as it does nothing for the others; a peer runs
// only in its turn.
type sideBySide struct {
	*bench
	peerOptions
	lab   *testbed.Lab
	admin *rest.Config
	run   *results.Run
}

func peersCommand(o *options) *cobra.Command {
	var p peerOptions
	cmd := &cobra.Command{
		Use:   "peers",
		Short: "Measures controllers of training jobs by others, batch/v1 Jobs and pods by hand in turn with TrainingJobs",
		Long: `peers needs a lab (LAB_DIR) that was started with --peer for each of them: make bench-peers starts one. It writes what it has measured
to a file that further runs add to, so that a run can be made in parts: of each row and maker the newest run counts, with all of its rounds,
and the others stay. Who is ahead is open unless both were measured in one run of three rounds or more. bench render makes the tables and
the picture of it.`,
		Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := newSideBySide(cmd.Context(), *o, p)
			if err != nil {
				return err
			}
			return s.measureAll(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&p.rows, "rows", nil, "measure these only: "+strings.Join(results.RowNames, ", ")+
		"; default: all, "+strings.Join(longRows, ", ")+" in one round only")
	f.StringSliceVar(&p.makers, "makers", nil, "measure these only, and pods by hand: "+strings.Join(makerNames(), ", ")+"; default: all")
	f.IntVar(&p.huge, "huge", 2500, "pods of the row huge")
	f.IntVar(&p.restJobs, "rest-jobs", 500, "jobs of the row rest")
	f.DurationVar(&p.restFor, "rest-for", time.Minute, "how long the row rest looks at them")
	f.DurationVar(&p.nodeWait, "node-wait", 10*time.Minute, "how long the row node waits for all ranks to run again")
	f.StringVar(&p.results, "results", defaultResults, "file that the results are added to")
	return cmd
}

func makerNames() []string {
	var names []string
	for _, c := range contenders() {
		names = append(names, c.name)
	}
	return names
}

// newSideBySide finds at once what would otherwise fail after some minutes.
func newSideBySide(ctx context.Context, o options, p peerOptions) (*sideBySide, error) {
	_, unreadable := results.Read(p.results)
	if err := errors.Join(checkNames("rows", p.rows, results.RowNames), checkNames("makers", p.makers, makerNames()), unreadable); err != nil {
		return nil, err
	}
	lab, err := testbed.GivenLab()
	if err != nil {
		return nil, fmt.Errorf("%w; make bench-peers starts one", err)
	}
	o.kubeconfig = lab.Kubeconfig()
	b, err := newBench(o)
	if err != nil {
		return nil, err
	}
	admin, err := testbed.Config(lab.Kubeconfig(), "trainingjob-bench")
	if err != nil {
		return nil, err
	}
	s := &sideBySide{bench: b, peerOptions: p, lab: lab, admin: admin}
	s.run, err = s.newRun(ctx)
	return s, err
}

// newRun describes the run that begins.
func (s *sideBySide) newRun(ctx context.Context) (*results.Run, error) {
	client, err := discovery.NewDiscoveryClientForConfig(s.admin)
	if err != nil {
		return nil, fmt.Errorf("asking for the version of Kubernetes: %w", err)
	}
	version, err := client.ServerVersionWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking for the version of Kubernetes: %w", err)
	}
	nodes, err := s.countNodes(ctx)
	if err != nil {
		return nil, err
	}
	return &results.Run{Begin: time.Now().UTC().Truncate(time.Second), Kubernetes: version.GitVersion,
		Cores: runtime.NumCPU(), Machine: machine(), Nodes: nodes, LoadBefore: load()}, nil
}

// machine is the name of the processor and the memory; empty if they are not known.
func machine() string {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return ""
	}
	processors, err := fs.CPUInfo()
	memory, unknown := fs.Meminfo()
	if err != nil || unknown != nil || len(processors) == 0 || memory.MemTotalBytes == nil {
		return ""
	}
	return fmt.Sprintf("%s, %d GiB", cmp.Or(processors[0].ModelName, runtime.GOARCH), (*memory.MemTotalBytes+1<<29)>>30)
}

// load is how many processes wanted to run in the last minute; 0 if this is not known.
func load() float64 {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0
	}
	average, err := fs.LoadAvg()
	if err != nil {
		return 0
	}
	return average.Load1
}

// measureAll measures round by round, row by row, and in a row contender after contender, so that all have the same share of what else
// the machine does. The rows that take half an hour are measured in the first round only, unless --rows names them.
func (s *sideBySide) measureAll(ctx context.Context) error {
	for round := range s.rounds {
		for _, row := range results.RowNames {
			if !s.isDue(row, round) {
				continue
			}
			fmt.Printf("round %d, %s\n", round+1, s.title(row, s.bench))
			if err := s.measureAllIn(ctx, row); err != nil {
				return fmt.Errorf("%s: %w", s.title(row, s.bench), err)
			}
		}
	}
	return nil
}

func (p peerOptions) isDue(row string, round int) bool {
	if len(p.rows) > 0 {
		return slices.Contains(p.rows, row)
	}
	return round == 0 || !slices.Contains(longRows, row)
}

// measureAllIn measures a row of all contenders. It writes what a contender's figures are as soon as they are known: a row can take an hour.
func (s *sideBySide) measureAllIn(ctx context.Context, row string) error {
	if row == rowNode {
		return errors.Join(s.loseNode(ctx), s.write())
	}
	for _, c := range s.chosen() {
		if c.only != nil && !slices.Contains(c.only, row) {
			continue
		}
		if err := s.measureContender(ctx, c, row); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if err := s.write(); err != nil {
			return err
		}
	}
	return nil
}

// write writes what the run has measured so far.
func (s *sideBySide) write() error {
	s.run.End, s.run.LoadAfter = time.Now().UTC().Truncate(time.Second), load()
	return results.Add(s.results, *s.run)
}

// chosen are the contenders of the run; pods by hand are always among them.
func (s *sideBySide) chosen() []contender {
	return slices.DeleteFunc(contenders(), func(c contender) bool {
		return len(s.makers) > 0 && c.name != results.Limit && !slices.Contains(s.makers, c.name)
	})
}

// measureContender measures a row of a contender, with its controllers running only as long. What does not come to its end in time is a
// result, too.
func (s *sideBySide) measureContender(ctx context.Context, c contender, row string) (err error) {
	if reason := c.cannot[row]; reason != "" {
		s.record(c, row, results.Figures{}, reason)
		return nil
	}
	if err := s.startPeers(ctx, c); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stopPeers(ctx, c)) }()
	figures, failed := s.bounded(ctx, c, row)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	reason := ""
	if failed != nil {
		reason = "failed: " + failed.Error()
	}
	s.record(c, row, figures, reason)
	return nil
}

// bounded measures a row, for so long as its size allows, and removes what it has made.
func (s *sideBySide) bounded(ctx context.Context, c contender, row string) (results.Figures, error) {
	bound := map[string]time.Duration{rowHuge: 2 * patience, rowRest: 4*patience + s.restFor}
	limit, ok := bound[row]
	if !ok {
		limit = patience
	}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s.turn++
	if c.namespace != "" {
		defer func(usual string) { s.namespace = usual }(s.namespace)
		s.namespace = c.namespace
	}
	figures, err := s.measureRow(within, c, row)
	cleaning, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	return figures, errors.Join(err, s.cleanUp(cleaning, maker{kinds: c.kinds}))
}

func (s *sideBySide) record(c contender, row string, figures results.Figures, reason string) {
	s.run.Record(results.Cell{Row: row, Title: s.title(row, s.bench), Maker: c.name, Version: s.version(c), Cannot: reason}, figures)
	switch {
	case reason != "":
		fmt.Printf("  %-24s cannot: %s\n", c.name, reason)
	default:
		cost := figures.Cost
		fmt.Printf("  %-24s %7.2f s  %6d requests (and %d of Kubernetes' controllers), %.2f CPU s, %.0f MB; etcd %.1f MB, watches %.1f MB\n",
			c.name, figures.Seconds, cost.Requests, cost.Borrowed, cost.CPUSeconds, cost.PeakMB, cost.EtcdMB, cost.WatchMB)
	}
}

// version is that of the Go module that the contender's last peer was built from, or that of Kubernetes; empty for this tree's own.
func (s *sideBySide) version(c contender) string {
	if len(c.peers) == 0 {
		return map[string]string{"batch/v1 Job": s.run.Kubernetes}[c.name]
	}
	for _, folder := range []string{"peers", ""} {
		link := filepath.Join(filepath.Dir(s.lab.Binary), folder, c.peers[len(c.peers)-1]+".module")
		if module, err := os.Readlink(link); err == nil {
			_, version, _ := strings.Cut(filepath.Base(module), "@")
			return version
		}
	}
	return ""
}

func (s *sideBySide) startPeers(ctx context.Context, c contender) error {
	for _, name := range c.peers {
		if _, err := s.lab.Run(ctx, "peer", "start", name, "--speed", cmp.Or(c.speed, "tuned")); err != nil {
			return err
		}
	}
	return nil
}

// stopPeers ends the contender's peers, even if ctx is done.
func (s *sideBySide) stopPeers(ctx context.Context, c contender) error {
	var failures []error
	for _, name := range slices.Backward(c.peers) {
		_, err := s.lab.Run(context.WithoutCancel(ctx), "peer", "stop", name)
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

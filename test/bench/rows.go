package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/test/bench/results"
)

// The rows of results.RowNames, which --rows knows.
const (
	rowLarge   = "large"
	rowSmall   = "small"
	rowHuge    = "huge"
	rowRestart = "restart"
	rowReplace = "replace"
	rowNode    = "node"
	rowRest    = "rest"
)

// longRows are measured once, however many rounds there are, unless --rows names them.
var longRows = []string{rowHuge, rowNode, rowRest}

// title is what the table says of a row.
func (o peerOptions) title(row string, b *bench) string {
	switch row {
	case rowLarge:
		return fmt.Sprintf("%s to running", shape{1, b.workers})
	case rowSmall:
		return fmt.Sprintf("%s to running", shape{b.jobs, b.replicas})
	case rowHuge:
		return fmt.Sprintf("%s to running", shape{1, o.huge})
	case rowRestart:
		return fmt.Sprintf("whole restart of %d", b.workers)
	case rowReplace:
		return fmt.Sprintf("one replaced in %d", b.workers)
	case rowNode:
		return fmt.Sprintf("node lost under %d", b.workers)
	default:
		return fmt.Sprintf("%s at rest for %s", shape{o.restJobs, restPods}, o.restFor)
	}
}

// measureRow measures a row of one contender whose controllers run alone.
func (s *sideBySide) measureRow(ctx context.Context, c contender, row string) (results.Figures, error) {
	switch row {
	case rowLarge:
		return s.starting(ctx, c, shape{1, s.workers})
	case rowSmall:
		return s.starting(ctx, c, shape{s.jobs, s.replicas})
	case rowHuge:
		return s.starting(ctx, c, shape{1, s.huge})
	case rowRestart:
		return s.recovering(ctx, c, whole)
	case rowReplace:
		return s.recovering(ctx, c, single)
	default:
		return s.resting(ctx, c)
	}
}

// starting measures from the first request until all pods run.
func (s *sideBySide) starting(ctx context.Context, c contender, shape shape) (results.Figures, error) {
	running, err := s.watchRunning(ctx)
	if err != nil {
		return results.Figures{}, fmt.Errorf("watching pods: %w", err)
	}
	defer running.Stop()
	m, err := s.newMeter(ctx, c)
	if err != nil {
		return results.Figures{}, err
	}
	begin := time.Now()
	if err := c.submit(ctx, s.bench, shape, whole); err != nil {
		return results.Figures{}, err
	}
	if err := awaitRunning(ctx, running, shape.jobs*shape.pods); err != nil {
		return results.Figures{}, err
	}
	return s.figures(ctx, m, time.Since(begin))
}

// How long a contender has at most for what it still does when all pods run: afterwards a measurement, and before the minutes at rest begin.
const (
	afterwards = 20 * time.Second
	beforeRest = 2 * time.Minute
)

// figures returns the time, and the costs up to the moment when the contender has no more to do.
func (s *sideBySide) figures(ctx context.Context, m *meter, took time.Duration) (results.Figures, error) {
	if err := m.settle(ctx, afterwards); err != nil {
		return results.Figures{}, err
	}
	cost, err := m.cost(ctx)
	return results.Figures{Seconds: took.Seconds(), Cost: cost}, err
}

// recovering measures from the kill of one pod of a large job until all pods run that are made again.
func (s *sideBySide) recovering(ctx context.Context, c contender, r recovery) (results.Figures, error) {
	if err := s.startLarge(ctx, c, r); err != nil {
		return results.Figures{}, err
	}
	victim, err := s.middlePod(ctx)
	if err != nil {
		return results.Figures{}, err
	}
	running, err := s.watchRunning(ctx)
	if err != nil {
		return results.Figures{}, err
	}
	defer running.Stop()
	m, err := s.newMeter(ctx, c)
	if err != nil {
		return results.Figures{}, err
	}
	begin := time.Now()
	switch {
	case c.restartsContainers && r == whole:
		err = s.restartContainer(ctx, victim)
	case c.hand == nil:
		err = s.fail(ctx, victim)
	case r == whole:
		err = c.hand.remake(ctx, s.bench)
	default:
		err = s.remakeOne(ctx)
	}
	if err != nil {
		return results.Figures{}, err
	}
	if err := s.awaitRecovered(ctx, c, r, running); err != nil {
		return results.Figures{}, err
	}
	return s.figures(ctx, m, time.Since(begin))
}

// awaitRecovered waits until the new pods run; where the others keep theirs, also until the job says that all of them run again.
func (s *sideBySide) awaitRecovered(ctx context.Context, c contender, r recovery, running watch.Interface) error {
	if r == single {
		return awaitRunning(ctx, running, 1)
	}
	if !c.keepsPods {
		return awaitRunning(ctx, running, s.workers)
	}
	if c.hand != nil {
		return nil // it has waited itself
	}
	if err := awaitRunning(ctx, running, 1); err != nil {
		return err
	}
	return s.awaitRestarted(ctx, s.trainingJob("train", 0, shape{1, s.workers}))
}

// startLarge starts the large job, and returns when all of its pods run and its controllers have no more to do.
func (s *sideBySide) startLarge(ctx context.Context, c contender, r recovery) error {
	running, err := s.watchRunning(ctx)
	if err != nil {
		return err
	}
	defer running.Stop()
	m, err := s.newMeter(ctx, c)
	if err != nil {
		return err
	}
	if err := c.submit(ctx, s.bench, shape{1, s.workers}, r); err != nil {
		return err
	}
	if err := awaitRunning(ctx, running, s.workers); err != nil {
		return err
	}
	return m.settle(ctx, afterwards)
}

// middlePod returns the name of a pod that is neither the first nor the last.
func (b *bench) middlePod(ctx context.Context) (string, error) {
	names, err := b.podNames(ctx)
	if err != nil {
		return "", err
	}
	if len(names) == 0 {
		return "", errors.New("looking for a pod to kill: there is none")
	}
	return names[len(names)/2], nil
}

// podNames are the sorted names of all pods that the bench has made.
func (b *bench) podNames(ctx context.Context) ([]string, error) {
	pods := podMetadata()
	if err := b.client.List(ctx, pods, client.InNamespace(b.namespace), client.MatchingLabels{benchLabel: "pod"}); err != nil {
		return nil, fmt.Errorf("listing the pods of the bench: %w", err)
	}
	names := make([]string, 0, len(pods.Items))
	for i := range pods.Items {
		names = append(names, pods.Items[i].Name)
	}
	slices.Sort(names)
	return names, nil
}

// restPods is how many pods each of the jobs at rest has.
const restPods = 2

// resting measures what a contender costs while its jobs run and nothing happens.
func (s *sideBySide) resting(ctx context.Context, c contender) (results.Figures, error) {
	started, err := s.starting(ctx, c, shape{s.restJobs, restPods})
	if err != nil {
		return results.Figures{}, err
	}
	before, err := s.newMeter(ctx, c)
	if err != nil {
		return results.Figures{}, err
	}
	if err := before.settle(ctx, beforeRest); err != nil {
		return results.Figures{}, err
	}
	fmt.Printf("    all run after %.0f s; resting for %s\n", started.Seconds, s.restFor)
	m, err := s.newMeter(ctx, c)
	if err != nil {
		return results.Figures{}, err
	}
	select {
	case <-ctx.Done():
		return results.Figures{}, ctx.Err()
	case <-time.After(s.restFor):
	}
	cost, err := m.cost(ctx)
	return results.Figures{Seconds: s.restFor.Seconds(), Cost: cost}, err
}

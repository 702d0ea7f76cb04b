package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/test/api/testbed"
	"github.com/trainingjob/operator/test/bench/results"
)

// loseNode measures how long it takes after the loss of a node, whose pods never end, until all ranks run again. As that takes minutes in which
// next to nothing is done, the jobs of all contenders run at once, each in a namespace of its own, and their nodes are lost at once.
func (s *sideBySide) loseNode(ctx context.Context) (err error) {
	var all []*loser
	for _, c := range s.chosen() {
		if c.only != nil {
			continue
		}
		if reason := c.cannot[rowNode]; reason != "" {
			s.record(c, rowNode, results.Figures{}, reason)
			continue
		}
		l, err := s.newLoser(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		all = append(all, l)
		defer func() { err = errors.Join(err, l.end(ctx)) }()
		fmt.Printf("node lost: the %ss of %d run\n", c.name, s.workers)
	}
	lost, err := s.nodesToLose(ctx, all)
	if err != nil {
		return err
	}
	begin := time.Now()
	defer func() {
		err = errors.Join(err, s.tellNodes(context.WithoutCancel(ctx), lost, testbed.Annotations{"dead": nil}))
	}()
	if err := s.tellNodes(ctx, lost, testbed.Annotations{"dead": "true"}); err != nil {
		return err
	}
	fmt.Printf("node lost: from now on silent: %s; waiting up to %s\n", strings.Join(lost, ", "), s.nodeWait)
	group, waiting := errgroup.WithContext(ctx)
	for _, l := range all {
		group.Go(func() error { return l.await(waiting, lost, begin) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, l := range all {
		reason := ""
		if l.took == 0 {
			reason = results.TooSlow(s.nodeWait)
		}
		s.record(l.contender, rowNode, results.Figures{Seconds: l.took.Seconds()}, reason)
	}
	return nil
}

// loser is a contender whose job loses a node.
type loser struct {
	*sideBySide
	contender contender
	took      time.Duration
}

// newLoser starts a job of the contender in a namespace of its own.
func (s *sideBySide) newLoser(ctx context.Context, c contender) (*loser, error) {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := s.startPeers(ctx, c); err != nil {
		return nil, err
	}
	own, alone := *s, *s.bench
	own.bench = &alone
	if alone.namespace = c.namespace; c.namespace == "" {
		var err error
		if alone.namespace, err = testbed.NewNamespace(within, s.client, "bench-node-"); err != nil {
			return nil, err
		}
	}
	return &loser{sideBySide: &own, contender: c}, own.startLarge(within, c, whole)
}

// end removes the job and its namespace, and ends its controllers.
func (l *loser) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	namespace := &corev1.Namespace{}
	namespace.Name = l.namespace
	err := l.cleanUp(ctx, maker{kinds: l.contender.kinds})
	if l.contender.namespace == "" {
		err = errors.Join(err, l.client.Delete(ctx, namespace))
	}
	return errors.Join(err, l.stopPeers(ctx, l.contender))
}

// nodesToLose returns as few nodes as the search finds of which each job has pods on one at least: schedulers fill nodes rather than spread jobs.
func (s *sideBySide) nodesToLose(ctx context.Context, all []*loser) ([]string, error) {
	left := make(map[*loser]map[string]bool, len(all))
	for _, l := range all {
		var pods corev1.PodList
		if err := l.client.List(ctx, &pods, client.InNamespace(l.namespace), client.MatchingLabels{benchLabel: "pod"}); err != nil {
			return nil, fmt.Errorf("looking for nodes to lose: %w", err)
		}
		left[l] = map[string]bool{}
		for _, pod := range pods.Items {
			left[l][pod.Spec.NodeName] = true
		}
	}
	var chosen []string
	for len(left) > 0 {
		jobs := map[string]int{}
		for _, nodes := range left {
			for node := range nodes {
				jobs[node]++
			}
		}
		most := slices.MaxFunc(slices.Sorted(maps.Keys(jobs)), func(a, b string) int { return cmp.Compare(jobs[a], jobs[b]) })
		chosen = append(chosen, most)
		maps.DeleteFunc(left, func(_ *loser, nodes map[string]bool) bool { return nodes[most] })
	}
	return chosen, nil
}

// tellNodes tells the fake nodes that.
func (s *sideBySide) tellNodes(ctx context.Context, nodes []string, what testbed.Annotations) error {
	for _, name := range nodes {
		node := &corev1.Node{}
		node.Name = name
		if err := testbed.Tell(ctx, s.client, node, what); err != nil {
			return err
		}
	}
	return nil
}

// await waits until as many pods as the job has run on other nodes.
func (l *loser) await(ctx context.Context, lost []string, begin time.Time) error {
	for time.Since(begin) < l.nodeWait {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
		running, err := l.runningOutside(ctx, lost)
		if err != nil {
			return err
		}
		if running >= l.workers {
			l.took = time.Since(begin)
			fmt.Printf("node lost: all ranks of the %s run again after %.0f s\n", l.contender.name, l.took.Seconds())
			return nil
		}
	}
	return nil
}

// runningOutside counts the pods that run on other nodes and are not being deleted.
func (l *loser) runningOutside(ctx context.Context, lost []string) (int, error) {
	count := 0
	for _, on := range append([]string{""}, lost...) {
		fields, weight := client.MatchingFields{"status.phase": "Running"}, 1
		if on != "" {
			fields["spec.nodeName"], weight = on, -1
		}
		pods := podMetadata()
		if err := l.client.List(ctx, pods, client.InNamespace(l.namespace), client.MatchingLabels{benchLabel: "pod"}, fields); err != nil {
			return 0, fmt.Errorf("counting pods: %w", err)
		}
		for i := range pods.Items {
			if pods.Items[i].DeletionTimestamp == nil {
				count += weight
			}
		}
	}
	return count, nil
}

func (b *bench) countNodes(ctx context.Context) (int, error) {
	var nodes corev1.NodeList
	if err := b.client.List(ctx, &nodes); err != nil {
		return 0, fmt.Errorf("counting nodes: %w", err)
	}
	return len(nodes.Items), nil
}

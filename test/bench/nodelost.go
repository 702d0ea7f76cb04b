package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/test/bench/results"
	"github.com/trainingjob/operator/test/testbed"
)

// loseNode measures how long it takes after the loss of a node, whose pods never end, until all ranks run again. As that takes minutes in which
// next to nothing is done, the jobs of all contenders run at once, each in a namespace of its own, and lose the same node.
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
	node, err := s.commonNode(ctx, all)
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := testbed.Tell(ctx, s.client, node.DeepCopy(), testbed.Annotations{"dead": "true"}); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, testbed.Tell(context.WithoutCancel(ctx), s.client, node.DeepCopy(), testbed.Annotations{"dead": nil}))
	}()
	fmt.Printf("node lost: %s is silent; waiting up to %s\n", node.Name, s.nodeWait)
	group, waiting := errgroup.WithContext(ctx)
	for _, l := range all {
		group.Go(func() error { return l.await(waiting, node.Name, begin) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, l := range all {
		reason := ""
		if l.took == 0 {
			reason = fmt.Sprintf("not within %s", s.nodeWait)
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
	var err error
	if alone.namespace, err = testbed.NewNamespace(within, s.client, "bench-node-"); err != nil {
		return nil, err
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
	return errors.Join(err, l.client.Delete(ctx, namespace), l.stopPeers(ctx, l.contender))
}

// commonNode returns a node on which pods of all jobs run.
func (s *sideBySide) commonNode(ctx context.Context, all []*loser) (*corev1.Node, error) {
	var common []string
	for i, l := range all {
		var pods corev1.PodList
		if err := l.client.List(ctx, &pods, client.InNamespace(l.namespace), client.MatchingLabels{benchLabel: "pod"}); err != nil {
			return nil, fmt.Errorf("looking for a node to lose: %w", err)
		}
		mine := map[string]bool{}
		for _, pod := range pods.Items {
			mine[pod.Spec.NodeName] = true
			if i == 0 {
				common = append(common, pod.Spec.NodeName)
			}
		}
		common = slices.DeleteFunc(common, func(name string) bool { return !mine[name] })
	}
	if len(common) == 0 {
		return nil, errors.New("looking for a node to lose: none has pods of all jobs; take fewer with --makers")
	}
	node := &corev1.Node{}
	return node, s.client.Get(ctx, client.ObjectKey{Name: common[len(common)/2]}, node)
}

// await waits until as many pods as the job has run on other nodes.
func (l *loser) await(ctx context.Context, lost string, begin time.Time) error {
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
func (l *loser) runningOutside(ctx context.Context, lost string) (int, error) {
	count := 0
	for _, on := range []struct {
		fields client.MatchingFields
		weight int
	}{{client.MatchingFields{"status.phase": "Running"}, 1}, {client.MatchingFields{"status.phase": "Running", "spec.nodeName": lost}, -1}} {
		pods := podMetadata()
		if err := l.client.List(ctx, pods, client.InNamespace(l.namespace), client.MatchingLabels{benchLabel: "pod"}, on.fields); err != nil {
			return 0, fmt.Errorf("counting pods: %w", err)
		}
		for i := range pods.Items {
			if pods.Items[i].DeletionTimestamp == nil {
				count += on.weight
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

package cluster

import (
	"context"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func (l *lab) createNodes(ctx context.Context) error {
	client, err := l.dir.client()
	if err != nil {
		return err
	}
	if err := addNodes(ctx, client, 0, l.Nodes, l.GPUs); err != nil {
		return err
	}
	l.say("nodes are ready: %d, with %d GPUs each", l.Nodes, l.GPUs)
	return nil
}

// AddNodes gives a running lab count more nodes, of the same kind as its first.
func AddNodes(ctx context.Context, path string, count int, out io.Writer) error {
	if count < 1 {
		return fmt.Errorf("--count %d: there is nothing to add", count)
	}
	dir, state, err := runningLab(path)
	if err != nil {
		return err
	}
	client, err := dir.client()
	if err != nil {
		return err
	}
	first, err := nextNumber(ctx, client)
	if err != nil {
		return err
	}
	if err := addNodes(ctx, client, first, count, state.GPUs); err != nil {
		return err
	}
	fmt.Fprintf(out, "nodes added: %s%d to %s%d, with %d GPUs each\n", namePrefix, first, namePrefix, first+count-1, state.GPUs)
	return nil
}

// nextNumber is one more than the highest number of a node.
func nextNumber(ctx context.Context, client kubernetes.Interface) (int, error) {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, fmt.Errorf("listing the lab's nodes: %w", err)
	}
	next := 0
	for _, node := range nodes.Items {
		if i, ok := number(node.Name); ok {
			next = max(next, i+1)
		}
	}
	return next, nil
}
